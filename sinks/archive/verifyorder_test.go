package archive

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/orderwire/orderwire/schema"
)

// Rows ascend as the archiver sorts them, an order without a program last; a
// file with the same rows the other way round is named.
func TestVerifyOrderOfRows(t *testing.T) {
	t.Parallel()
	var log []schema.Entry
	for i := range 6 {
		e := event("main", i/2, uint64(i%2+1))
		if i < 2 {
			e.Data.Order.ProgramID = schema.Text{}
			e = schema.NewEvent(e.Type, e.Data)
		}
		log = append(log, entry(t, uint64(i+1), e))
	}
	dir := archived(t, log)
	finds(t, verify(t, VerifyConfig{Dir: dir}))

	name := commits(t, dir)[0].Files[0].Path
	turned := rows(t, dir)
	slices.Reverse(turned)
	at := filepath.Join(dir, name)
	if err := parquet.WriteFile(at, turned); err != nil {
		t.Fatal(err)
	}
	file, err := (&folder{root: dir}).open(t.Context(), name)
	noError(t, err)
	sum, err := file.hash(t.Context())
	noError(t, errors.Join(err, file.Close()))
	size := file.size
	err = forge(dir, 1, func(c *Commit) {
		c.Totals.Bytes += size - c.Files[0].Bytes
		c.Files[0].Bytes, c.Files[0].SHA256 = size, sum
	})
	if err != nil {
		t.Fatal(err)
	}
	finds(t, verify(t, VerifyConfig{Dir: dir}), "wrong-rows "+name+": has rows out of order")
}

// A long list of findings is cut, and says so.
func TestVerifyBoundsItsFindings(t *testing.T) {
	t.Parallel()
	dir := chain(t, t.TempDir())
	for i := range mostFindings + 5 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("stray%d", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if v := verify(t, VerifyConfig{Dir: dir}); len(v.Findings) != mostFindings || v.Omitted != 5 {
		t.Errorf("%d findings, %d omitted", len(v.Findings), v.Omitted)
	}
}

// Beside an archiver at work nothing is found.
func TestVerifyBesideAnArchiver(t *testing.T) {
	t.Parallel()
	log, dir := entries(t, 40), t.TempDir()
	a := open(t, Config{Dir: dir})
	done := make(chan error, 1)
	go func() {
		for i := range log {
			if err := errors.Join(a.Write(t.Context(), log[i:i+1]), a.Flush(t.Context())); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for {
		finds(t, verify(t, VerifyConfig{Dir: dir, Log: logOf{log: log}}))
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			v := verify(t, VerifyConfig{Dir: dir, Log: logOf{log: log}})
			finds(t, v)
			if v.Compared != int64(len(log)) {
				t.Errorf("verified %+v", v)
			}
			return
		default:
		}
	}
}
