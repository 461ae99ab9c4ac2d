package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
)

// The archive's own files, below its folder. Readers of Parquet data skip names
// that begin with an underscore, and nothing in there ends in .parquet.
const (
	ownDir      = "_orderwire"
	lockName    = ownDir + "/lock"
	intentName  = ownDir + "/intent.json"
	manifestDir = ownDir + "/manifest"
	draftDir    = ownDir + "/tmp"
)

// formatVersion is the version of the manifest's and the intent's JSON. A reader
// refuses a greater one, and ignores fields that it does not know.
const formatVersion = 1

// Commit is an entry of the manifest: a batch that is in the archive for good.
type Commit struct {
	// Format is the version of the entry's JSON.
	Format int `json:"format"`
	// Number counts the commits: 1, 2, 3 … without a gap.
	Number uint64 `json:"number"`
	// Previous is the SHA256 of the commit before this one, "" for the first.
	Previous string `json:"previous"`
	// First and Last are the sequences of the batch's first and last event. All
	// events of the log from one to the other are in the batch; sequences that
	// the log itself lacks are in none.
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// Files are the batch's files, by account and date.
	Files []File `json:"files"`
	// Totals are of the whole archive up to this commit.
	Totals Totals `json:"totals"`
	// Writer is the [WriterVersion] that wrote the files.
	Writer string `json:"writer"`

	// SHA256 is the hash of the entry, in hexadecimal digits.
	SHA256 string `json:"-"`
}

// File is one Parquet file of a [Commit].
type File struct {
	// Path is below the archive's folder, with slashes:
	// "account=main/event_date=2026-11-01/….parquet".
	Path string `json:"path"`
	// First and Last are the least and the greatest sequence in the file.
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// Rows is the number of events.
	Rows int64 `json:"rows"`
	// Bytes is the size of the file.
	Bytes int64 `json:"bytes"`
	// SHA256 is the hash of the file, in hexadecimal digits.
	SHA256 string `json:"sha256"`
	// Sums are of the file's events; nil in entries of a writer that did not
	// add up yet.
	Sums *Sums `json:"sums,omitempty"`
}

// Totals count what some commits hold.
type Totals struct {
	Files int64 `json:"files"`
	Rows  int64 `json:"rows"`
	Bytes int64 `json:"bytes"` // of the files
}

func (t Totals) plus(files []File) Totals {
	for _, f := range files {
		t.Files++
		t.Rows += f.Rows
		t.Bytes += f.Bytes
	}
	return t
}

// envelope is the document of a commit. Its hash covers the bytes of the commit.
type envelope struct {
	SHA256 string          `json:"sha256"`
	Commit json.RawMessage `json:"commit"`
}

// manifestName returns the path of an entry.
func manifestName(number uint64) string {
	return path.Join(manifestDir, fmt.Sprintf("%020d.json", number))
}

// draftName returns the path of a file that is not finished. No pattern for
// Parquet files matches it.
func draftName(base string) string { return path.Join(draftDir, base+".tmp") }

// encode seals the commit with its hash and returns its document.
func (c *Commit) encode() ([]byte, error) {
	body, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	c.SHA256 = hex.EncodeToString(sum[:])
	document, err := json.Marshal(envelope{c.SHA256, body})
	return append(document, '\n'), err
}

// decodeCommit reads a document. The error says what is wrong with it; a single
// changed byte is.
func decodeCommit(document []byte) (Commit, error) {
	var e envelope
	if err := json.Unmarshal(document, &e); err != nil {
		return Commit{}, errors.New("is no manifest entry")
	}
	sum := sha256.Sum256(e.Commit)
	if hex.EncodeToString(sum[:]) != e.SHA256 {
		return Commit{}, errors.New("has been changed: its hash is another")
	}
	c := Commit{SHA256: e.SHA256}
	if err := json.Unmarshal(e.Commit, &c); err != nil {
		return Commit{}, errors.New("is no manifest entry")
	}
	if c.Format > formatVersion {
		return Commit{}, fmt.Errorf("has format %d, and this program reads up to %d", c.Format, formatVersion)
	}
	if again, err := json.Marshal(e); err != nil || !bytes.Equal(append(again, '\n'), document) {
		return Commit{}, errors.New("has been changed: it is not as it was written")
	}
	return c, nil
}

// follows checks a commit against the one before it, the zero Commit for the
// first.
func (c *Commit) follows(before *Commit) error {
	switch {
	case c.Number != before.Number+1:
		return fmt.Errorf("is entry %d, and entry %d is due", c.Number, before.Number+1)
	case c.Previous != before.SHA256:
		return fmt.Errorf("does not follow entry %d: that one has been changed or replaced", before.Number)
	case c.First <= before.Last || c.Last < c.First:
		return fmt.Errorf("covers sequences %d to %d behind %d", c.First, c.Last, before.Last)
	case c.Totals != before.Totals.plus(c.Files):
		return errors.New("has wrong totals")
	case slices.ContainsFunc(c.Files, func(f File) bool { return f.First < c.First || f.Last > c.Last }):
		return errors.New("has a file beyond its range")
	}
	return nil
}
