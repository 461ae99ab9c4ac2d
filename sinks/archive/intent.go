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

// intent says what is about to be committed. It is durable before the first file
// of the batch gets its name, and goes when the commit is in the manifest.
type intent struct {
	Format   int      `json:"format"`
	Number   uint64   `json:"number"`   // of the commit to be; a later one, if compactions come between
	Previous string   `json:"previous"` // SHA256 of the commit before that
	First    uint64   `json:"first"`    // sequences of the batch
	Last     uint64   `json:"last"`
	Files    []string `json:"files"` // paths of all files of the batch
	Writer   string   `json:"writer"`

	at string // the name under which it was found, "" for a new one
}

// intentDir holds the intents, one for each batch: in a bucket, two archivers do
// not overwrite each other's.
const intentDir = ownDir + "/intents"

func (in *intent) name() string {
	if in.at != "" {
		return in.at
	}
	return path.Join(intentDir, fmt.Sprintf("%020d-%020d-%020d.json", in.Number, in.First, in.Last))
}

// decodeIntent reads the document of an intent that stands at path.
func decodeIntent(path string, document []byte) (*intent, error) {
	in := new(intent)
	if err := json.Unmarshal(document, in); err != nil {
		return nil, &ManifestError{Path: path, Problem: "is no intent"}
	}
	if in.Format > formatVersion {
		problem := fmt.Sprintf("has format %d, and this program reads up to %d", in.Format, formatVersion)
		return nil, &ManifestError{Path: path, Problem: problem}
	}
	return in, nil
}

// announce makes an intent durable.
func announce(ctx context.Context, p place, in *intent) error {
	document, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return p.put(ctx, in.name(), append(document, '\n'))
}

// readIntents reads all intents that are there.
func readIntents(ctx context.Context, s store) ([]*intent, error) {
	names, err := s.list(ctx, intentDir)
	if err != nil {
		return nil, err
	}
	var all []*intent
	for _, name := range names {
		in, err := readIntent(ctx, s, name)
		if errors.Is(err, fs.ErrNotExist) { // it went meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, in)
	}
	return all, nil
}

// readIntent reads the intent of a name. The error wraps [fs.ErrNotExist] when
// there is none.
func readIntent(ctx context.Context, s store, name string) (*intent, error) {
	document, err := s.read(ctx, name)
	if err != nil {
		return nil, err
	}
	in, err := decodeIntent(s.path(name), document)
	if err != nil {
		return nil, err
	}
	in.at = name
	return in, nil
}

// decides reports whether no batch of that intent can be committed any more:
// every later commit begins behind head.
func (head *Commit) decides(in *intent) bool { return in.First <= head.Last }

// fits reports whether an intent can have been written at head or before it.
func (in *intent) fits(head *Commit) bool {
	return in.Number <= head.Number || in.Number == head.Number+1 && in.Previous == head.SHA256
}

// unfit is the error for an intent that does not fit the last commit.
func (in *intent) unfit(s store, head *Commit) error {
	problem := fmt.Sprintf("is about commit %d, and the last commit is %d", in.Number, head.Number)
	return &ManifestError{Path: s.path(in.name()), Problem: problem}
}

// left returns the files of a decided intent that hold no events of the archive:
// neither its archiver nor, as the same batch, another has committed them, or a
// compaction has replaced them since. head is the last commit.
func (in *intent) left(ctx context.Context, s store, head *Commit) ([]string, error) {
	c, replaced := *head, slices.Clone(head.Replaces)
	for c.First > in.First && c.Number > 1 {
		var err error
		if c, err = readCommit(ctx, s, c.Number-1); err != nil {
			return nil, err
		}
		replaced = append(replaced, c.Replaces...)
	}
	return slices.DeleteFunc(slices.Clone(in.Files), func(name string) bool {
		return !slices.Contains(replaced, name) && slices.ContainsFunc(c.Files, func(f File) bool { return f.Path == name })
	}), nil
}

// checkEnd looks for files behind the last commit that no intent names. There
// are none unless the manifest has lost its end, and then the same events would
// be written twice.
func checkEnd(ctx context.Context, s store) error {
	names, err := s.list(ctx, ".")
	if err != nil {
		return err
	}
	// In this order: a file that is there has an intent before it, and a commit
	// before that goes.
	intents, err := readIntents(ctx, s)
	if err != nil {
		return err
	}
	head, err := readHead(ctx, s)
	if err != nil {
		return err
	}
	for _, name := range names {
		_, last, ok := rangeOf(name)
		if !ok || last <= head.Last || slices.ContainsFunc(intents, func(in *intent) bool { return slices.Contains(in.Files, name) }) {
			continue
		}
		problem := fmt.Sprintf("holds events up to %d, and the manifest ends at %d", last, head.Last)
		return &ManifestError{Path: s.path(name), Problem: problem}
	}
	return nil
}
