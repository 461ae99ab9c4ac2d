package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/orderwire/orderwire/schema"
)

// Every column of Row has a way into a file.
func TestEveryColumnHasACell(t *testing.T) {
	t.Parallel()
	b := newRowBuffer()
	filled := map[*column]bool{}
	for _, f := range b.ofRow {
		filled[f.to] = true
	}
	for _, f := range b.ofLine {
		filled[f.to] = true
	}
	for _, f := range b.ofChange {
		filled[f.to] = true
	}
	for i, path := range fileSchema.Columns() {
		if !filled[b.leaves[i].column] {
			t.Errorf("nothing copies %v", path)
		}
	}
	if n := len(rowCells) + len(lineCells) + len(changeCells); n != len(b.leaves) {
		t.Errorf("%d cells copy %d columns", n, len(b.leaves))
	}
}

// writeRows writes a file of rows below a folder, in a partition of its own.
func writeRows(t *testing.T, rows ...Row) string {
	t.Helper()
	var out bytes.Buffer
	w, err := newFileWriter(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.begin(&out, 1, 9); err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if err := w.add(t.Context(), &rows[i]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.end(t.Context()); err != nil {
		t.Fatal(err)
	}
	return placed(t, out.Bytes())
}

// placed puts a file into a partition and returns its path.
func placed(t *testing.T, content []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "account=main", "event_date=2026-11-01", "x.parquet")
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func rowsOfFile(t *testing.T, name string) []Row {
	t.Helper()
	var all []Row
	for row, err := range ReadFile(t.Context(), name) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	return all
}

// A row that was written and read is the same row, filled or empty.
func TestRowsComeBack(t *testing.T) {
	t.Parallel()
	e := parseEntry(t, 7, withIDs(full, schema.OrderKey{Account: "main", Program: "1042", OrderSn: "SN-1"}, 2))
	filled := rows(t, archived(t, []schema.Entry{e}))[0]
	filled.Untyped = new(`{"OrderTime":"soon"}`)
	empty := Row{Account: "main", Sequence: 8, OrderSn: "SN-1", StoredAt: epoch, ObservedAt: epoch, Lines: []Line{}, Changes: []Change{}}
	blank := empty
	blank.Sequence, blank.Lines, blank.Changes = 9, nil, []Change{{}}
	blank.ParentOrderSn, blank.SubID, blank.Extra, blank.Untyped, blank.Extensions = new(""), new(""), new(""), new(""), new("")
	want := []Row{filled, empty, blank}
	got := rowsOfFile(t, writeRows(t, want...))
	for i := range got {
		got[i].StoredAt, got[i].ObservedAt = got[i].StoredAt.UTC(), got[i].ObservedAt.UTC()
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("got  %s\nwant %s", asJSON(t, got[i]), asJSON(t, want[i]))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d rows", len(got))
	}
}

// What would make a file wrong is refused.
func TestFileWriterRefuses(t *testing.T) {
	t.Parallel()
	row := func(account, order string, sequence int64) Row {
		return Row{Account: account, OrderSn: order, Sequence: sequence}
	}
	for want, rows := range map[string][]Row{
		"sequence 3 in a file of 4 to 9":             {row("a", "1", 3)},
		"sequence 10 in a file of 4 to 9":            {row("a", "1", 10)},
		"of two accounts":                            {row("a", "1", 4), row("b", "2", 5)},
		"sequence 4 out of order behind 5":           {row("a", "1", 5), row("a", "1", 4)},
		"sequence 4 out of order behind 4":           {row("a", "1", 4), row("a", "1", 4)},
		"sequence 6 out of order behind 5, or doubl": {row("a", "2", 5), row("a", "1", 6)},
	} {
		w, err := newFileWriter(1)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.begin(&bytes.Buffer{}, 4, 9); err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			err = w.add(t.Context(), &rows[i])
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, not %q", err, want)
		}
	}
}

// A file of a later program is refused: its columns would be lost.
func TestSourceRowsOfALaterSchema(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"1": "", "2": "was written with version 2 of the schema, and this program knows version 1", "": "does not say which version",
	} {
		var out bytes.Buffer
		x, err := newEncoder(1)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(x.file.Begin(&out, format.KeyValue{Key: metaSchema, Value: version}), x.end()); err != nil {
			t.Fatal(err)
		}
		name := placed(t, out.Bytes())
		sum := sha256.Sum256(out.Bytes())
		f := File{Path: filepath.Base(name), Bytes: int64(out.Len()), SHA256: hex.EncodeToString(sum[:])}
		err = drain(sourceRows(t.Context(), &folder{root: filepath.Dir(name)}, &f))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("version %q: %v", version, err)
		}
	}
}

// A writer serves one file after another, also after one that was given up.
func TestFileWriterAgain(t *testing.T) {
	t.Parallel()
	w, err := newFileWriter(1)
	if err != nil {
		t.Fatal(err)
	}
	first := Row{Account: "a", OrderSn: "9", Sequence: 5}
	var files [3]bytes.Buffer
	for i := range files {
		if err := errors.Join(w.begin(&files[i], 1, 9), w.add(t.Context(), &first)); err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			continue // given up
		}
		f, err := w.end(t.Context())
		if err != nil || f.Rows != 1 || f.First != 5 || f.Last != 5 || f.Bytes != int64(files[i].Len()) {
			t.Errorf("file %+v, %v", f, err)
		}
	}
	if !bytes.Equal(files[0].Bytes(), files[2].Bytes()) {
		t.Error("the same row gives other bytes")
	}
}

// metadata returns the pairs of a file.
func metadata(t *testing.T, file *openedFile) map[string]string {
	t.Helper()
	content, err := parquet.OpenFile(file, file.size)
	if err != nil {
		t.Fatal(err)
	}
	pairs := map[string]string{}
	for _, p := range content.Metadata().KeyValueMetadata {
		pairs[p.Key] = p.Value
	}
	return pairs
}
