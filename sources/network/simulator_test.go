package network_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderwire/orderwire/sources/network"
	"github.com/orderwire/orderwire/sources/network/networktest"
)

// states is everything of the orders and their history but the times.
func (f *fixture) states() []string {
	f.tb.Helper()
	var all []string
	for _, row := range f.query(`SELECT id, publisher_id, program_id, website_id, link_id, sub_id, order_sn, parent_order_sn,
			orders_cents, commission_cents, status, confirm_cents, confirm_commission_cents, seq, details, simulated_clicks FROM orders ORDER BY id`) {
		all = append(all, fmt.Sprint(row...))
	}
	for _, row := range f.query(`SELECT seq, order_id, reason, status, line_states FROM order_history ORDER BY seq`) {
		all = append(all, fmt.Sprint(row...))
	}
	return all
}

func step(tb testing.TB, sim *network.Simulator, k int64) {
	tb.Helper()
	if err := sim.Step(context.Background(), k); err != nil {
		tb.Fatal(err)
	}
}

// The same seed and the same steps give the same orders and states, whatever
// the clock says.
func TestSimulatorIsDeterministic(t *testing.T) {
	run := func(seed uint64, at time.Time, pause time.Duration) []string {
		f := open(t, nil)
		f.publisher(network.Publisher{AppKey: "other", AppSecret: "x", Websites: []string{"2001"}})
		f.clock.unix.Store(at.Unix())
		sim := f.simulator(network.SimulatorConfig{Seed: seed}, 150)
		for range 5 {
			f.clock.advance(pause)
			step(t, sim, 30)
		}
		return f.states()
	}
	first := run(1, epoch, time.Second)
	if len(first) != 150+150+150 {
		t.Errorf("%d rows, want 150 orders and their history", len(first))
	}
	if !slices.Equal(first, run(1, epoch.Add(1000*time.Hour), 7*time.Hour)) {
		t.Error("another clock gives other orders")
	}
	if slices.Equal(first, run(2, epoch, time.Second)) {
		t.Error("another seed gives the same orders")
	}
}

// Step changes exactly k distinct orders, and each change raises the update
// time, writes the history and shows in the answer, in one transaction.
func TestStep(t *testing.T) {
	f := start(t, nil)
	sim := f.simulator(network.SimulatorConfig{Seed: 1}, 300)
	before := map[string]string{}
	for _, raw := range f.walk(30, nil) {
		o := parse(t, raw)
		before[o.ID.String()] = string(raw)
	}
	f.clock.advance(time.Minute)
	step(t, sim, 120)
	now := f.clock.unix.Load()
	changed := f.list(params{"Stime": now, "Etime": now, "PageSize": 200})
	if changed.Total != 120 {
		t.Fatalf("%d orders changed, want 120", changed.Total)
	}
	lineOnly := 0
	for _, raw := range changed.List {
		o := parse(t, raw)
		old := parse(t, []byte(before[o.ID.String()]))
		if string(raw) == before[o.ID.String()] {
			t.Errorf("order %s was not changed", o.ID)
		}
		if old.Status == o.Status && old.ChargeTime == o.ChargeTime {
			lineOnly++
		}
	}
	if lineOnly == 0 || lineOnly == 120 {
		t.Errorf("%d changes of lines only", lineOnly)
	}
	if n := f.number(`SELECT COUNT(*) FROM orders o JOIN order_history h ON h.seq = o.seq AND h.order_id = o.id
		AND h.at = o.updated_at AND h.status = o.status AND h.confirm_cents IS NOT DISTINCT FROM o.confirm_cents`); n != 300 {
		t.Errorf("%d of 300 orders agree with their history", n)
	}
	if n := f.number(`SELECT COUNT(*) FROM order_history`); n != 420 {
		t.Errorf("%d lines of history, want 420", n)
	}
	if p, err := sim.Progress(t.Context()); err != nil || p != (network.Progress{Orders: 300, Moves: 120}) {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestStepRefusesMoreThanThereIs(t *testing.T) {
	f := open(t, nil)
	sim := f.simulator(network.SimulatorConfig{Seed: 1}, 20)
	states := f.states()
	if err := sim.Step(t.Context(), 21); !errors.Is(err, network.ErrTooFewOrders) {
		t.Errorf("err = %v", err)
	}
	if err := errors.Join(sim.Step(t.Context(), 0), sim.Step(t.Context(), -1)); err != nil {
		t.Error(err)
	}
	if !slices.Equal(states, f.states()) {
		t.Error("a refused step changed something")
	}
}

func TestSeedAgain(t *testing.T) {
	f := open(t, nil)
	f.simulator(network.SimulatorConfig{Seed: 1}, 30)
	f.simulator(network.SimulatorConfig{Seed: 1}, 30)
	if n := f.number(`SELECT COUNT(*) FROM orders`); n != 30 {
		t.Errorf("%d orders after seeding twice", n)
	}
	f.simulator(network.SimulatorConfig{Seed: 1}, 40)
	whole := open(t, nil)
	whole.simulator(network.SimulatorConfig{Seed: 1}, 40)
	if !slices.Equal(f.states(), whole.states()) {
		t.Error("seeding in two parts gives other orders")
	}
	sim, err := f.svc.Simulator(network.SimulatorConfig{Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	var seeds *network.SeedError
	if err := sim.Seed(t.Context(), 50); !errors.As(err, &seeds) || *seeds != (network.SeedError{Have: 1, Want: 2}) {
		t.Errorf("another seed: %v", err)
	}
	if err := sim.Run(t.Context()); !errors.As(err, &seeds) {
		t.Errorf("Run with another seed: %v", err)
	}
}

func TestSeededPast(t *testing.T) {
	f := open(t, nil)
	f.simulator(network.SimulatorConfig{Seed: 1}, 600)
	now := f.clock.unix.Load()
	for what, condition := range map[string]string{
		"orders of the future":       `updated_at > now OR order_time > now OR charge_time > now`,
		"orders updated before born": `updated_at < order_time OR charge_time < order_time OR charge_time > updated_at`,
		"orders too old":             `order_time < now - 30 * 86400`,
		"young approved orders":      `status = 2 AND order_time > now - 4 * 86400`,
	} {
		if n := f.number(`SELECT COUNT(*) FROM orders, (SELECT CAST(? AS BIGINT) AS now) clock WHERE `+condition, now); n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
	for what, query := range map[string]string{
		"settlement states":                  `SELECT COUNT(DISTINCT status) / 4 FROM orders`,
		"currencies":                         `SELECT COUNT(DISTINCT currency) / 2 FROM orders`,
		"orders charged in another currency": `SELECT COUNT(*) FROM orders WHERE charge_currency <> currency`,
		"links":                              `SELECT COUNT(DISTINCT link_id) / 12 FROM orders JOIN links ON CAST(links.id AS TEXT) = link_id AND links.website_id = orders.website_id`,
	} {
		if n := f.number(query); n == 0 {
			t.Errorf("too few %s", what)
		}
	}
	for _, row := range f.query(`SELECT status, COUNT(*) FROM orders GROUP BY status`) {
		if n := row[1].(int64); n < 20 {
			t.Errorf("%d of 600 orders have the status %d", n, row[0])
		}
	}
}

func TestSimulatorConfigErrors(t *testing.T) {
	f := open(t, nil)
	for _, c := range []network.SimulatorConfig{
		{Speed: -1}, {Speed: math.NaN()}, {NewOrdersPerHour: math.Inf(1)}, {History: -1}, {MaxMoves: -1},
	} {
		var e *network.ConfigError
		if _, err := f.svc.Simulator(c); !errors.As(err, &e) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	empty, err := network.Open(t.Context(), network.Config{DB: networktest.Database(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()
	sim, err := empty.Simulator(network.SimulatorConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.Seed(t.Context(), 1); !errors.Is(err, network.ErrNoWebsite) {
		t.Errorf("nobody to give orders to: %v", err)
	}
}

// Run follows the clock of the simulation: lives pass, new orders come, and it
// ends with its context. The bubble's clock makes the hours short.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, func(c *network.Config) { c.Now = time.Now })
		sim := f.simulator(network.SimulatorConfig{Seed: 1, Speed: 24, NewOrdersPerHour: 60}, 100)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		begun := time.Now().Unix()
		if err := sim.Run(ctx); err != nil {
			t.Fatal(err)
		}
		p, err := sim.Progress(t.Context())
		if err != nil || p.Orders < 158 || p.Orders > 160 || p.Moves < 50 {
			t.Errorf("after an hour that is a day: %+v, %v", p, err)
		}
		if n := f.number(`SELECT COUNT(*) FROM order_history WHERE at >= ?`, begun); n != p.Moves+p.Orders-100 {
			t.Errorf("%d changes in the history for %+v", n, p)
		}
		if n := f.number(`SELECT COUNT(DISTINCT order_time) FROM orders WHERE created_at > ?`, begun); n != p.Orders-100 {
			t.Errorf("%d times of new orders, want one a minute", n)
		}
		if late := f.number(`SELECT MAX(updated_at) FROM orders`) - begun; late > 3600 {
			t.Errorf("an update time %d s after the start", late)
		}
	})
}

// MaxMoves ends Run, in this and in any later process, and Run gets as far as
// Step would.
func TestRunEndsAtMaxMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, func(c *network.Config) { c.Now = time.Now })
		config := network.SimulatorConfig{Seed: 1, Speed: 1e6, MaxMoves: 400}
		sim := f.simulator(config, 200)
		step(t, sim, 50)
		for range 2 {
			if err := sim.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if p, err := sim.Progress(t.Context()); err != nil || p.Moves != 400 {
				t.Errorf("%+v, %v", p, err)
			}
		}
	})
}

// The states of an order do not depend on how the simulation was driven.
func TestRunAndStepGoTheSameWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ways := func(drive func(*network.Simulator)) map[string]string {
			f := open(t, func(c *network.Config) { c.Now = time.Now })
			drive(f.simulator(network.SimulatorConfig{Seed: 1, Speed: 1e6}, 30))
			all := map[string]string{}
			for _, row := range f.query(`SELECT order_sn || program_id, string_agg(reason, '; ' ORDER BY h.seq)
				FROM order_history h JOIN orders o ON o.id = h.order_id GROUP BY 1`) {
				all[row[0].(string)] = row[1].(string)
			}
			return all
		}
		stepped := ways(func(sim *network.Simulator) {
			for sim.Step(t.Context(), 1) == nil { // until every order has come to its end
			}
		})
		ran := ways(func(sim *network.Simulator) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := sim.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		if len(stepped) != 30 {
			t.Errorf("%d orders", len(stepped))
		}
		for order, way := range stepped {
			if ran[order] != way {
				t.Errorf("order %s\nstepped: %s\nran:     %s", order, way, ran[order])
			}
		}
	})
}
