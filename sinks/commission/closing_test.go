package commission

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
)

func statement(t testing.TB, r *Reader, month string) *Statement {
	t.Helper()
	s, err := r.Statement(t.Context(), month, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func statementLines(s *Statement) []string {
	var all []string
	for _, l := range s.Lines {
		all = append(all, strings.Join([]string{l.Account, l.Currency, l.LedgerAccount, l.Opening.String(), l.Movement.String(), l.Closing.String()}, " "))
	}
	return all
}

func closeMonth(t testing.TB, b *Books, month string) *Closing {
	t.Helper()
	c, err := b.CloseMonth(t.Context(), month, observed.AddDate(1, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func at(month, day int, sequence, version uint64, o schema.Order) schema.Entry {
	return entryAt(time.Date(2026, time.Month(month), day, 12, 0, 0, 0, time.UTC), schema.StatusChanged, sequence, version, o)
}

// A late change goes to the first open month and names what it corrects.
func TestClosedMonth(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	write(t, b, at(3, 5, 1, 1, order("a", status("0"))), at(3, 6, 2, 1, order("b")), at(4, 1, 3, 2, order("b", status("2"))))
	c := closeMonth(t, b, "2026-03")
	march := statement(t, b.Reader, "2026-03")
	expect(t, "March", statementLines(march),
		"main CNY earnings 0.00 -5.00 -5.00", "main CNY estimated 0.00 5.00 5.00", "main USD confirmed 0.00 0.70 0.70", "main USD earnings 0.00 -0.70 -0.70")
	if !march.Closed || march.Closing == nil || *march.Closing != *c || c.Transactions != 2 || len(c.Digest) != 64 {
		t.Errorf("%+v, %+v", march, c)
	}
	write(t, b, at(3, 7, 4, 2, order("a", status("-1"))), at(5, 2, 5, 3, order("b", status("-1"))), at(3, 8, 6, 1, order("c")))
	closeMonth(t, b, "2026-04")
	write(t, b, at(5, 3, 7, 4, order("b", status("2"))), at(3, 9, 8, 3, order("a", status("0"))))
	want := []string{
		"1 a/1 recognised 2026-03-05: estimated CNY 500 earnings CNY -500",
		"2 b/1 recognised 2026-03-06: confirmed USD 70 earnings USD -70",
		"3 b/2 moved 2026-04-01: confirmed USD -70 approved USD 70",
		"4 a/2 reversed 2026-04-01 corrects 1: estimated CNY -500 reversed CNY 500",
		"5 b/3 reversed 2026-05-02 corrects 2: approved USD -70 reversed USD 70",
		"6 c/1 recognised 2026-04-01: confirmed USD 70 earnings USD -70",
		"7 b/4 restored 2026-05-03 corrects 3: reversed USD -70 approved USD 70",
		"8 a/3 restored 2026-05-01 corrects 4: reversed CNY -500 estimated CNY 500",
	}
	if got := journal(t, b.Reader); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if s := statement(t, b.Reader, "2026-03"); !slices.Equal(s.Lines, march.Lines) || *s.Closing != *c {
		t.Errorf("March has changed: %+v", s)
	}
	expect(t, "May", statementLines(statement(t, b.Reader, "2026-05")),
		"main CNY earnings -5.00 0.00 -5.00", "main CNY estimated 0.00 5.00 5.00", "main CNY reversed 5.00 -5.00 0.00",
		"main USD approved 0.70 0.00 0.70", "main USD confirmed 0.70 0.00 0.70", "main USD earnings -1.40 0.00 -1.40", "main USD reversed 0.00 0.00 0.00")
	for _, month := range []string{"2026-03", "2026-04"} {
		if _, err := b.CheckMonth(t.Context(), month); err != nil {
			t.Error(err)
		}
	}
	other, err := b.Statement(t.Context(), "2026-05", "second")
	if err != nil || len(other.Lines) != 0 {
		t.Errorf("another account: %+v, %v", other, err)
	}
}

func TestMonthsThatCannotBeClosed(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	write(t, b, at(3, 5, 1, 1, order("a", status("0"))), at(5, 1, 2, 2, order("a")))
	refuse := func(month string, now time.Time, want string) {
		t.Helper()
		_, err := b.CloseMonth(t.Context(), month, now)
		var wrong *MonthError
		var form *FilterError
		if !errors.As(err, &wrong) && !errors.As(err, &form) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", month, err, want)
		}
	}
	later := observed.AddDate(1, 0, 0)
	refuse("March", later, "is no month")
	refuse("2026-13", later, "is no month")
	refuse("2026-03", time.Date(2026, 3, 31, 23, 59, 59, 0, time.UTC), "has not ended; close it after 2026-04-01T00:00:00Z")
	refuse("2026-04", later, "cannot be closed before 2026-03; close that first")
	closeMonth(t, b, "2026-04"[:6]+"3")
	refuse("2026-03", later, "is closed; every month up to 2026-03 is")
	closeMonth(t, b, "2026-05") // nothing was posted to April
	refuse("2026-04", later, "is closed; every month up to 2026-05 is")
	if s := statement(t, b.Reader, "2026-04"); !s.Closed || s.Closing != nil || len(s.Lines) != 2 {
		t.Errorf("April: %+v", s)
	}
	_, err := b.CheckMonth(t.Context(), "2026-04")
	var wrong *MonthError
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "was not closed") {
		t.Errorf("got %v", err)
	}
}

// The months are those of the zone of the books.
func TestZoneOfTheMonths(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(t.Context(), newDSN(t), InZone(zone))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	lastHour := time.Date(2026, 3, 31, 16, 0, 0, 0, time.UTC) // April in Shanghai
	write(t, b, entryAt(lastHour.Add(-time.Second), schema.OrderCreated, 1, 1, order("a")), entryAt(lastHour, schema.OrderCreated, 2, 1, order("b")))
	want := []string{
		"1 a/1 recognised 2026-03-31: confirmed USD 70 earnings USD -70",
		"2 b/1 recognised 2026-04-01: confirmed USD 70 earnings USD -70",
	}
	if got := journal(t, b.Reader); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if _, err := b.CloseMonth(t.Context(), "2026-03", lastHour.Add(-time.Second)); err == nil {
		t.Error("closed before its end in Shanghai")
	}
	if _, err := b.CloseMonth(t.Context(), "2026-03", lastHour); err != nil {
		t.Error(err)
	}
}

// Who changes the database behind the books is found out.
func TestCheckMonthFindsChanges(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"UPDATE ledger_postings SET amount_1 = amount_1 + 1 WHERE id = 1":            "holds 2 transactions of digest",
		"UPDATE ledger_postings SET posted_on = 20260330 WHERE id = 1":               "holds 2 transactions of digest",
		"UPDATE commission_texts SET text = 'sure' WHERE text = 'confirmed'":         "holds 2 transactions of digest",
		"DELETE FROM ledger_postings WHERE id = 2":                                   "holds 1 transactions of digest",
		"UPDATE ledger_balances SET last_transaction = 1":                            "holds 1 transactions of digest",
		"UPDATE ledger_closings SET movement = 1 WHERE ledger_account = 'estimated'": "adds up differently in main/estimated/CNY",
		"DELETE FROM ledger_closings WHERE ledger_account = 'estimated'":             "adds up differently in main/estimated/CNY",
	} {
		b, _ := open(t)
		write(t, b, at(3, 5, 1, 1, order("a", status("0"))), at(3, 6, 2, 1, order("b")))
		closeMonth(t, b, "2026-03")
		if c, err := b.CheckMonth(t.Context(), "2026-03"); err != nil || c.Month != "2026-03" {
			t.Fatal(err)
		}
		exec(t, b, query)
		_, err := b.CheckMonth(t.Context(), "2026-03")
		var wrong *MonthError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", query, err, want)
		}
	}
}
