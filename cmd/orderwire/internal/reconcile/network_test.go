package reconcile

import (
	"slices"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// vanished is the event that the network no longer knows an order.
func vanished(o schema.Order) schema.Order {
	o.OrderTime = schema.Text{}
	return o
}

// What the network shows otherwise is a difference only where neither the log nor
// the network's own update times explain it.
func TestAgainstTheNetwork(t *testing.T) {
	t.Parallel()
	later := now.Add(time.Hour)
	for _, tt := range []struct {
		name string
		make func(w *world)
		want []string
		ask  int // orders asked for by themselves
	}{
		{name: "the same", make: func(w *world) {
			w.books(order("a", "0", 100))
			w.shows(order("a", "0", 100), true)
		}},
		{name: "changed, not polled yet", make: func(w *world) {
			w.books(order("a", "0", 100))
			w.shows(order("a", "0", 200), true)
		}, want: []string{"network a amount+commission not-polled"}},
		{name: "changed, and the network does not say so", make: func(w *world) {
			w.books(order("a", "0", 100))
			w.shows(order("a", "-1", 100), false)
		}, want: []string{"network a status+commission"}},
		{name: "logged, not booked yet", make: func(w *world) {
			w.books(order("a", "0", 100))
			w.logs(order("a", "0", 200))
			w.shows(order("a", "0", 200), false)
		}, want: []string{"network a amount+commission not-booked"}},
		{name: "logged, and changed again", make: func(w *world) {
			w.books(order("a", "0", 100))
			w.logs(order("a", "0", 200))
			w.shows(order("a", "0", 300), true)
		}, want: []string{"network a amount+commission not-polled"}},
		{name: "logged, and changed again without a word", make: func(w *world) {
			w.books(order("a", "0", 100))
			w.logs(order("a", "0", 200))
			w.shows(order("a", "0", 300), false)
		}, want: []string{"network a amount+commission"}},
		{name: "logged while the network was listed", make: func(w *world) {
			w.books(order("a", "0", 100))
			w.logs(order("a", "0", 300), now)
			w.shows(order("a", "0", 300), true)
			w.net.shown["a"].listed = order("a", "0", 200)
		}, want: []string{"network a amount+commission not-booked"}, ask: 1},
		{name: "a log that is always newer", make: func(w *world) {
			w.books(order("a", "0", 100))
			w.logs(order("a", "0", 300), later)
			w.shows(order("a", "0", 200), true)
		}, want: []string{"network a amount+commission changing"}, ask: mostTries},
		{name: "not known to the network", make: func(w *world) {
			w.books(order("a", "0", 100))
		}, want: []string{"network a extra"}, ask: 1},
		{name: "vanished, not booked yet", make: func(w *world) {
			w.books(order("a", "0", 100))
			w.logs(vanished(order("a", "0", 100)))
		}, want: []string{"network a extra not-booked"}, ask: 1},
		{name: "not listed", make: func(w *world) {
			w.books(order("a", "0", 100))
			w.shows(order("a", "0", 100), false)
			w.net.shown["a"].unlisted = true
		}, ask: 1},
		{name: "new, not polled yet", make: func(w *world) {
			w.shows(order("a", "0", 100), true)
		}, want: []string{"network a missing not-polled"}},
		{name: "new, not booked yet", make: func(w *world) {
			w.logs(order("a", "0", 100))
			w.shows(order("a", "0", 100), false)
		}, want: []string{"network a missing not-booked"}},
		{name: "new, and the network does not say so", make: func(w *world) {
			w.shows(order("a", "0", 100), false)
		}, want: []string{"network a missing"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			tt.make(w)
			r, found := w.compare()
			if got := texts(found); !slices.Equal(got, append([]string{}, tt.want...)) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if len(w.net.asked) != tt.ask {
				t.Errorf("asked for %q", w.net.asked)
			}
			s := side(t, &r, Network)
			if s.Compared != 1 || s.Agree+s.Different+s.Explained != 1 || r.Differences != s.Different || r.Explained != s.Explained {
				t.Errorf("%+v", r)
			}
		})
	}
}

// An order that is wrong in the books is a difference, whatever else happens to it
// at the network.
func TestWrongBooksAreNotExplained(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.logs(order("a", "0", 100))
	wrong := first
	wrong.Event.Data.Order = order("a", "0", 150)
	w.log.book(wrong)
	w.shows(order("a", "0", 200), true)
	_, found := w.compare()
	if got := texts(found); !slices.Equal(got, []string{"log a amount+commission", "network a amount+commission"}) {
		t.Errorf("got %q", got)
	}
}

// The totals tell what of a difference is explained.
func TestExplainedTotals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.books(order("a", "0", 100))
	w.books(order("b", "0", 100))
	w.shows(order("a", "0", 170), true)
	w.shows(order("b", "0", 101), false)
	r, _ := w.compare()
	cents := schema.MoneyFromCents
	want := Total{Account: "main", Currency: "CNY", Books: Figures{2, cents(20000), cents(200)}, There: Figures{2, cents(27100), cents(271)}, Explained: Figures{0, cents(7000), cents(70)}}
	if got := side(t, &r, Network).Totals; len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Orders of an account that the configuration does not have are not comparable.
func TestForeignAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.books(order("a", "0", 100))
	w.config.Accounts = nil
	r, found := w.compare()
	if s := side(t, &r, Network); len(found) > 0 || s.NotComparable != 1 || s.Compared != 0 || len(s.Notes) != 1 {
		t.Errorf("%+v, %v", s, found)
	}
}
