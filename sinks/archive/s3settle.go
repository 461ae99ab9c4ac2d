package archive

import (
	"context"
	"errors"
	"io/fs"
	"slices"
)

// settle leaves the files of an undecided intent where they are. Whoever wrote
// them may be alive and about to commit them, and they hold no event that another
// file holds; the next commit is the same batch, and writes the same bytes.
func (b *bucket) settle(ctx context.Context, own *intent) (Commit, *intent, error) {
	// Intents first: one that is committed meanwhile is then seen as decided.
	intents, err := readIntents(ctx, b)
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
		case !in.fits(&head):
			err = in.unfit(b, &head)
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
	intents, err := readIntents(ctx, b)
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
	return b.dropReplaced(ctx, head)
}

// dropReplaced removes files of a commit that compactions have replaced since. There
// are none unless another archiver has committed the same batch, and this one has
// written its files once more.
func (b *bucket) dropReplaced(ctx context.Context, head *Commit) error {
	for n := head.Number + 1; ; n++ {
		c, err := readCommit(ctx, b, n)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, f := range head.Files {
			if !slices.Contains(c.Replaces, f.Path) {
				continue
			}
			if err := b.remove(ctx, f.Path); err != nil {
				return err
			}
		}
	}
}

// takeBack removes a decided intent, and those of its files that were not
// committed.
func (b *bucket) takeBack(ctx context.Context, in *intent, head *Commit) error {
	left, err := in.left(ctx, b, head)
	if err != nil {
		return err
	}
	return b.removeAll(ctx, append(left, in.name()))
}
