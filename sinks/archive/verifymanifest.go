package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

const (
	restoreEntry = "restore the entry from a copy; without one, move the archive away and let it be filled from the log"
	restoreFile  = "restore the file from a copy; without one, move the archive away and let it be filled from the log"
)

// readManifest reads all entries that can be read, and checks their chain.
func (v *verifier) readManifest(ctx context.Context) error {
	v.history, v.owner, v.byHash = newHistory(), map[string]int{}, map[string]string{}
	names, err := listManifest(ctx, v.place)
	if err != nil {
		return err
	}
	due, follows := uint64(1), true
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		var number uint64
		if _, err := fmt.Sscanf(path.Base(name), "%020d.json", &number); err != nil || manifestName(number) != name || number == 0 {
			v.found.add(BadEntry, name, "is no entry of the manifest", "move it out of the folder")
			continue
		}
		for ; due < number; due++ {
			v.found.add(BadEntry, manifestName(due), "is missing", restoreEntry)
			follows = false
		}
		due++
		follows = v.readEntry(ctx, name, number, follows)
	}
	for _, f := range v.history.live {
		v.byHash[f.SHA256] = f.Path
		v.total += f.Rows
	}
	return nil
}

// readEntry reads one entry. It reports whether the next one can be held
// against it; follows says the same of the one before.
func (v *verifier) readEntry(ctx context.Context, name string, number uint64, follows bool) bool {
	document, err := v.place.read(ctx, name)
	if err != nil {
		v.found.add(BadEntry, name, fmt.Sprintf("cannot be read: %v", reason(errors.Unwrap(err))), restoreEntry)
		return false
	}
	c, fault := decodeCommit(document)
	if fault == nil && follows {
		fault = v.history.check(&c)
	}
	if fault == nil && c.Number != number {
		fault = fmt.Errorf("is entry %d", c.Number)
	}
	if fault != nil {
		v.found.add(BadEntry, name, fault.Error(), restoreEntry)
		if c, err = salvage(document); err != nil || c.Number != number {
			return false
		}
	}
	v.take(c)
	return fault == nil
}

// salvage reads what is left of an entry that was changed.
func salvage(document []byte) (Commit, error) {
	var e envelope
	if err := json.Unmarshal(document, &e); err != nil {
		return Commit{}, err
	}
	var c Commit
	err := json.Unmarshal(e.Commit, &c)
	c.stage()
	return c, err
}

func (v *verifier) take(c Commit) {
	for _, f := range c.Files {
		v.owner[f.Path] = len(v.entries)
	}
	v.entries = append(v.entries, c)
	v.history.take(&c)
	v.found.Commits++
	v.found.Last = max(v.found.Last, c.Last)
}

// list finds the files where readers look.
func (v *verifier) list(ctx context.Context) (err error) {
	v.present, err = v.place.list(ctx, ".")
	v.present = slices.DeleteFunc(v.present, isHidden)
	return err
}

// readIntents reads what is under way before the manifest is read.
func (v *verifier) readIntents(ctx context.Context) error {
	names, err := v.place.list(ctx, intentDir)
	if err != nil {
		return err
	}
	for _, name := range names {
		in, err := readIntent(ctx, v.place, name)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist): // it went meanwhile
		case err != nil:
			v.found.add(BadIntent, name, "cannot be read", "restart the archiver; if it refuses, restore the folder from a copy")
		default:
			v.intents = append(v.intents, in)
		}
	}
	return nil
}

// checkIntents holds the intents against the manifest. One that has gone meanwhile
// belongs to a running archiver.
func (v *verifier) checkIntents(ctx context.Context) {
	head := &v.history.head
	v.intents = slices.DeleteFunc(v.intents, func(in *intent) bool {
		if in.fits(head) || head.SHA256 == "" && in.Number == head.Number+1 {
			return false
		}
		if _, err := readIntent(ctx, v.place, in.name()); errors.Is(err, fs.ErrNotExist) {
			return false
		}
		v.found.add(BadIntent, in.name(), fmt.Sprintf("is about commit %d, and the last commit is %d", in.Number, head.Number),
			"restore the manifest from a copy")
		return true
	})
}
