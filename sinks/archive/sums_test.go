package archive

import (
	"os"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/schema"
)

// oldEntry is the first entry of an archive as it was written before the
// manifest had sums.
const oldEntry = `{"sha256":"047eaa34946ca0c01ab992856f3a0c6474a2080a9c31ec68d541ece1b975ced2","commit":{"format":1,"number":1,"previous":"","first":1,"last":2,"files":[{"path":"account=main/event_date=2026-11-01/00000000000000000001-00000000000000000002.parquet","first":1,"last":1,"rows":1,"bytes":9322,"sha256":"8978a438319f6e1b0e27b696d963a40439b686d0c69085f87b405a4d24ba6da1"},{"path":"account=second/event_date=2026-11-01/00000000000000000001-00000000000000000002.parquet","first":2,"last":2,"rows":1,"bytes":9322,"sha256":"e6e5958d4f992bc701b56738167db31eb9e60a69daa8a9dfa47d03bb33437aca"}],"totals":{"files":2,"rows":2,"bytes":18644},"writer":"1"}}
`

// settled makes an order with everything that sums count.
func settled(tb testing.TB, sequence uint64, status, currency, price, confirmed string) schema.Entry {
	tb.Helper()
	e := event("main", int(sequence), 1)
	o := &e.Data.Order
	o.Status, o.Currency, o.ChargeCurrency = schema.NewText(status), schema.NewText(currency), schema.NewText("USD")
	for _, m := range []struct {
		to   *schema.Money
		text string
	}{{&o.OrdersPrice, price}, {&o.SiterCommission, "0.01"}, {&o.ConfirmPrice, confirmed}, {&o.ConfirmSiterCommission, confirmed}} {
		*m.to = schema.Money{}
		if m.text == "" {
			continue
		}
		var err error
		if *m.to, err = schema.ParseMoney(m.text); err != nil {
			tb.Fatal(err)
		}
	}
	return entry(tb, sequence, e)
}

func TestSumsOfAFile(t *testing.T) {
	t.Parallel()
	dir := archived(t, []schema.Entry{
		settled(t, 1, "1", "CNY", "10.05", ""),
		settled(t, 2, "1", "CNY", "0.95", "-3.00"),
		settled(t, 3, "2", "EUR", "99999999.99", "1.10"),
		settled(t, 4, "strange", "", "7.00", ""),
	})
	file := commits(t, dir)[0].Files[0]
	want := `{"types":{"order.created":4},"statuses":{"":1,"Approved":1,"Confirmed":2},` +
		`"orders_price":{"":"7.00","CNY":"11.00","EUR":"99999999.99"},` +
		`"siter_commission":{"":"0.01","CNY":"0.02","EUR":"0.01"},` +
		`"confirm_price":{"USD":"-1.90"},"confirm_siter_commission":{"USD":"-1.90"}}`
	if got := asJSON(t, file.Sums); got != want {
		t.Errorf("sums\n%s, not\n%s", got, want)
	}
	counted := newTally()
	for _, r := range rows(t, dir) {
		counted.add(&r)
	}
	if got := asJSON(t, counted.sums()); got != want {
		t.Errorf("the rows come to\n%s, not\n%s", got, want)
	}
}

// An archive that an older writer has begun goes on.
func TestOldEntryWithoutSums(t *testing.T) {
	t.Parallel()
	log := entries(t, 5)
	dir := archived(t, log[:2])
	if err := os.WriteFile((&folder{root: dir}).path(manifestName(1)), []byte(oldEntry), 0o600); err != nil {
		t.Fatal(err)
	}
	a := open(t, Config{Dir: dir})
	write(t, a, log[2:])
	all := commits(t, dir)
	if len(all) != 2 || all[0].Files[0].Sums != nil || all[1].Files[0].Sums == nil {
		t.Fatalf("commits %+v", all)
	}
	if all[1].Previous != all[0].SHA256 || all[1].Totals.Rows != 5 {
		t.Errorf("the second commit is %+v", all[1])
	}
	old, err := all[0].encode()
	if err != nil || string(old) != oldEntry {
		t.Errorf("the old entry is written back as %s, %v", old, err)
	}
	if !strings.HasPrefix(oldEntry, `{"sha256":"`+all[0].SHA256) {
		t.Errorf("hash %s", all[0].SHA256)
	}
}
