package main_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/reconcile"
)

// Beside a running line whose network changes all the time, nothing differs: what
// is not booked or not polled yet is said to be that.
func TestReconcileBesideARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldConfig{orders: 1000})
	p := launch(t, "run", "-c", w.config)
	p.log.await(t, "line is running")
	follow := launchOut(t, "events", "-c", w.config, "-o", "json", "--follow")
	follow.await(t, 1000)
	moving, stop := make(chan error, 1), make(chan struct{})
	go func() {
		var err error
		for i := 0; i < 400 && err == nil; i++ {
			select {
			case <-stop:
				i = 400
			default:
				err = w.sim.Step(context.WithoutCancel(t.Context()), 5)
			}
		}
		moving <- err
	}()
	for range 4 {
		r := w.reconciles(t, 0)
		if n := r.side(t, reconcile.Network); n.Compared != 1000 || n.Different != 0 || n.NotComparable != 0 {
			t.Errorf("%+v, %v", n, r.found())
		}
		if l := r.side(t, reconcile.Log); l.UpTo != r.Position || l.Agree != r.Orders || l.NotComparable != 0 {
			t.Errorf("%+v at %d", l, r.Position)
		}
		if a := r.side(t, reconcile.Archive); a.Agree+a.NotComparable != r.Orders || a.UpTo > r.Position {
			t.Errorf("%+v at %d", a, r.Position)
		}
	}
	close(stop)
	if err := <-moving; err != nil {
		t.Fatal(err)
	}
	p.terminate(t)
	succeed(t, "run", "-c", w.config, "--once")
	if r := w.reconciles(t, 0); r.side(t, reconcile.Archive).Agree != 1000 || r.side(t, reconcile.Network).Agree != 1000 {
		t.Errorf("%+v", r.Report)
	}
}

// A range of days and an account choose what is compared.
func TestReconcileRange(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldConfig{orders: 200})
	succeed(t, "run", "-c", w.config, "--once")
	days := map[string]int64{}
	for _, e := range w.events(t) {
		days[e.Data.Order.OrderTime.String()[:10]]++
	}
	all := make([]string, 0, len(days))
	for day := range days {
		all = append(all, day)
	}
	slices.Sort(all)
	from, to := all[5], all[8]
	r := w.reconciles(t, 0, "--from", from, "--to", to, "--account", "main")
	var want int64
	for _, day := range all[5:9] {
		want += days[day]
	}
	for _, name := range []string{reconcile.Log, reconcile.Archive, reconcile.Network} {
		if s := r.side(t, name); s.Compared != want || s.Agree != want || s.From != "" {
			t.Errorf("%d orders from %s to %s, compared %+v", want, from, to, s)
		}
	}
	table := succeed(t, "reconcile", "-c", w.config, "--against", "log", "--to", to)
	if !strings.Contains(table, "Orders of all days up to "+to) || strings.Contains(table, "network") {
		t.Errorf("table\n%s", table)
	}
	if rows := succeed(t, "reconcile", "-c", w.config, "-o", "csv"); !strings.HasPrefix(rows, "against,kinds,") || strings.Count(rows, "\n") != 1 {
		t.Errorf("csv\n%s", rows)
	}
}

func TestReconcileUsage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldConfig{})
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--from", "yesterday"}, 2, `--from: "yesterday" is no day`},
		{[]string{"--from", "2026-03-02", "--to", "2026-03-01"}, 2, "--to: 2026-03-01 lies before --from 2026-03-02"},
		{[]string{"--against", "books"}, 2, `--against: cannot be "books"`},
		{[]string{"--account", "other"}, 2, `no account called "other"`},
		{[]string{"-o", "xml"}, 2, `no output form "xml"`},
		{[]string{"more"}, 2, `takes no argument "more"`},
		{nil, 1, "start that first"},
	} {
		_, errs, code := orderwire(t, "", append([]string{"reconcile", "-c", w.config}, tt.args...)...)
		if code != tt.code || !strings.Contains(errs, tt.want) {
			t.Errorf("reconcile %v: exit code %d\n%s", tt.args, code, errs)
		}
	}
}

// A network that cannot be asked leaves the other comparisons, and exit code 1.
func TestReconcileWithoutTheNetwork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldConfig{orders: 50, poll: ", max_attempts: 1"})
	succeed(t, "run", "-c", w.config, "--once")
	w.server.Close()
	r := w.reconciles(t, 1)
	if s := r.side(t, reconcile.Log); s.Agree != 50 {
		t.Errorf("%+v", s)
	}
	if s := r.side(t, reconcile.Network); !strings.Contains(s.Failure, "account main") || s.Compared != 0 {
		t.Errorf("%+v", s)
	}
	if out, errs, code := orderwire(t, "", "reconcile", "-c", w.config); code != 1 || !strings.Contains(errs, "orderwire: network: account main") ||
		!strings.Contains(out, "not compared to the end") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}
