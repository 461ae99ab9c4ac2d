package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

const (
	restoreEntry = "restore the entry from a copy; without one, move the archive away and let it be filled from the log"
	restoreFile  = "restore the file from a copy; without one, move the archive away and let it be filled from the log"
)

// readManifest reads all entries that can be read, and checks their chain.
func (v *verifier) readManifest(ctx context.Context) error {
	v.named, v.byHash, v.head = map[string]bool{}, map[string]string{}, &Commit{}
	names, err := v.dir.names(ctx, manifestDir)
	if err != nil {
		return err
	}
	due, follows := uint64(1), true
	for _, base := range names {
		if base[0] == '.' {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		name := path.Join(manifestDir, base)
		var number uint64
		if _, err := fmt.Sscanf(base, "%020d.json", &number); err != nil || manifestName(number) != name || number == 0 {
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
	return nil
}

// readEntry reads one entry. It reports whether the next one can be held
// against it; follows says the same of the one before.
func (v *verifier) readEntry(ctx context.Context, name string, number uint64, follows bool) bool {
	document, err := v.dir.read(ctx, name)
	if err != nil {
		v.found.add(BadEntry, name, fmt.Sprintf("cannot be read: %v", reason(errors.Unwrap(err))), restoreEntry)
		return false
	}
	c, fault := decodeCommit(document)
	if fault == nil && follows {
		fault = c.follows(v.head)
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
	return c, json.Unmarshal(e.Commit, &c)
}

func (v *verifier) take(c Commit) {
	v.entries = append(v.entries, c)
	v.found.Commits++
	v.head, v.found.Last = &c, max(v.found.Last, c.Last)
	for _, f := range c.Files {
		v.named[f.Path] = true
		v.byHash[f.SHA256] = f.Path
		v.total += f.Rows
	}
}

// list finds the files where readers look. Names that begin with a dot or an
// underscore are for no reader, unless they end as Parquet files do.
func (v *verifier) list() error {
	return fs.WalkDir(os.DirFS(v.dir.root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name != ".":
			return nil // removed since its folder was listed
		case err != nil:
			return storageError("list", v.dir.path(name), reason(err))
		case entry.IsDir() && name == ownDir:
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		hidden := strings.ContainsRune("._", rune(entry.Name()[0]))
		if !hidden || strings.HasSuffix(name, extension) {
			v.present = append(v.present, name)
		}
		return nil
	})
}

// readIntent reads what is under way before the manifest is read.
func (v *verifier) readIntent(ctx context.Context) {
	var err error
	if v.intent, err = v.dir.readIntent(ctx); err != nil {
		v.found.add(BadIntent, intentName, "cannot be read", "restart the archiver; if it refuses, restore the folder from a copy")
	}
}

// checkIntent holds the intent against the manifest. One that has gone or been
// replaced meanwhile belongs to a running archiver.
func (v *verifier) checkIntent(ctx context.Context) {
	in := v.intent
	switch {
	case in == nil, in.Number == v.head.Number, in.Number == v.head.Number+1 && (in.Previous == v.head.SHA256 || v.head.SHA256 == ""):
		return
	}
	if again, err := v.dir.readIntent(ctx); err == nil && (again == nil || again.Number != in.Number) {
		return
	}
	v.found.add(BadIntent, intentName, fmt.Sprintf("is about commit %d, and the last commit is %d", in.Number, v.head.Number),
		"restore the manifest from a copy")
	v.intent = nil
}

// checkStrays looks at each file that is where readers look and in no entry.
func (v *verifier) checkStrays(ctx context.Context) error {
	for _, name := range v.present {
		if v.named[name] {
			continue
		}
		if v.intent != nil && slices.Contains(v.intent.Files, name) {
			v.found.UnderWay = append(v.found.UnderWay, name)
			continue
		}
		if err := v.stray(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) stray(ctx context.Context, name string) error {
	_, sum, err := hashFile(ctx, v.dir.path(name))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil // an archiver has taken it back
	case ctx.Err() != nil:
		return ctx.Err()
	}
	_, last, ranged := rangeOf(name)
	original, copied := v.byHash[sum]
	switch {
	case copied && err == nil && slices.Contains(v.present, original):
		v.found.add(DoubledFile, name, "is a copy of "+original+": readers count its events twice",
			"if nothing else is found about "+original+", remove the copy")
	case copied && err == nil:
		v.found.add(StrayFile, name, "holds the bytes of "+original+", which is not in its place", "move it back there")
	case ranged && last > v.head.Last:
		v.found.add(CutManifest, name, fmt.Sprintf("holds events up to %d, and the manifest ends at %d", last, v.head.Last),
			"restore the manifest's last entries from a copy")
	default:
		v.found.add(StrayFile, name, "is named by no entry of the manifest", "move it out of the folder")
	}
	return nil
}
