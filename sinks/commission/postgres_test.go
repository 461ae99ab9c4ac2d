package commission

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/orderwire/orderwire/schema"
)

func TestNumbered(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{"SELECT 1": "SELECT 1", "a = ? AND b IN (?, ?)": "a = $1 AND b IN ($2, $3)"} {
		if got := numbered(query); got != want {
			t.Errorf("%s gives %s", query, got)
		}
	}
}

func TestPostgresErrors(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]struct {
		kind error
		hint string
	}{
		"53100": {ErrFull, "nothing is lost"}, "55P03": {ErrLocked, "another process"}, "40P01": {ErrLocked, "tried again"},
		"28P01": {ErrAccess, "user and password"}, "3D000": {ErrAccess, "createdb"}, "42501": {ErrAccess, "GRANT"},
		"53300": {ErrAccess, "max_connections"}, "57P01": {ErrAccess, "tried again"}, "08006": {ErrAccess, "closed the connection"},
	} {
		err := storeError("write", "postgres://h/x", errors.Join(errors.New("first"), &pgconn.PgError{Code: code, Message: "of the server"}))
		failure(t, err, want.kind, "postgres://h/x", want.hint)
	}
	if hint, kind := postgresError(&pgconn.PgError{Code: "23505"}); hint != "" || kind != nil {
		t.Errorf("got %q, %v", hint, kind)
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), "postgres://u:s3cret@127.0.0.1:1/x?sslmode=disable")
	failure(t, err, ErrAccess, "postgres://127.0.0.1:1/x: open", "check that it runs")
	if strings.Contains(err.Error(), "s3cret") {
		t.Errorf("the error tells a secret: %v", err)
	}
}

// A zero byte, which PostgreSQL does not store, neither stops the books nor makes
// two orders of one.
func TestZeroBytes(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	strange := func(o *schema.Order) { o.SubID = schema.NewText("s\x00ub") }
	write(t, b, entry(1, 1, order("a\x00b", strange, status("0"))))
	write(t, b, entry(2, 2, order("a\x00b", strange)))
	sums := report(t, b.Reader, Filter{SubID: "s\x00ub"})
	if len(sums) != 1 || sums[0].Orders != 1 || sums[0].StatusName != "Confirmed" {
		t.Errorf("got %+v", sums)
	}
}

// Two processes that write to one database by mistake take turns, and each event
// is posted once.
func TestPostgresTwoWriters(t *testing.T) {
	t.Parallel()
	server := os.Getenv(postgresVariable)
	if server == "" {
		t.Skipf("needs a PostgreSQL server: set %s to its address", postgresVariable)
	}
	one, dsn := open(t)
	two, _ := openAt(t, dsn)
	all := history(200)
	done := make(chan error, 2)
	for _, b := range []*Books{one, two} {
		go func() {
			var err error
			for i := 0; i < len(all) && err == nil; i += 50 {
				err = b.Write(t.Context(), all[i:i+50])
			}
			done <- err
		}()
	}
	if err := errors.Join(<-done, <-done); err != nil {
		t.Fatal(err)
	}
	got := journal(t, one.Reader)
	alone, _ := open(t)
	write(t, alone, all...)
	if want := journal(t, alone.Reader); len(got) != len(want) {
		t.Errorf("%d transactions, alone it makes %d", len(got), len(want))
	}
}
