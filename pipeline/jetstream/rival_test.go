package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/errgroup"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
)

// rival is one of several writers that change the same orders, each with an index of
// its own, as two pollers of one account would.
type rival struct {
	name          string
	log           *jetstream.Log
	groups, batch int  // so many batches of so many orders
	shift         int  // where its first batch begins, so that those of two overlap
	repeats       bool // makes a call without an answer again before it looks what became of it
	ledger        *ledger
	diary         *diary
	enough        <-chan struct{}
}

// run changes one batch of orders after the other until it is enough.
func (r *rival) run(ctx context.Context) error {
	for {
		select {
		case <-r.enough:
			return nil
		default:
		}
		group := rand.IntN(r.groups)
		if err := r.change(ctx, group); err != nil {
			return fmt.Errorf("%s, group %d: %w", r.name, group, err)
		}
	}
}

// change publishes until every order of a group is a version ahead of what the
// writer knew at first, whoever wrote that.
func (r *rival) change(ctx context.Context, group int) error {
	versions := make(map[int]uint64, r.batch)
	for i := range r.batch {
		n := (group*r.batch + r.shift + i) % (r.groups * r.batch)
		known, _ := r.log.Known(key(n))
		versions[n] = known.Version + 1
	}
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 50*time.Millisecond, time.Second
	for {
		due := r.due(versions)
		if len(due) == 0 {
			return nil
		}
		number, msgs, err := r.compose(due)
		if err != nil {
			return err
		}
		err = r.try(number, msgs)
		if err != nil && r.repeats && !isStale(err) {
			err = r.again(number, msgs)
		}
		if err == nil {
			r.diary.acked(r.name, len(msgs))
			continue
		}
		if !isStale(err) {
			wait(ctx, pause)
		}
		if err := r.reload(ctx, due, pause); err != nil {
			return err
		}
	}
}

// wait lets a cluster without a leader alone for a moment.
func wait(ctx context.Context, pause backoff.BackOff) {
	select {
	case <-time.After(pause.NextBackOff()):
	case <-ctx.Done():
	}
}

// due returns the orders that are behind their versions.
func (r *rival) due(versions map[int]uint64) []int {
	var due []int
	for _, n := range slices.Sorted(maps.Keys(versions)) {
		if known, _ := r.log.Known(key(n)); known.Version < versions[n] {
			due = append(due, n)
		}
	}
	return due
}

// compose makes the next version of each order.
func (r *rival) compose(orders []int) (number uint64, msgs []*message.Message, err error) {
	number = r.ledger.begin(len(orders))
	for _, n := range orders {
		known, _ := r.log.Known(key(n))
		e := pipelinetest.Event("main", n, known.Version+1)
		m, err := pipeline.NewMessage(&e, known.Sequence, number)
		if err != nil {
			return 0, nil, err
		}
		msgs = append(msgs, m)
	}
	return number, msgs, nil
}

func (r *rival) try(number uint64, msgs []*message.Message) error {
	err := r.log.Publisher().Publish(pipeline.Topic, msgs...)
	switch {
	case err == nil:
		r.ledger.settle(number, acknowledged, nil)
	case isStale(err):
		r.ledger.settle(number, refused, err)
	}
	r.diary.failed("publish", err)
	return err
}

// again repeats a call that had no answer. A refusal says nothing now: it may be
// the first call that is in the way.
func (r *rival) again(number uint64, msgs []*message.Message) error {
	err := r.log.Publisher().Publish(pipeline.Topic, msgs...)
	if err == nil {
		r.ledger.settle(number, acknowledged, nil)
	}
	r.diary.failed("repeat", err)
	return err
}

// reload asks the server for the orders, until it has answered for each.
func (r *rival) reload(ctx context.Context, orders []int, pause backoff.BackOff) error {
	for len(orders) > 0 {
		var mu sync.Mutex
		var open []int
		var loads errgroup.Group
		loads.SetLimit(16)
		for _, n := range orders {
			loads.Go(func() error {
				if _, err := r.log.Load(ctx, key(n)); err != nil {
					r.diary.failed("load", err)
					mu.Lock()
					defer mu.Unlock()
					open = append(open, n)
				}
				return context.Cause(ctx)
			})
		}
		if err := loads.Wait(); err != nil {
			return err
		}
		if orders = open; len(open) > 0 {
			wait(ctx, pause)
		}
	}
	return nil
}

func isStale(err error) bool {
	var stale *pipeline.StaleError
	return errors.As(err, &stale)
}

// diary notes when which writer was acknowledged, and which errors there were, by
// the fault of the moment.
type diary struct {
	events progress // acknowledged, of all writers

	mu       sync.Mutex
	start    time.Time
	acks     map[string][]time.Time // by writer
	chapter  string
	chapters []chapter
	errors   map[string]map[string]int // by chapter
}

type chapter struct {
	name  string
	begin time.Time
}

func newDiary() *diary {
	d := &diary{start: time.Now(), acks: make(map[string][]time.Time), errors: make(map[string]map[string]int)}
	d.open("no fault")
	return d
}

// open begins a chapter.
func (d *diary) open(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.chapter = name
	d.chapters = append(d.chapters, chapter{name, time.Now()})
	d.errors[name] = make(map[string]int)
}

func (d *diary) acked(writer string, events int) {
	d.mu.Lock()
	d.acks[writer] = append(d.acks[writer], time.Now())
	d.mu.Unlock()
	d.events.add(uint64(events))
}

var figures = regexp.MustCompile(`[0-9]{1,4}(\.[0-9]+){3}:[0-9]+|SN-[0-9]+|batch of [0-9]+|last sequence: [0-9]+`)

func (d *diary) failed(doing string, err error) {
	if err == nil {
		return
	}
	text := fmt.Sprintf("%s: %s", doing, figures.ReplaceAllString(err.Error(), "…"))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.errors[d.chapter][text]++
}

// standstill returns the longest time between two acknowledgements of any of the
// writers that reaches into a chapter. The last chapter only ends the one before.
func (d *diary) standstill(n int, writers ...string) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	from, to := d.chapters[n].begin, d.chapters[n+1].begin
	longest, before := time.Duration(0), from
	for _, at := range append(merge(d.acks, writers), d.chapters[len(d.chapters)-1].begin) {
		if at.After(from) && before.Before(to) {
			longest = max(longest, at.Sub(before))
		}
		before = at
	}
	return longest
}

// merge returns the times of several writers, the earliest first.
func merge(acks map[string][]time.Time, writers []string) []time.Time {
	var all []time.Time
	for _, w := range writers {
		all = append(all, acks[w]...)
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}
