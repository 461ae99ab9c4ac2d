package commission

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/orderwire/orderwire/schema"
)

// The interface of package pipeline, which this package does not import.
var _ interface {
	Position(context.Context) (uint64, error)
	Write(context.Context, []schema.Entry) error
	Flush(context.Context) error
} = (*Books)(nil)

func position(t testing.TB, r *Reader) uint64 {
	t.Helper()
	p, err := r.Position(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func lines(t testing.TB, r *Reader, f Filter) []string {
	t.Helper()
	all := []string{}
	for _, s := range report(t, r, f) {
		all = append(all, line(s))
	}
	return all
}

func expect(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
		return
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s: row %d\ngot  %s\nwant %s", what, i, got[i], want[i])
		}
	}
}

const (
	pendingLine   = "77 2026-03-01 w1/s1 CNY Pending: 1 orders 100.00, commission 5.00"
	confirmedLine = "77 2026-03-01 w1/s1 USD Confirmed: 1 orders 14.00, commission 0.70"
)

func TestOrderCountsOnceUnderItsPresentStatus(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	if p := position(t, b.Reader); p != 0 {
		t.Errorf("new books are at %d", p)
	}
	write(t, b)
	write(t, b, entry(3, 1, order("a", status("0"))))
	expect(t, "created", lines(t, b.Reader, Filter{}), pendingLine)
	write(t, b, entry(7, 2, order("a")))
	expect(t, "confirmed", lines(t, b.Reader, Filter{}), confirmedLine)
	write(t, b, entryOf(schema.OrderVanished, 8, 3, order("a")))
	expect(t, "vanished", lines(t, b.Reader, Filter{}), confirmedLine)
	if p := position(t, b.Reader); p != 8 {
		t.Errorf("position %d, want 8", p)
	}
	if err := b.Flush(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOlderVersionsChangeNothing(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	first, second := entry(1, 1, order("a", status("0"))), entry(2, 2, order("a"))
	write(t, b, first, second, first)
	write(t, b, first)
	write(t, b, second)
	expect(t, "after the replay", lines(t, b.Reader, Filter{}), confirmedLine)
	if p := position(t, b.Reader); p != 2 {
		t.Errorf("position %d, want 2", p)
	}
}

func TestSameNumberInAnotherProgramOrAccountIsAnotherOrder(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	second := entry(3, 1, order("a"))
	second.Event.Data.Account = "second"
	write(t, b, entry(1, 1, order("a")), entry(2, 1, order("a", func(o *schema.Order) { o.ProgramID = schema.Text{} })), second)
	expect(t, "three orders", lines(t, b.Reader, Filter{}), confirmedLine[2:], confirmedLine, confirmedLine)
}

// crash gets as far as the commit, and does not end the transaction.
func crash(t testing.TB, b *Books, batch ...schema.Entry) *sql.Tx {
	t.Helper()
	states := make([]state, len(batch))
	for i := range batch {
		var err error
		if states[i], err = newState(&batch[i], b.text); err != nil {
			t.Fatal(err)
		}
	}
	tx, err := b.writer.db.BeginTx(t.Context(), nil)
	if err == nil {
		err = b.apply(t.Context(), &session{writer: b.writer, tx: tx, here: map[string]*sql.Stmt{}}, states)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// A crash leaves on disk what was there before the commit: the files are taken
// as they are in the middle of a transaction.
func TestCrashBeforeCommit(t *testing.T) {
	t.Parallel()
	b, path := openFile(t)
	write(t, b, entry(1, 1, order("a", status("0"))))
	e := entry(2, 2, order("a"))
	tx := crash(t, b, e)
	copied := filepath.Join(t.TempDir(), "copy.db")
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		if err == nil {
			err = os.WriteFile(copied+suffix, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(t.Context(), copied)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	expect(t, "after the crash", lines(t, again.Reader, Filter{}), pendingLine)
	if p := position(t, again.Reader); p != 1 {
		t.Errorf("position %d, want 1", p)
	}
	write(t, again, e)
	expect(t, "caught up", lines(t, again.Reader, Filter{}), confirmedLine)
}

func TestCanceledWriteLeavesNothing(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Write(ctx, []schema.Entry{entry(1, 1, order("a"))}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if p := position(t, b.Reader); p != 0 {
		t.Errorf("position %d, want 0", p)
	}
	write(t, b, entry(1, 1, order("a")))
}

// Each batch brings ten orders, so a reader that saw a part of one would count
// a number that ten does not divide.
func TestReadersBesideTheWriter(t *testing.T) {
	t.Parallel()
	b, path := open(t)
	other, err := OpenReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	done := make(chan struct{})
	var readers sync.WaitGroup
	for _, r := range []*Reader{b.Reader, other, other} {
		readers.Go(func() { readUntil(t, r, done) })
	}
	const batches = 60
	for i := range uint64(batches) {
		var batch []schema.Entry
		for j := range uint64(10) {
			batch = append(batch, entry(i*10+j+1, 1, order("order-"+string(rune('a'+j))+"-"+string(rune('0'+i)))))
		}
		write(t, b, batch...)
	}
	close(done)
	readers.Wait()
	if sums := report(t, other, Filter{}); len(sums) != 1 || sums[0].Orders != 10*batches {
		t.Errorf("at the end: %v", sums)
	}
}

func readUntil(t *testing.T, r *Reader, done <-chan struct{}) {
	for {
		sums, err := r.Report(t.Context(), Filter{})
		switch {
		case err != nil:
			t.Error(err)
			return
		case len(sums) > 1 || len(sums) == 1 && sums[0].Orders%10 != 0:
			t.Errorf("saw a part of a batch: %v", sums)
			return
		}
		select {
		case <-done:
			return
		default:
		}
	}
}
