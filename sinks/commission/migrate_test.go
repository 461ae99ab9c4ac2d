package commission

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
)

// oldBooks returns the address of books of version 1 with four orders.
func oldBooks(t *testing.T) string {
	t.Helper()
	dsn := newDSN(t)
	db, at := connect(t, dsn)
	defer db.Close()
	p, err := newProvider(db, at.dialect)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.UpTo(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	const row = `INSERT INTO commission_orders VALUES ('main', '77', $1, $2, $2, $3, 0, 'p', 'w1', 'l1', 's1', '2026-03-01', $4,
		$5, $6, 1400, $7, 'CNY', 10000, 500, 'USD', 1400, 70)`
	for _, v := range [][]any{
		{"a", 4, "2026-03-01T08:00:00.000000Z", "", "0", "CNY", 500},
		{"b", 3, "2026-03-02T08:00:00.000000Z", "", "1", "USD", 70},
		{"c", 2, "2026-04-01T08:00:00.000000Z", "2026-03-20", "2", "USD", 70},
		{"d", 1, "2026-04-01T08:00:00.000000Z", "", "-1", "CNY", 0},
	} {
		if _, err := db.ExecContext(t.Context(), row, v...); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.ExecContext(t.Context(), "UPDATE commission_position SET sequence = 4"); err != nil {
		t.Fatal(err)
	}
	return dsn
}

// Books of version 1 begin their ledger with what their orders stood at, and go
// on from there.
func TestOldBooks(t *testing.T) {
	t.Parallel()
	b, err := Open(t.Context(), oldBooks(t))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	opening := []string{
		"1 c/2 opening 2026-04-01: approved USD 70 earnings USD -70",
		"2 b/3 opening 2026-03-02: confirmed USD 70 earnings USD -70",
		"3 a/4 opening 2026-03-01: estimated CNY 500 earnings CNY -500",
	}
	if got := journal(t, b.Reader); !slices.Equal(got, opening) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if p := position(t, b.Reader); p != 4 {
		t.Errorf("position %d", p)
	}
	closeMonth(t, b, "2026-03")
	write(t, b, at(4, 2, 5, 5, order("a")), at(4, 2, 6, 1, order("e")), at(4, 2, 7, 3, order("c", status("-1"))))
	later := []string{
		"4 a/5 converted 2026-04-02 corrects 3: estimated CNY -500 conversion CNY 500 confirmed USD 70 conversion USD -70",
		"5 e/1 recognised 2026-04-02: confirmed USD 70 earnings USD -70",
		"6 c/3 reversed 2026-04-02: approved USD -70 reversed USD 70",
	}
	if got := journal(t, b.Reader); !slices.Equal(got, append(opening, later...)) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	expect(t, "April", statementLines(statement(t, b.Reader, "2026-04")),
		"main CNY conversion 0.00 5.00 5.00", "main CNY earnings -5.00 0.00 -5.00", "main CNY estimated 5.00 -5.00 0.00",
		"main USD approved 0.00 0.00 0.00", "main USD confirmed 0.70 1.40 2.10", "main USD conversion 0.00 -0.70 -0.70",
		"main USD earnings -0.70 -1.40 -2.10", "main USD reversed 0.00 0.70 0.70")
}

// keptSums returns the sums in short, without those that have gone back to 0.
func keptSums(t *testing.T, r *Reader) []string {
	t.Helper()
	var all []string
	for _, query := range []string{
		`SELECT s.kind || ' ' || s.day || ' ' || d.program_id || d.sub_id || d.website_id || d.link_id || ' ' || s.currency || ' ' || s.status || ' ' || s.orders || ' ' || s.order_amount || ' ' || s.commission
			FROM commission_sums s JOIN commission_dimensions d ON d.id = s.dimension_id WHERE s.kind NOT IN (3, 6, 9, 12, 15) AND s.orders <> 0`,
		`SELECT program_id || estimated_currency || confirmed_currency || ' ' || orders || ' ' || estimated_amount || ' ' || estimated_commission
			|| ' ' || confirmed_amount || ' ' || confirmed_commission FROM commission_settled WHERE orders <> 0`,
		"SELECT program_id || ' ' || days || ' ' || orders FROM commission_approvals WHERE orders <> 0",
	} {
		found, err := collect(t.Context(), r.db, func(rows *sql.Rows) (line string, err error) { return line, rows.Scan(&line) }, query)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(found)
		all = append(all, found...)
	}
	return all
}

// The way back loses the ledger and keeps the orders; the way forth makes the
// same sums of them as the events did.
func TestMigrationsDown(t *testing.T) {
	t.Parallel()
	dsn := newDSN(t)
	b, err := Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	write(t, b, history(60)[:160]...)
	wanted, reported := keptSums(t, b.Reader), lines(t, b.Reader, Filter{})
	b = downAndUp(t, b, dsn, 1)
	defer b.Close()
	if got := keptSums(t, b.Reader); !slices.Equal(got, wanted) {
		t.Errorf("sums made anew\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(wanted, "\n"))
	}
	expect(t, "report", lines(t, b.Reader, Filter{}), reported...)
	if got := journal(t, b.Reader); len(got) != 60 || !strings.Contains(got[0], KindOpening) {
		t.Errorf("%d transactions: %q", len(got), got)
	}
}

// The way back to version 4 and forth again keeps what the days of posting changed.
func TestChangesDownAndUp(t *testing.T) {
	t.Parallel()
	dsn := newDSN(t)
	b, err := Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 { // parts of the same days
		write(t, b, history(60)[20*i:20*i+20]...)
	}
	q := Query{By: ByPosting, Group: []string{"day", "program", "website", "sub_id", "link", "status"}}
	wanted, levels := earned(t, b.Reader, q), keptSums(t, b.Reader)
	b = downAndUp(t, b, dsn, 4)
	defer b.Close()
	if got := earned(t, b.Reader, q); len(got) < 20 || !slices.Equal(got, wanted) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(wanted, "\n"))
	}
	if got := keptSums(t, b.Reader); !slices.Equal(got, levels) {
		t.Errorf("sums of the levels\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(levels, "\n"))
	}
	write(t, b, history(60)[160:]...)
	if n := len(earned(t, b.Reader, q)); n < len(wanted) {
		t.Errorf("%d sums, %d before", n, len(wanted))
	}
}

// downAndUp closes books, takes their tables back to a version, and opens them again.
func downAndUp(t *testing.T, b *Books, dsn string, version int64) *Books {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	db, at := connect(t, dsn)
	p, err := newProvider(db, at.dialect)
	if err == nil {
		_, err = p.DownTo(t.Context(), version)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	b, err = Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What a month was closed with in version 3 still holds: the digest is the one that
// the code of then gave, and it is found again behind the way there and back.
func TestClosedMonthOfOldBooks(t *testing.T) {
	t.Parallel()
	dsn := newDSN(t)
	b, err := Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	write(t, b, at(3, 5, 1, 1, order("a", status("0"))), at(3, 6, 2, 1, order("b")), at(3, 7, 3, 2, order("a")),
		at(3, 8, 4, 3, order("a", status("2"))), at(3, 9, 5, 2, order("b", status("-1"))))
	const ofVersion3 = "4d0e3e3b14740c6419ebf75e675c8f2a3abb6494e2b01421fec58644fc02fc5b"
	if c := closeMonth(t, b, "2026-03"); c.Digest != ofVersion3 || c.Transactions != 5 {
		t.Errorf("closed with %d transactions of %s", c.Transactions, c.Digest)
	}
	wanted := journal(t, b.Reader)
	b = downAndUp(t, b, dsn, 3)
	defer b.Close()
	if got := journal(t, b.Reader); !slices.Equal(got, wanted) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if _, err := b.CheckMonth(t.Context(), "2026-03"); err != nil {
		t.Error(err)
	}
}
