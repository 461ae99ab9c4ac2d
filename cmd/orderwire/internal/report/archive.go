package report

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/orderwire/orderwire/sinks/archive"
)

// Archive is what the manifest of an archive says of it.
type Archive struct {
	URL        string      `json:"url"`
	Commits    uint64      `json:"commits"`
	Files      int64       `json:"files"`
	Rows       int64       `json:"rows"`  // events
	Bytes      int64       `json:"bytes"` // of the files
	Last       uint64      `json:"last_sequence"`
	Partitions []Partition `json:"partitions"`
}

// Partition is a day of an account.
type Partition struct {
	Account string `json:"account"`
	Date    string `json:"date"` // of the events, YYYY-MM-DD
	Files   int64  `json:"files"`
	Rows    int64  `json:"rows"`
	Bytes   int64  `json:"bytes"`
	First   uint64 `json:"first_sequence"`
	Last    uint64 `json:"last_sequence"`
}

// ArchiveAt reads the manifest of the archive at a place, beside an archiver. The
// error is one of [archive.ReadManifest]; it wraps [archive.ErrNoArchive] when there
// is none.
func ArchiveAt(ctx context.Context, dir string) (*Archive, error) {
	commits, err := archive.ReadManifest(ctx, dir)
	if err != nil {
		return nil, err
	}
	a := &Archive{URL: dir, Partitions: []Partition{}}
	if n := len(commits); n > 0 {
		head := &commits[n-1]
		a.Commits, a.Files, a.Rows, a.Bytes, a.Last = head.Number, head.Totals.Files, head.Totals.Rows, head.Totals.Bytes, head.Last
	}
	at := map[string]int{}
	for _, f := range archive.Live(commits) {
		account, day, ok := f.Partition()
		if !ok {
			continue // no writer of this program's makes such a file
		}
		date := day.Format(time.DateOnly)
		key := account + "/" + date
		i, known := at[key]
		if !known {
			i = len(a.Partitions)
			at[key] = i
			a.Partitions = append(a.Partitions, Partition{Account: account, Date: date, First: f.First})
		}
		p := &a.Partitions[i]
		p.Files, p.Rows, p.Bytes = p.Files+1, p.Rows+f.Rows, p.Bytes+f.Bytes
		p.First, p.Last = min(p.First, f.First), max(p.Last, f.Last)
	}
	slices.SortFunc(a.Partitions, func(a, b Partition) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Date, b.Date))
	})
	return a, nil
}

// Table has a row for each partition.
func (a *Archive) Table() *Table {
	t := tableOf(a.Partitions, func(p *Partition) []string {
		return []string{p.Account, p.Date, number(p.Files), number(p.Rows), number(p.Bytes), number(p.First), number(p.Last)}
	}, "account", "date", "files", "rows", "bytes", "first_sequence", "last_sequence")
	t.Value, t.List = a, false
	return t
}
