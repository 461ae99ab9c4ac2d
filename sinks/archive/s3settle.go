package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

// intentDir holds the intents of a bucket, one for each batch: two archivers do
// not overwrite each other's.
const intentDir = ownDir + "/intents"

func (in *intent) name() string {
	return path.Join(intentDir, fmt.Sprintf("%020d-%020d-%020d.json", in.Number, in.First, in.Last))
}

func (b *bucket) announce(ctx context.Context, in *intent) error {
	document, err := in.encode()
	if err != nil {
		return err
	}
	return b.put(ctx, "write", in.name(), document, nil)
}

// intents reads all intents that are there.
func (b *bucket) intents(ctx context.Context) ([]*intent, error) {
	names, err := b.names(ctx, intentDir)
	if err != nil {
		return nil, err
	}
	var all []*intent
	for _, name := range names {
		name = path.Join(intentDir, name)
		document, err := b.read(ctx, name)
		if errors.Is(err, fs.ErrNotExist) { // it went meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		in, err := decodeIntent(b.path(name), document)
		if err != nil {
			return nil, err
		}
		all = append(all, in)
	}
	return all, nil
}

// decides reports whether no batch of that intent can be committed any more:
// every later commit begins behind head.
func (head *Commit) decides(in *intent) bool { return in.First <= head.Last }

// settle leaves the files of an undecided intent where they are. Whoever wrote
// them may be alive and about to commit them, and they hold no event that another
// file holds; the next commit is the same batch, and writes the same bytes.
func (b *bucket) settle(ctx context.Context, own *intent) (Commit, *intent, error) {
	// Intents first: one that is committed meanwhile is then seen as decided.
	intents, err := b.intents(ctx)
	if err != nil {
		return Commit{}, nil, err
	}
	head, err := readHead(ctx, b)
	if err != nil {
		return Commit{}, nil, err
	}
	if own != nil { // the winner may have removed it
		intents = append(intents, own)
	}
	var repeat *intent
	for _, in := range intents {
		switch {
		case in.Number > head.Number+1, in.Number == head.Number+1 && in.Previous != head.SHA256:
			problem := fmt.Sprintf("is about commit %d, and the last commit is %d", in.Number, head.Number)
			err = &ManifestError{Path: b.path(in.name()), Problem: problem}
		case head.decides(in):
			err = b.takeBack(ctx, in, &head)
		case in != own:
			repeat = in
		}
		if err != nil {
			return Commit{}, nil, err
		}
	}
	return head, repeat, nil
}

// conclude takes back what the commit has decided.
func (b *bucket) conclude(ctx context.Context, head *Commit) error {
	intents, err := b.intents(ctx)
	if err != nil {
		return err
	}
	for _, in := range intents {
		if !head.decides(in) {
			continue
		}
		if err := b.takeBack(ctx, in, head); err != nil {
			return err
		}
	}
	return nil
}

// takeBack removes a decided intent, and those of its files that were not
// committed: neither by this archiver nor, as the same batch, by another.
func (b *bucket) takeBack(ctx context.Context, in *intent, head *Commit) error {
	c := *head
	for c.First > in.First && c.Number > 1 {
		var err error
		if c, err = readCommit(ctx, b, c.Number-1); err != nil {
			return err
		}
	}
	for _, name := range in.Files {
		if slices.ContainsFunc(c.Files, func(f File) bool { return f.Path == name }) {
			continue
		}
		if err := b.remove(ctx, name); err != nil {
			return err
		}
	}
	return b.remove(ctx, in.name())
}
