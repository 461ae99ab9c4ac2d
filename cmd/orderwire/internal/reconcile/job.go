package reconcile

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/replay"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/commission"
)

// OrderLog is what a comparison needs of the log.
type OrderLog interface {
	replay.Log
	pipeline.CursorStore
	// Load asks for an order's last event.
	Load(ctx context.Context, key schema.OrderKey) (pipeline.State, error)
}

// Config says what to compare.
type Config struct {
	Books *commission.Reader
	// Account limits it to one account, "" for all; From and To to days of orders,
	// both included, "" for no limit.
	Account, From, To string
	// Against lists Log, Archive and Network.
	Against []string
	Log     OrderLog // required for Log and Network
	Archive string   // folder or address
	// Accounts are those that the network can be asked about.
	Accounts []Account
	// Logger gets what is passed over. Required.
	Logger *slog.Logger
	// Progress is told, now and then, how much of a piece of work is done, in the
	// units that it names. Nil: nobody asks.
	Progress func(what, unit string, done, total int64)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Result is a finished comparison. Close it.
type Result struct {
	Report
	// Failed says which sides could not be compared, or not to their end; nil: all
	// were.
	Failed error

	dir  string
	diff *spool
}

// Each returns the differences: those of the books themselves first, then of each
// side by account, program and order number.
func (r *Result) Each() iter.Seq2[*Difference, error] { return r.diff.all() }

// Close removes what is kept of the differences.
func (r *Result) Close() error { return errors.Join(r.diff.close(), os.RemoveAll(r.dir)) }

// job is one comparison under way.
type job struct {
	Config
	*Result
	books *sorter
	known map[string]int64 // orders of the books by account
}

// progressEvery is how many orders pass between two words on the progress.
const progressEvery = 4096

// Run compares. The error is that of the books, which could not be read; what goes
// wrong with a side is [Result.Failed].
func Run(ctx context.Context, c Config) (_ *Result, err error) {
	if c.Progress == nil {
		c.Progress = func(string, string, int64, int64) {}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	dir, err := os.MkdirTemp("", "orderwire-reconcile-*")
	if err != nil {
		return nil, fmt.Errorf("temporary folder: %w (TMPDIR names another place)", err)
	}
	j := &job{Config: c, Result: &Result{dir: dir, Report: Report{From: c.From, To: c.To, Account: c.Account, Sides: []Side{}}}, known: map[string]int64{}}
	if j.diff, err = newSpool(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := j.run(ctx); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j.Result, nil
}

func (j *job) run(ctx context.Context) error {
	if err := j.readBooks(ctx); err != nil {
		return err
	}
	for _, against := range []struct {
		name    string
		compare func(context.Context, *Side) error
	}{{Log, j.againstLog}, {Archive, j.againstArchive}, {Network, j.againstNetwork}} {
		if !slices.Contains(j.Against, against.name) {
			continue
		}
		s := &Side{Against: against.name}
		if err := against.compare(ctx, s); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s.Failure = err.Error()
			j.Failed = errors.Join(j.Failed, fmt.Errorf("%s: %w", against.name, err))
		}
		s.total()
		j.Sides = append(j.Sides, *s)
		j.Differences += s.Different
		j.Explained += s.Explained
	}
	return nil
}

// readBooks takes one state of the books in, and holds it against itself.
func (j *job) readBooks(ctx context.Context) error {
	audit, err := j.Books.Audit(ctx)
	if err != nil {
		return err
	}
	defer audit.Close()
	j.Position = audit.Position()
	total, err := audit.Count(ctx, j.Account)
	if err != nil {
		return err
	}
	j.books = &sorter{dir: j.dir}
	for o, err := range audit.Orders(ctx, j.Account) {
		if err != nil {
			return err
		}
		if err := j.books.add(o); err != nil {
			return err
		}
		j.known[o.Key.Account]++
		if j.Orders++; j.Orders%progressEvery == 0 {
			j.Progress("books", "orders", j.Orders, total)
		}
	}
	return j.faults(ctx, audit)
}

func (j *job) faults(ctx context.Context, audit *commission.Audit) error {
	s := Side{Against: Ledger, UpTo: j.Position, Totals: []Total{}, Compared: j.Orders}
	j.Progress("ledger", "orders", 0, j.Orders)
	for f, err := range audit.Faults(ctx, j.Account) {
		if err != nil {
			return err
		}
		if f.Day != "" && !j.within(f.Day) {
			continue
		}
		s.Different++
		d := &Difference{Against: Ledger, Kinds: []string{f.Kind}, Account: f.Key.Account, ProgramID: f.Key.Program, OrderSn: f.Key.OrderSn, Note: f.What}
		if err := j.diff.add(d); err != nil {
			return err
		}
	}
	s.Agree = max(0, s.Compared-s.Different)
	j.Sides = append(j.Sides, s)
	j.Differences += s.Different
	return nil
}

// within reports whether a day is in the range that was asked for.
func (j *job) within(day string) bool {
	if j.From == "" && j.To == "" {
		return true
	}
	return day != "" && day >= j.From && (j.To == "" || day <= j.To)
}

// wanted reports whether either side places the order in the range.
func (j *job) wanted(p *pair) bool {
	return p.books != nil && j.within(p.books.Day) || p.there != nil && j.within(p.there.Day)
}

// walk judges all pairs that are wanted.
func (j *job) walk(there iter.Seq2[record, error], s *Side, wanted func(*pair) bool, judge func(*pair) (verdict, error)) error {
	var seen int64
	for p, err := range pairs(j.books.sorted(), there) {
		if err != nil {
			return err
		}
		if p.books != nil {
			if seen++; seen%progressEvery == 0 {
				j.Progress("compare", "orders", seen, j.Orders)
			}
		}
		if !wanted(&p) {
			continue
		}
		v, err := judge(&p)
		if err != nil {
			return err
		}
		s.count(&p, &v)
		if v.kinds == nil || v.incomparable {
			continue
		}
		key := p.either().Key
		d := &Difference{
			Kinds: v.kinds, Explained: v.explained, Account: key.Account, ProgramID: key.Program, OrderSn: key.OrderSn,
			Books: viewOf(p.books), There: viewOf(p.there), Note: v.note, Against: s.Against,
		}
		if err := j.diff.add(d); err != nil {
			return err
		}
	}
	return nil
}
