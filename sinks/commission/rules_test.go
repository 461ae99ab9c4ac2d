package commission

import (
	"errors"
	"testing"

	"github.com/orderwire/orderwire/schema"
)

func status(s string) func(*schema.Order) {
	return func(o *schema.Order) { o.Status = schema.NewText(s) }
}

func TestRules(t *testing.T) {
	t.Parallel()
	cny, usd := money{"CNY", 10_000, 500}, money{"USD", 1400, 70}
	tests := []struct {
		name string
		edit func(*schema.Order)
		want counted
	}{
		{"pending", status("0"), counted{"0", cny}},
		{"confirmed", status("1"), counted{"1", usd}},
		{"approved", status("2"), counted{"2", usd}},
		{"invalid", status("-1"), counted{"-1", money{"CNY", 10_000, 0}}},
		{"pending by name", status("Pending"), counted{"0", cny}},
		{"approved by name", status("Approved"), counted{"2", usd}},
		{"unknown number", status("7"), counted{"7", money{"CNY", 10_000, 0}}},
		{"unknown text", status("on hold"), counted{"on hold", money{"CNY", 10_000, 0}}},
		{"no status", func(o *schema.Order) { o.Status = schema.Text{} }, counted{"", money{"CNY", 10_000, 0}}},
		{"confirmed without a currency", func(o *schema.Order) { o.ChargeCurrency = schema.NewText("") }, counted{"1", money{"CNY", 1400, 70}}},
		{"confirmed without amounts", func(o *schema.Order) { o.ConfirmPrice, o.ConfirmSiterCommission = schema.Money{}, schema.Money{} }, counted{"1", money{"USD", 0, 0}}},
		{"pending without amounts", func(o *schema.Order) {
			o.Status, o.OrdersPrice, o.SiterCommission = schema.NewText("0"), schema.Money{}, schema.Money{}
		}, counted{"0", money{"CNY", 0, 0}}},
		{"negative", func(o *schema.Order) { o.ConfirmSiterCommission = schema.MoneyFromCents(-70) }, counted{"1", money{"USD", 1400, -70}}},
		{"no currency at all", func(o *schema.Order) { o.Currency, o.ChargeCurrency = schema.Text{}, schema.Text{} }, counted{"1", money{"", 1400, 70}}},
	}
	for _, tt := range tests {
		e := entry(1, 1, order("a", tt.edit))
		s, err := newState(&e, same)
		if err != nil || s.counted != tt.want {
			t.Errorf("%s: %v, got %+v, want %+v", tt.name, err, s.counted, tt.want)
		}
	}
}

func TestDay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-03-01 23:59:59": "2026-03-01", " 2026-03-01 00:00:00 ": "2026-03-01", "2026-03-01": "2026-03-01",
		"2026-03-01T23:59:59+08:00": "2026-03-01", "2026-03-01 later": "2026-03-01",
		"": "", "0000-00-00 00:00:00": "", "2026-02-30 10:00:00": "", "2026-3-1 10:00:00": "", "01.03.2026": "",
		"2026-03-011": "", "1772352000": "", "x": "",
	} {
		if got := dayText(dayOf(text)); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := dayOf(schema.Text{}.String()); got != 0 {
		t.Errorf("absent: got %d", got)
	}
}

func TestAmountOutOfRangeIsRefused(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	large, err := schema.ParseMoney("123456789.01")
	if err != nil {
		t.Fatal(err)
	}
	bad := entry(2, 1, order("b", func(o *schema.Order) { o.ConfirmPrice = large }))
	err = b.Write(t.Context(), []schema.Entry{entry(1, 1, order("a")), bad})
	var refused *EntryError
	if !errors.As(err, &refused) || refused.Sequence != 2 || !refused.Permanent() || !errors.Is(err, schema.ErrAmountRange) {
		t.Fatalf("got %v", err)
	}
	want := "commission books: event " + bad.Event.ID + " (sequence 2) cannot be posted: ConfirmPrice: outside decimal(10,2)"
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	if sums := report(t, b.Reader, Filter{}); len(sums) != 0 {
		t.Errorf("a part of the batch was posted: %v", sums)
	}
}
