package console_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
)

// ledgerOrders are orders that differ in all that sums are made by, also in what the
// network has left out.
func ledgerOrders(now time.Time) []schema.Event {
	var all []schema.Event
	pick := func(n int, of ...string) schema.Text { return schema.NewText(of[n%len(of)]) }
	for n := range 120 {
		e := pipelinetest.Event([]string{"main", "zweit & <b>"}[n/100], n, 1)
		o := &e.Data.Order
		o.ProgramID, o.WebsiteID = pick(n, "1042", "7 & <i>", "9"), pick(n, "1", "", script)
		o.SubID, o.LinkID = pick(n, "blog", "", image, "' OR ''='"), pick(n, "l1", "", "l&2")
		o.Currency, o.Status = pick(n, "USD", "EUR", ""), pick(n/7, "0", "1", "2", "-1", "on hold", "")
		o.OrdersPrice, o.SiterCommission = schema.MoneyFromCents(int64(10_000+n)), schema.MoneyFromCents(int64(500+n))
		o.ConfirmPrice, o.ConfirmSiterCommission = schema.MoneyFromCents(int64(9_000+n)), schema.MoneyFromCents(int64(400+n))
		o.OrderTime = schema.NewText(now.AddDate(0, 0, -n).Format(time.DateTime))
		if n%11 == 0 {
			o.OrderTime = schema.NewText("soon")
		}
		if n%5 != 0 {
			o.ChargeTime, o.ChargeCurrency = schema.NewText(now.AddDate(0, 0, -n/2).Format(time.DateTime)), pick(n/3, "USD", "EUR")
		}
		all = append(all, e)
	}
	return all
}

// drillable is a sum that leads to its orders.
type drillable struct{ head, href, text string }

var (
	cellLink  = regexp.MustCompile(`<td role="cell" class="number" data-head="([^"]*)"><a href="([^"]*)"[^>]*>([^<]*)</a>`)
	tileLink  = regexp.MustCompile(`<dd><a href="(/[^"]*)"><b>([^<]*)</b></a> of ([0-9,]*) order`)
	ordersSum = regexp.MustCompile(`<dt>Commission ([^<]*)</dt><dd><b>([^<]*)</b> of ([0-9,]+) orders? over ([^<]*)</dd>`)
)

// sums returns the sums of a page that lead somewhere, each address once for each
// head.
func (a *answer) sums() (all []drillable) {
	for _, m := range cellLink.FindAllStringSubmatch(a.body, -1) {
		all = append(all, drillable{html.UnescapeString(m[1]), html.UnescapeString(m[2]), m[3]})
	}
	for _, m := range tileLink.FindAllStringSubmatch(a.body, -1) {
		all = append(all, drillable{"Orders", html.UnescapeString(m[1]), m[3]}, drillable{"Commission", html.UnescapeString(m[1]), m[2]})
	}
	return all
}

// behind returns what a page of orders says of all it has found.
func (w *world) behind(t *testing.T, href string) (orders, amount, commission string) {
	t.Helper()
	a := w.get(t, href)
	if a.code != http.StatusOK {
		t.Fatalf("%s: HTTP %d: %s", href, a.code, a.body)
	}
	found := ordersSum.FindAllStringSubmatch(a.body, -1)
	if len(found) == 0 && strings.Contains(a.body, "No orders match") {
		return "0", "0.00", "0.00"
	}
	all := int64(0)
	for _, m := range found {
		n, err := strconv.ParseInt(strings.ReplaceAll(m[3], ",", ""), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		all += n
	}
	if len(found) != 1 { // a sum of several currencies counts orders alone
		return strconv.FormatInt(all, 10), "", ""
	}
	return found[0][3], found[0][4], found[0][2]
}

// Every sum of the ledger's reports and of the overview leads to its orders: as many
// of them, over the same amount, with the same commission.
func TestSumsLeadToTheirOrders(t *testing.T) {
	t.Parallel()
	w := openWith(t, "", "http://127.0.0.1:9/", ledgerOrders(time.Now().UTC()))
	seen := map[string][3]string{} // by address: orders, amount, commission
	for target, least := range map[string]int{
		"/ledger/earnings": 30, "/ledger/earnings?group=status&status=0": 3, "/ledger/earnings?group=program&account=zweit+%26+%3Cb%3E": 6,
		"/ledger/earnings?group=sub_id": 30, "/ledger/earnings?group=website": 20, "/ledger/earnings?group=link&currency=USD": 3, "/ledger/earnings?group=status": 30,
		"/ledger/earnings?group=account": 12, "/ledger/earnings?group=day&from=2026-01-01&status=Approved&program=9": 2, "/ledger/earnings?group=month&by=settlement": 10,
		"/ledger/earnings?group=day&by=settlement&program=1042&sub_id=blog": 5, "/ledger/earnings?group=status&by=settlement": 10, "/ledger/waiting": 30, "/ledger/programs": 30,
		"/ledger/earnings?group=month&from=" + time.Now().AddDate(0, 0, -40).Format(time.DateOnly): 6, "/": 10,
	} {
		a := w.get(t, target)
		sums := a.sums()
		if a.code != http.StatusOK || len(sums) < least {
			t.Errorf("%s: HTTP %d, %d sums", target, a.code, len(sums))
		}
		for i, s := range sums {
			if !strings.HasPrefix(s.href, "/orders?") || len(sums) > 60 && i/3%4 > 0 { // of many, every fourth row
				continue
			}
			is, known := seen[s.href]
			if !known {
				orders, amount, commission := w.behind(t, s.href)
				is = [3]string{orders, amount, commission}
				seen[s.href] = is
			}
			want := is[0]
			switch s.head {
			case "Order amount", "Confirmed amount":
				want = is[1]
			case "Commission", "Confirmed commission", "Pending", "Confirmed", "Approved":
				if strings.Contains(s.text, ".") {
					want = is[2]
				}
			case "Estimated amount", "Estimated commission":
				want = s.text // the orders' page shows what came of it
			}
			if strings.ReplaceAll(s.text, ",", "") != strings.ReplaceAll(want, ",", "") {
				t.Errorf("%s: %s %s leads to %s (%s)", target, s.head, s.text, want, s.href)
			}
		}
	}
}

// Every sum of a statement leads to what was posted to it, and that adds up to it.
func TestStatementLeadsToItsPostings(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC()
	events := ledgerOrders(now)
	for i := range events[:60] { // and what became of them a month later
		d := events[i].Data
		d.Version, d.ObservedAt = 2, d.ObservedAt.AddDate(0, 1, 0)
		d.Order.Status, d.Order.ChargeCurrency = schema.NewText(fmt.Sprint(2-3*(i%2))), schema.NewText("USD")
		d.Changes = []schema.Change{{Path: "/Status", From: []byte(`"0"`), To: []byte(`"2"`)}}
		events = append(events, schema.NewEvent(schema.StatusChanged, d))
	}
	w := openWith(t, "", "http://127.0.0.1:9/", events)
	a, sums := w.get(t, "/ledger?month=2026-12"), 0
	for _, s := range a.sums() {
		sums++
		if page := w.get(t, s.href); !strings.Contains(page.body, "<dt>Amount</dt><dd>"+s.text+" ") {
			t.Errorf("%s %s leads to something else: %s", s.head, s.text, s.href)
		}
	}
	if a.code != http.StatusOK || sums < 20 || strings.Contains(a.body, "do not add up") {
		t.Errorf("HTTP %d, %d sums", a.code, sums)
	}
	href := "/ledger/postings?" + url.Values{"month": {"2026-12"}, "part": {"movement"}, "ledger_account": {"estimated"}, "currency": {"USD"}}.Encode()
	rows, err := csv.NewReader(strings.NewReader(w.get(t, href+"&format=csv").body)).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("%v, %d rows", err, len(rows))
	}
	sum := decimal.Zero
	for _, row := range rows[1:] {
		amount, err := decimal.NewFromString(row[len(row)-1])
		if err != nil {
			t.Fatal(err)
		}
		sum = sum.Add(amount)
	}
	page := w.get(t, href)
	if want := fmt.Sprintf(">%d order", len(rows)-1); !strings.Contains(page.body, "<dd>"+sum.StringFixed(2)+" USD</dd>") || !strings.Contains(page.body, want) {
		t.Errorf("%s of %d orders: %s", sum, len(rows)-1, page.body)
	}
	for _, bad := range []string{"month=soon&part=movement", "month=2026-12&part=all", "month=2026-12"} {
		if a := w.get(t, "/ledger/postings?"+bad); a.code != http.StatusBadRequest {
			t.Errorf("%s: HTTP %d", bad, a.code)
		}
	}
}

// A closed month shows so, and is checked by a form.
func TestClosedMonth(t *testing.T) {
	t.Parallel()
	w := openWith(t, "", "http://127.0.0.1:9/", ledgerOrders(time.Now().UTC())[:40])
	closing, err := w.ledger.CloseMonth(t.Context(), "2026-11", time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	page := w.get(t, "/ledger?month=2026-11")
	for _, want := range []string{">closed<", closing.Digest, "2027-03-01 00:00:00 UTC", "Check the month", `<option value="2026-11" selected>2026-11, closed</option>`} {
		if !strings.Contains(page.body, want) {
			t.Errorf("no %q", want)
		}
	}
	for month, want := range map[string]string{"2026-11": "2026-11 is as it was closed", "2026-12": "was not closed"} {
		a := w.ask(t, http.MethodPost, "/ledger/check", url.Values{"csrf": {page.form(t)}, "month": {month}}, nil)
		if a.code != http.StatusOK || !strings.Contains(a.body, want) {
			t.Errorf("%s: HTTP %d: %s", month, a.code, a.body)
		}
	}
	if a := w.ask(t, http.MethodPost, "/ledger/check", url.Values{"csrf": {page.form(t)}, "month": {script}}, nil); a.code != http.StatusBadRequest {
		t.Errorf("no month: HTTP %d", a.code)
	}
	if a := w.get(t, "/ledger?month=2026-10"); !strings.Contains(a.body, ">closed<") || strings.Contains(a.body, "Check the month") {
		t.Error("a month before a closed one is closed, and there is nothing to check")
	}
}

// Tables are sorted by what a link says, and by nothing else; the order is the
// same in the file.
func TestSorted(t *testing.T) {
	t.Parallel()
	w := openWith(t, "", "http://127.0.0.1:9/", ledgerOrders(time.Now().UTC()))
	type row struct {
		Order      string `json:"order"`
		Commission string `json:"commission"`
		Events     int64  `json:"events"`
	}
	read := func(target string) (rows []row) {
		a := w.get(t, target)
		if err := json.Unmarshal([]byte(a.body), &rows); err != nil || a.header.Get("Content-Type") != "application/json" {
			t.Fatalf("%s: %v: %.200s", target, err, a.body)
		}
		return rows
	}
	up, down := read("/orders?sort=commission&format=json"), read("/orders?sort=-commission&format=json")
	if len(up) != 120 || len(down) != 120 || up[0].Commission != "0.00" || down[0].Commission != up[119].Commission || down[0].Commission <= "5.50" || down[0].Events != 1 {
		t.Errorf("%d: %+v … %+v", len(up), up[0], down[0])
	}
	sorted := func(a, b row) int { return strings.Compare(a.Commission, b.Commission) } // all have one digit before the point
	if !slices.IsSortedFunc(up, sorted) || slices.IsSortedFunc(down, sorted) {
		t.Error("the orders do not come by commission")
	}
	for _, bad := range []string{"password", "-", "order_sn;DROP", script, "-commission desc"} {
		if a := w.get(t, "/orders?"+url.Values{"sort": {bad}}.Encode()); a.code != http.StatusOK || strings.Contains(a.body, "aria-sort") {
			t.Errorf("%q: HTTP %d", bad, a.code)
		}
	}
	a := w.get(t, "/orders?sort=-commission&status=Pending&page=1")
	for _, want := range []string{`aria-sort="descending"><a href="/orders?sort=commission&amp;status=Pending">Commission`, `<a href="/orders?sort=day&amp;status=Pending">Day`} {
		if !strings.Contains(a.body, want) {
			t.Errorf("no %s in %s", want, a.body)
		}
	}
	for _, target := range []string{"/ledger/earnings?sort=-commission", "/ledger/waiting?sort-ageing=-orders", "/ledger/programs?sort-settled=rate", "/ledger?sort=closing", "/accounts?sort-accounts=polls",
		"/webhooks?sort=endpoint", "/deadletters?sort=reason", "/archive?sort=-size", "/archive/files?sort=file", "/?sort-sinks=sink", "/webhooks/partner%2Fa?sort=status"} {
		if a := w.get(t, target); a.code != http.StatusOK || strings.Count(a.body, "aria-sort") != 1 {
			t.Errorf("%s: HTTP %d, %d sorted", target, a.code, strings.Count(a.body, "aria-sort"))
		}
	}
}
