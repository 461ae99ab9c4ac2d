package archive

import (
	"context"
	"encoding/json"
	"fmt"
)

// intent says what is about to be committed. It is durable before the first file
// of the batch gets its name, and goes when the commit is in the manifest.
type intent struct {
	Format   int      `json:"format"`
	Number   uint64   `json:"number"`   // of the commit to be
	Previous string   `json:"previous"` // SHA256 of the commit before it
	First    uint64   `json:"first"`    // sequences of the batch
	Last     uint64   `json:"last"`
	Files    []string `json:"files"` // paths of all files of the batch
	Writer   string   `json:"writer"`
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

func (in *intent) encode() ([]byte, error) {
	document, err := json.Marshal(in)
	return append(document, '\n'), err
}

// checkEnd looks for files behind the last commit that no intent names. There
// are none unless the manifest has lost its end, and then the same events would
// be written twice.
func checkEnd(ctx context.Context, p place, head *Commit) error {
	return p.walk(ctx, func(name string) error {
		if _, last, ok := rangeOf(name); ok && last > head.Last {
			problem := fmt.Sprintf("holds events up to %d, and the manifest ends at %d", last, head.Last)
			return &ManifestError{Path: p.path(name), Problem: problem}
		}
		return nil
	})
}
