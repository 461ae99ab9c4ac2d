package archive

import (
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// An amount that plainCents takes is the text of its number, and the number is
// the one that schema reads.
func FuzzPlainCents(f *testing.F) {
	for _, s := range []string{
		"", "0", "0.00", "-0.00", "12.50", "-12.50", "12.5", "012.50", "+1.00", ".50", "1.", "1.000", "99999999.99", "100000000.00", "1,50", "1e2", "--1.00", "1.-5",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		cents, ok := plainCents(s)
		if !ok {
			return
		}
		m, err := schema.ParseMoney(s)
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if want, err := m.Cents(); err != nil || want != cents || schema.MoneyFromCents(cents).String() != s {
			t.Errorf("%q is %d, not %d, and comes back as %q (%v)", s, cents, want, schema.MoneyFromCents(cents).String(), err)
		}
	})
}

// A time that plainTime takes is the text of its moment, and the moment is the
// one that schema reads.
func FuzzPlainTime(f *testing.F) {
	for _, s := range []string{
		"", "2026-10-31 23:59:58", "2026-03-29 02:30:00", "2026-10-25 02:30:00", "2026-02-30 00:00:00", "0000-00-00 00:00:00", "1677-01-01 00:00:00",
		"2262-01-01 00:00:00", "2026-10-31T23:59:58", "2026-10-31 24:00:00", "2026-10-31 23:59:60", " 026-10-31 23:59:58", "2026-10-31 23:59:5x",
	} {
		f.Add(s)
	}
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at, ok := plainTime(s, zone)
		if !ok {
			return
		}
		want, err := schema.ParseTime(schema.NewText(s), zone)
		if err != nil || !want.Equal(at) || at.Format(schema.TimeLayout) != s || !time.Unix(0, at.UnixNano()).Equal(at) {
			t.Errorf("%q is %v, not %v (%v)", s, at, want, err)
		}
	})
}
