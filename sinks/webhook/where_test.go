package webhook

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/expr-lang/expr"

	"github.com/orderwire/orderwire/schema"
)

// approved is an order with all that an expression can look at.
func approved(t testing.TB) func(*schema.Data) {
	return func(d *schema.Data) {
		d.Regression = true
		d.Changes = []schema.Change{{Path: "/Status"}, {Path: "/Details/0/LbOrderStatus"}}
		o := &d.Order
		o.ParentOrderSn, o.WebsiteID, o.LinkID, o.SubID = schema.NewText("P-1"), schema.NewText("site-5"), schema.NewText("link-6"), schema.NewText("Ünal-7")
		o.Status, o.OrdersPrice, o.SiterCommission, o.Currency = schema.NewText("2"), money(t, "100.10"), money(t, "5.005"), schema.NewText("EUR")
		o.ConfirmPrice, o.ConfirmSiterCommission, o.ChargeCurrency = money(t, "0.30"), money(t, ""), schema.NewText("USD")
		o.Details = []schema.OrderLine{
			{LbOrderStatus: schema.NewText("9"), ItemID: schema.NewText("item-1"), ShopTitle: schema.NewText("shop-1"), OrdersPrice: money(t, "60.10"), OrderCommission: money(t, "3")},
			{LbOrderStatus: schema.NewText("77"), ItemID: schema.NewText("item-2"), OrdersPrice: money(t, "40")},
		}
	}
}

func TestWhere(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`status == "Approved" && amount >= 100 && currency == "EUR"`: true,
		`status == "Approved" && amount >= 100 && currency == "USD"`: false,
		`status != "Approved"`:                                        false,
		`not (status in ["Pending", "Invalid"])`:                      true,
		`status not in ["Approved", "Confirmed"]`:                     false,
		`status == "7"`:                                               false,
		`event == "status.changed" and account == "main"`:             true,
		`event in ["order.created"] or program == "78"`:               false,
		`program == "77" && order == "SN-1" && parent_order == "P-1"`: true,
		`website == "site-5" && link == "link-6"`:                     true,
		`sub_id == "Ünal-7" && lower(sub_id) == "ünal-7"`:             true,
		`sub_id matches "^Ü.*-[0-9]$"`:                                true,
		`sub_id matches "^x"`:                                         false,
		`sub_id startsWith "Ü" && !(sub_id endsWith "8")`:             true,
		`trim(sub_id + " ") contains "l-7" && len(sub_id) == 6`:       true,
		`regression`:       true,
		`version == 2`:     true,
		`version - 1 >= 2`: false,
		`charge_currency == "USD" && confirmed_commission == 0`: true,
		`"/Status" in changes`:                                                          true,
		`"/OrdersPrice" in changes`:                                                     false,
		`any(changes, # startsWith "/Details/")`:                                        true,
		`any(changes, {# endsWith "Price"})`:                                            false,
		`any(lines, .status == "Refund" && .amount > 60)`:                               true,
		`any(lines, .status == "Refund" && .amount < 60)`:                               false,
		`all(lines, .status == "Refund")`:                                               false,
		`one(lines, .status == "77")`:                                                   true,
		`none(lines, #.shop == "shop-2") && count(lines, .item startsWith "item") == 2`: true,
		`len(lines) == 2 && any(lines, .commission == 3)`:                               true,
		// Amounts are decimal: 0.1 + 0.2 is 0.3, and digits beyond a float's count.
		`confirmed_amount == 0.3 && confirmed_amount == 0.300`:                    true,
		`confirmed_amount == 0.1 + 0.2`:                                           true,
		`confirmed_amount - 0.1 - 0.1 == 0.1`:                                     true,
		`confirmed_amount == 0.3000000000000000000000000001`:                      false,
		`confirmed_amount < 0.3000000000000000000000000001`:                       true,
		`sub_id == "Ünal-7" && 0.3000000000000000000000000001 > confirmed_amount`: true,
		`commission == amount * 0.05`:                                             true,
		`commission >= amount * 0.0500000000000000001`:                            false,
		`100.1 == amount && 100 < amount && 101 >= amount && 100 != amount`:       true,
		`amount >= 100.1 && !(amount > 100.1)`:                                    true,
		`100 < amount < 101`:                                                      true,
		`100 < amount < 100.1`:                                                    false,
		`amount == 1.001e2 && amount > 0x10 && amount < 1_000`:                    true,
		`amount > -5 && amount * -1 == -100.1 && 0 - amount <= -(100 + 0.1)`:      true,
		`-amount < 0 && -amount == -100.1 && -(amount * 2) < -amount`:             true,
		`amount > 50 * 2 && amount + commission > confirmed_amount`:               true,
		"regression // a comment\n  && version == 2":                              true,
	} {
		w, wrong := compileWhere(text)
		if wrong != nil {
			t.Errorf("%s: %v", text, wrong)
			continue
		}
		e := entry(t, 2, approved(t)).Event
		for range 2 { // the second time on what the first has left
			if got, err := w.match(&e); err != nil || got != want {
				t.Errorf("%s: got %t, %v", text, got, err)
			}
		}
		empty := schema.Event{}
		if _, err := w.match(&empty); err != nil {
			t.Errorf("%s fails on an empty event: %v", text, err)
		}
	}
}

// No expression that is accepted is known to fail; should one do so, its event
// is neither sent nor passed over.
func TestEventOnWhichWhereFails(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, status(200))
	e := endpoint(t, r.URL, func(c *Config) { c.Where = `regression` })
	program, err := expr.Compile(`changes[7] == sub_id`, expr.Env(view{}))
	if err != nil {
		t.Fatal(err)
	}
	e.filter.where.program = program
	sent := entry(t, 2, approved(t))
	if !e.Wants(&sent.Event) {
		t.Error("the event would be passed over")
	}
	err = e.Deliver(t.Context(), sent)
	var failed *DeliveryError
	if !errors.Is(err, ErrWhere) || !errors.As(err, &failed) || !failed.Permanent() {
		t.Fatalf("got %v", err)
	}
	if text := err.Error(); !strings.Contains(text, "nothing sent: the expression in where") || strings.Contains(text, "nal-7") {
		t.Errorf("got %v", err)
	}
	if s := e.Stats(); s != (Stats{Failed: 1}) || len(r.deliveries()) != 0 {
		t.Errorf("stats %+v and %d deliveries", s, len(r.deliveries()))
	}
}

// The README and the package's documentation name all that there is.
func TestNamesOfWhereAreDocumented(t *testing.T) {
	t.Parallel()
	all := append(slices.Clone(builtins), operations...)
	for _, f := range fields {
		all = append(all, f.name)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		if name == "and" || name == "or" { // other writings of && and ||
			continue
		}
		if !strings.Contains(string(readme), "`"+name+"`") {
			t.Errorf("README.md does not name %s", name)
		}
		if name[0] >= 'a' && !regexp.MustCompile(`//.*\b`+name+`\b`).Match(doc) {
			t.Errorf("doc.go does not name %s", name)
		}
	}
}

// What is accepted never fails, whatever the event.
func FuzzWhere(f *testing.F) {
	full, empty := entry(f, 2, approved(f)).Event, schema.Event{}
	for _, text := range []string{
		`status == "Approved" && amount >= 100 && currency == "EUR"`, `any(lines, .status == "Refund" && .amount > 60)`,
		`"/Status" in changes || none(changes, # matches "^/D")`, `100 < amount < 101 and -commission <= -(1 + 0.5) * 2`,
		`len(lines) - 1 > version * 2`, `lower(trim(sub_id)) + "a" endsWith "a"`, `status not in ["Pending", "7"]`, `count(lines, true) == 2`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w, wrong := compileWhere(text)
		if wrong != nil && (wrong.Field != "where" || wrong.Problem == "" || wrong.Hint == "") {
			t.Errorf("refused with %+v", wrong)
		}
		if w == nil {
			return
		}
		for _, e := range []*schema.Event{&full, &empty} {
			if _, err := w.match(e); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}

func BenchmarkWhere(b *testing.B) {
	e := entry(b, 2, approved(b)).Event
	for name, text := range map[string]string{
		"one text":     `status == "Approved"`,
		"with amounts": `status == "Approved" && amount >= 100 && currency == "EUR"`,
		"lines":        `any(lines, .status == "Shipped" || .amount < 1)`,
	} {
		w, wrong := compileWhere(text)
		if wrong != nil {
			b.Fatal(wrong)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.match(&e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
