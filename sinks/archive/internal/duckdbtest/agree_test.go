package duckdbtest

import (
	"bytes"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/commission" //nolint:depguard // the test holds the two against each other
)

const (
	agreeOrders     = 900
	agreeMoves      = 1_200 // before the month is closed
	agreeMovesInAll = 2_200
)

// counts is what an order counts as by the rules of the books, in DuckDB's words.
const counts = `(SELECT *, status IN ('1', '2') AS settled, CASE WHEN status IN ('1', '2') THEN charge_currency ELSE currency END AS counted_in FROM ` + latest + `)`

// One run of the simulator, whose programs have two currencies and one of them is
// settled in another than it is estimated in; a month is closed in its middle, and
// behind that amounts change and orders are reversed. The report, the entries of the
// ledger, DuckDB over the archive and the network's own statistics then give the
// same figures to the cent, and reconcile finds nothing.
func TestFourAgree(t *testing.T) {
	dir, orderwire := t.TempDir(), program(t)
	network := []string{
		"network", "--listen", "127.0.0.1:0", "--db", filepath.Join(dir, "network.db"), "--app-key", appKey, "--app-secret", appSecret,
		"--orders", fmt.Sprint(agreeOrders), "--speed", "10000000", "--moves",
	}
	first := launch(t, orderwire, append(network, fmt.Sprint(agreeMoves))...)
	url := address(t, first)
	first.await(t, "simulator is done")
	succeed(t, orderwire, "run", "--once", "-c", configure(t, dir, url))
	first.terminate(t)
	month := closeMonth(t, dir)
	second := launch(t, orderwire, append(network, fmt.Sprint(agreeMovesInAll))...)
	url = address(t, second)
	second.await(t, "simulator is done")
	config := configure(t, dir, url)
	for range 2 {
		succeed(t, orderwire, "run", "--once", "-c", config)
	}

	books, l := openBooks(t, dir), openLake(t, filepath.Join(dir, "data", "archive"))
	report := reported(t, orderwire, config)
	checkRun(t, orderwire, config, month, books, report)
	checkEntries(t, books, report)
	checkLake(t, l, report)
	checkStatistics(t, url, l, settledEstimates(t, orderwire, config), report)
	checkReconciled(t, orderwire, config, report)
}

// openBooks opens the commission books as any program may.
func openBooks(tb testing.TB, dir string) *sql.DB {
	tb.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "data", "commission.db")+"?mode=ro")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

// closeMonth closes the month to which the books have posted, as if it had ended,
// and returns it.
func closeMonth(tb testing.TB, dir string) (month string) {
	tb.Helper()
	books, err := commission.Open(tb.Context(), filepath.Join(dir, "data", "commission.db"))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = books.Close() }()
	if err := openBooks(tb, dir).QueryRowContext(tb.Context(), "SELECT MAX(month) FROM ledger_balances").Scan(&month); err != nil {
		tb.Fatal(err)
	}
	closed, err := books.CloseMonth(tb.Context(), month, time.Now().AddDate(0, 2, 0))
	if err != nil || closed.Transactions < agreeOrders/2 {
		tb.Fatalf("closed %+v, %v", closed, err)
	}
	return month
}

// figure is what the orders of a program, status and currency add up to.
type figure struct {
	orders             int64
	amount, commission decimal.Decimal
}

// figures are by account, program, status and currency, with bars between them.
type figures map[string]figure

// reported reads the report.
func reported(tb testing.TB, orderwire, config string) figures {
	tb.Helper()
	rows, err := csv.NewReader(strings.NewReader(output(tb, orderwire, "report", "--by", "account,program,status", "-o", "csv", "-c", config))).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	all := figures{}
	for _, row := range rows[1:] {
		all[strings.Join(row[:4], "|")] = figure{parse(tb, row[4]).IntPart(), parse(tb, row[5]), parse(tb, row[6])}
	}
	return all
}

// checkRun makes sure that the run has all that the comparison is about.
func checkRun(tb testing.TB, orderwire, config, month string, books *sql.DB, report figures) {
	tb.Helper()
	for kind, query := range map[string]string{
		"late reversals":       "kind = 'reversed' AND corrects <> 0",
		"late amount changes":  "kind = 'adjusted' AND corrects <> 0",
		"changes of currency":  "kind = 'converted'",
		"postings behind that": "month > '" + month + "'",
	} {
		var n int
		if err := books.QueryRowContext(tb.Context(), "SELECT COUNT(*) FROM ledger_transactions WHERE "+query).Scan(&n); err != nil || n == 0 {
			tb.Errorf("the run has no %s, %v", kind, err)
		}
	}
	currencies := map[string]bool{}
	for k := range report {
		currencies[k[strings.LastIndex(k, "|")+1:]] = true
	}
	if !currencies["CNY"] || !currencies["USD"] || len(report) < 20 {
		tb.Errorf("the report has %d rows, in %v", len(report), currencies)
	}
	succeed(tb, orderwire, "report", "statement", "--month", month, "--check", "-c", config)
}

// checkEntries holds the sums over all entries of the ledger to the report: what
// orders of a status earn stands in that status's account.
func checkEntries(tb testing.TB, books *sql.DB, report figures) {
	tb.Helper()
	rows, err := books.QueryContext(tb.Context(), `
SELECT o.account, o.program_id, CASE e.ledger_account WHEN 'estimated' THEN '0' WHEN 'confirmed' THEN '1' ELSE '2' END, e.currency, SUM(e.amount)
FROM ledger_entries e JOIN ledger_transactions t ON t.id = e.transaction_id JOIN commission_orders o ON o.id = t.order_id
WHERE e.ledger_account IN ('estimated', 'confirmed', 'approved') GROUP BY 1, 2, 3, 4 HAVING SUM(e.amount) <> 0`)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	got, want := map[string]string{}, map[string]string{}
	for rows.Next() {
		var account, program, status, currency string
		var cents int64
		if err := rows.Scan(&account, &program, &status, &currency, &cents); err != nil {
			tb.Fatal(err)
		}
		got[key(account, program, status, currency)] = schema.MoneyFromCents(cents).String()
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	for k, f := range report {
		if !f.commission.IsZero() {
			want[k] = f.commission.StringFixed(2)
		}
	}
	sameSums(tb, "the ledger's entries", got, want)
}

// checkLake holds DuckDB's sums over the last versions to the report.
func checkLake(tb testing.TB, l *lake, report figures) {
	tb.Helper()
	var want []string
	for k, f := range report {
		want = append(want, key(k, f.orders, f.amount.StringFixed(2), f.commission.StringFixed(2)))
	}
	l.answers(tb, `SELECT account, program_id, status, counted_in, count(*), sum(CASE WHEN settled THEN confirm_price ELSE orders_price END),
		sum(CASE WHEN settled THEN confirm_siter_commission WHEN status = '0' THEN siter_commission ELSE 0::DECIMAL(10, 2) END)
		FROM `+counts+" GROUP BY ALL", want)
}

// checkReconciled has the command find nothing, and hold the same totals.
func checkReconciled(tb testing.TB, orderwire, config string, report figures) {
	tb.Helper()
	type sums struct {
		Orders      int64
		OrderAmount decimal.Decimal `json:"order_amount"`
		Commission  decimal.Decimal
	}
	var found struct {
		Found     int `json:"differences_found"`
		Explained int
		Sides     []struct {
			Against         string
			Compared, Agree int64
			Totals          []struct {
				Currency     string
				Books, There sums
			}
		}
	}
	if err := json.Unmarshal([]byte(output(tb, orderwire, "reconcile", "-o", "json", "-c", config)), &found); err != nil {
		tb.Fatal(err)
	}
	if found.Found != 0 || found.Explained != 0 || len(found.Sides) != 4 {
		tb.Errorf("reconcile finds %+v", found)
	}
	want := map[string]string{}
	for _, currency := range []string{"CNY", "USD"} {
		var f figure
		for k, part := range report {
			if strings.HasSuffix(k, "|"+currency) {
				f = figure{f.orders + part.orders, f.amount.Add(part.amount), f.commission.Add(part.commission)}
			}
		}
		want[currency] = key(f.orders, f.amount.StringFixed(2), f.commission.StringFixed(2))
	}
	for _, side := range found.Sides[1:] {
		books, there := map[string]string{}, map[string]string{}
		for _, t := range side.Totals {
			books[t.Currency] = key(t.Books.Orders, t.Books.OrderAmount.StringFixed(2), t.Books.Commission.StringFixed(2))
			there[t.Currency] = key(t.There.Orders, t.There.OrderAmount.StringFixed(2), t.There.Commission.StringFixed(2))
		}
		sameSums(tb, "reconcile's books beside the "+side.Against, books, want)
		sameSums(tb, "reconcile's "+side.Against, there, want)
		if side.Compared != agreeOrders || side.Agree != agreeOrders {
			tb.Errorf("reconcile compares %d orders with the %s, and %d agree", side.Compared, side.Against, side.Agree)
		}
	}
}

func sameSums(tb testing.TB, what string, got, want map[string]string) {
	tb.Helper()
	for k, sum := range want {
		if got[k] != sum {
			tb.Errorf("%s: %s has %s, the report %s", what, k, got[k], sum)
		}
	}
	if len(got) != len(want) {
		tb.Errorf("%s: %d sums, the report has %d", what, len(got), len(want))
	}
}

func parse(tb testing.TB, text string) decimal.Decimal {
	tb.Helper()
	d, err := decimal.NewFromString(text)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// output runs a command that has to end with exit code 0, and returns what it
// prints.
func output(tb testing.TB, name string, args ...string) string {
	tb.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(tb.Context(), name, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		tb.Fatalf("orderwire %s: %v\n%s%s", strings.Join(args, " "), err, &out, &errs)
	}
	return out.String()
}
