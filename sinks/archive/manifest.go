package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
)

// The archive's own files, below its folder. Readers of Parquet data skip names
// that begin with an underscore, and nothing in there ends in .parquet.
const (
	ownDir      = "_orderwire"
	manifestDir = ownDir + "/manifest"
	draftDir    = ownDir + "/tmp"
	stagedDir   = ownDir + "/staged"
)

// The versions of the manifest's and the intent's JSON. A reader refuses one
// greater than it knows, and ignores fields that it does not know.
const (
	formatVersion    = 1 // a batch
	formatCompaction = 2 // a compaction
	newestFormat     = formatCompaction
)

// Commit is an entry of the manifest: a batch that is in the archive for good, or
// a compaction, which puts files in the place of others that hold the same events.
type Commit struct {
	// Format is the version of the entry's JSON: 1 for a batch, 2 for a compaction.
	Format int `json:"format"`
	// Number counts the commits: 1, 2, 3 … without a gap.
	Number uint64 `json:"number"`
	// Previous is the SHA256 of the commit before this one, "" for the first.
	Previous string `json:"previous"`
	// First and Last are the sequences of the batch's first and last event. All
	// events of the log from one to the other are in the batch; sequences that
	// the log itself lacks are in none. A compaction has an empty range behind the
	// commit before it: its First is Last + 1.
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// Files are the files that the commit adds: those of a batch by account and
	// date, those of a compaction of one account and date by their sequences.
	Files []File `json:"files"`
	// Replaces are the paths of the files that a compaction takes away, in the
	// order of their sequences. None for a batch.
	Replaces []string `json:"replaces,omitempty"`
	// Staged is the folder in which the files of a compaction stand until they are
	// in their places, below the archive's folder. "" for a batch.
	Staged string `json:"staged,omitempty"`
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

	staged string // where a file of a compaction stands until it is in its place
}

// IsCompaction reports whether the commit only replaces files.
func (c *Commit) IsCompaction() bool { return len(c.Replaces) > 0 }

// stage says of the files of a compaction where they stand until they are in their
// places. No pattern for Parquet files matches these names.
func (c *Commit) stage() {
	if c.Staged == "" {
		return
	}
	for i := range c.Files {
		c.Files[i].staged = path.Join(c.Staged, strconv.Itoa(i)+".tmp")
	}
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

func (t Totals) minus(files []File) Totals {
	gone := Totals{}.plus(files)
	return Totals{t.Files - gone.Files, t.Rows - gone.Rows, t.Bytes - gone.Bytes}
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
	if c.Format > newestFormat {
		return Commit{}, fmt.Errorf("has format %d, and this program reads up to %d", c.Format, newestFormat)
	}
	c.stage()
	if again, err := json.Marshal(e); err != nil || !bytes.Equal(append(again, '\n'), document) {
		return Commit{}, errors.New("has been changed: it is not as it was written")
	}
	return c, nil
}
