package archive

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"time"
)

// verifiedName is where the outcome of the last verification is noted.
const verifiedName = ownDir + "/verified.json"

// mostNoted bounds the findings of a [Verified].
const mostNoted = 20

// Verified is the note of a verification that has come to its end.
type Verified struct {
	At      time.Time `json:"at"`       // when it ended, UTC
	Seconds float64   `json:"seconds"`  // that it took
	Commits int       `json:"commits"`  // entries of the manifest
	Files   int64     `json:"files"`    // that were read
	Rows    int64     `json:"rows"`     // that were read
	Last    uint64    `json:"position"` // last sequence of the manifest
	// WithLog says that the rows were compared with the log, in which Compared of
	// them were found; Gone had left it.
	WithLog  bool  `json:"with_log"`
	Compared int64 `json:"compared_with_log"`
	Gone     int64 `json:"no_longer_in_log"`
	// Findings counts what is wrong, and First holds the first 20 of it.
	Findings int64     `json:"findings"`
	First    []Finding `json:"first_findings"`
}

// Noted returns the note of a verification that ended at a time.
func (v *Verification) Noted(at time.Time, took time.Duration, withLog bool) Verified {
	return Verified{
		At: at.UTC(), Seconds: took.Seconds(), Commits: v.Commits, Files: v.Files, Rows: v.Rows, Last: v.Last,
		WithLog: withLog, Compared: v.Compared, Gone: v.Gone,
		Findings: int64(len(v.Findings)) + v.Omitted, First: v.Findings[:min(len(v.Findings), mostNoted)],
	}
}

// NoteVerified keeps a note among the archive's own files, in place of the one
// before; no reader of events looks at it. The error is a [ConfigError] or a
// [StorageError].
func NoteVerified(ctx context.Context, dir string, v Verified) error {
	p, err := placeAt(ctx, dir)
	if err != nil {
		return err
	}
	if err := checkMarked(ctx, p); err != nil {
		return errors.Join(err, p.Close())
	}
	document, err := json.Marshal(v)
	if err == nil {
		err = p.put(ctx, verifiedName, append(document, '\n'))
	}
	return errors.Join(err, p.Close())
}

// Verified returns the note of the archive's last verification, nil when there is
// none.
func (s *Search) Verified(ctx context.Context) (*Verified, error) {
	document, err := s.store.read(ctx, verifiedName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var v Verified
	if err := json.Unmarshal(document, &v); err != nil {
		return nil, &ManifestError{Path: s.store.path(verifiedName), Problem: "is no note of a verification", Cause: err}
	}
	return &v, nil
}
