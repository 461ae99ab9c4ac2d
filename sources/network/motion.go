package network

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// motion is the simulation within one change of the database.
type motion struct {
	*change
	seedValue uint64
	history   time.Duration
	cast      *cast // nil until it is needed

	orders, moves int64 // made so far
	clock         int64 // of the simulation, milliseconds
}

// begin takes the simulation up where it stands; its first time starts it.
func (s *Simulator) begin(ctx context.Context, c *change) (*motion, error) {
	m := &motion{change: c, seedValue: s.config.Seed, history: s.config.History}
	var seed int64
	known, err := c.found(ctx, `SELECT seed, orders, moves, clock FROM simulation WHERE id = 1`, nil,
		&seed, &m.orders, &m.moves, &m.clock)
	switch {
	case err != nil:
		return nil, fmt.Errorf("simulation: %w", err)
	case known && uint64(seed) != s.config.Seed:
		return nil, &SeedError{Have: uint64(seed), Want: s.config.Seed}
	case known:
		return m, nil
	}
	if err := c.addPrograms(ctx); err != nil {
		return nil, err
	}
	return m, c.exec(ctx, `INSERT INTO simulation (id, seed, orders, moves, clock) VALUES (1, ?, 0, 0, 0)`, int64(s.config.Seed))
}

func (m *motion) save(ctx context.Context) error {
	return m.exec(ctx, `UPDATE simulation SET orders = ?, moves = ?, clock = ? WHERE id = 1`, m.orders, m.moves, m.clock)
}

// seed makes orders of the past until there are n.
func (m *motion) seed(ctx context.Context, n int64) error {
	m.pushing.off = true
	for m.orders < n {
		b, err := m.born(ctx)
		if err != nil {
			return err
		}
		placed := m.clock - int64(b.age*float64(m.history.Milliseconds()))
		if err := m.settleIn(ctx, b, placed); err != nil {
			return err
		}
	}
	return m.save(ctx)
}

// add makes an order that is placed at the simulation's time.
func (m *motion) add(ctx context.Context) error {
	b, err := m.born(ctx)
	if err != nil {
		return err
	}
	return m.settleIn(ctx, b, m.clock)
}

func (m *motion) born(ctx context.Context) (newborn, error) {
	if m.cast == nil {
		var err error
		if m.cast, err = m.change.cast(ctx, m.seedValue); err != nil {
			return newborn{}, err
		}
	}
	return m.cast.born(ctx, m.change, uint64(m.orders))
}

// settleIn lets an order live from when it was placed until now, and writes it.
func (m *motion) settleIn(ctx context.Context, b newborn, placed int64) error {
	t := track{number: m.orders, due: sql.Null[int64]{V: placed, Valid: true}}
	at := m.wallTime(placed)
	b.order.placed, b.order.created = at, at
	for t.schedule(&b.life, m.seedValue); t.due.Valid && t.due.V <= m.clock; t.schedule(&b.life, m.seedValue) {
		at = m.wallTime(t.due.V)
		t.take(&b.life, m.seedValue, at)
	}
	if err := m.put(ctx, b.order, b.lines, at, "created"); err != nil {
		return err
	}
	m.orders++
	m.pending.tracks.add(b.order.id, t.number, t.moves, t.due)
	return nil
}

// wallTime returns the Unix seconds of a time of the simulation's past.
func (m *motion) wallTime(clock int64) int64 { return m.now - (m.clock-clock)/1000 }

// track is where the simulation of one order stands.
type track struct {
	order, number, moves int64
	due                  sql.Null[int64] // of the next change, or of the last one before schedule
}

// schedule sets when the next change is due.
func (t *track) schedule(l *life, seed uint64) {
	l.dice = newDice(seed, uint64(t.number), uint64(t.moves)+1)
	wait, next := l.plan()
	t.due = sql.Null[int64]{V: t.due.V + wait.Milliseconds(), Valid: next != nil}
}

// take makes the change that schedule found, with the same dice.
func (t *track) take(l *life, seed uint64, at int64) string {
	l.dice = newDice(seed, uint64(t.number), uint64(t.moves)+1)
	_, next := l.plan()
	t.moves++
	return next(at)
}

// move makes the changes that are due, in their order and at most limit of
// them, each of another order. It returns how many there were.
func (m *motion) move(ctx context.Context, until, limit int64) (int64, error) {
	due, err := m.due(ctx, until, limit)
	if err != nil {
		return 0, err
	}
	for _, t := range due {
		if err := m.moveOne(ctx, t); err != nil {
			return 0, err
		}
	}
	m.moves += int64(len(due))
	return int64(len(due)), m.save(ctx)
}

func (m *motion) due(ctx context.Context, until, limit int64) ([]track, error) {
	if err := m.flush(ctx); err != nil {
		return nil, err
	}
	st, err := m.statement(ctx, `SELECT order_id, number, moves, due FROM simulated_orders
		WHERE due IS NOT NULL AND due <= ? ORDER BY due, order_id LIMIT ?`)
	if err != nil {
		return nil, err
	}
	rows, err := st.QueryContext(ctx, until, limit)
	if err != nil {
		return nil, fmt.Errorf("changes that are due: %w", err)
	}
	defer rows.Close()
	var all []track
	for rows.Next() {
		var t track
		if err := rows.Scan(&t.order, &t.number, &t.moves, &t.due); err != nil {
			return nil, fmt.Errorf("changes that are due: %w", err)
		}
		all = append(all, t)
	}
	return all, rows.Err()
}

func (m *motion) moveOne(ctx context.Context, t track) error {
	l, err := m.life(ctx, t.order)
	if err != nil {
		return err
	}
	reason := t.take(l, m.seedValue, m.now)
	if err := m.put(ctx, l.order, l.lines, m.now, reason); err != nil {
		return err
	}
	t.schedule(l, m.seedValue)
	return m.exec(ctx, `UPDATE simulated_orders SET moves = ?, due = ? WHERE order_id = ?`, t.moves, t.due, t.order)
}

// life reads an order of the simulation.
func (m *motion) life(ctx context.Context, id int64) (*life, error) {
	o, err := m.order(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read an order: %w", err)
	}
	lines, err := o.lines()
	if err != nil {
		return nil, fmt.Errorf("order %d: its lines are no JSON", id)
	}
	p := programOf(o.program)
	if p == nil {
		return nil, fmt.Errorf("order %d: its program is not of the simulation", id)
	}
	return &life{order: &o, lines: lines, program: p}, nil
}
