package poller_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"pgregory.net/rapid"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/schema"
)

// logged is the last event of an order, as the test read it from the log.
type logged struct {
	id       string
	version  uint64
	typ      schema.EventType
	at       time.Time
	state    facts
	sequence uint64
}

// reader follows the log from its beginning and holds each event against what
// the network was at the time that the event names.
type reader struct {
	log     *jetstream.Log
	in      <-chan *message.Message
	account string
	network *modelNetwork
	last    map[modelKey]logged
	read    uint64   // sequence of the newest event
	kept    []uint64 // sequences of this case's events that are not trimmed
}

// news reads the events that are new in the log and returns the orders that
// they are of.
func (r *reader) news(t rapid.TB) map[modelKey]schema.Event {
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	end, err := r.log.Last(ctx)
	if err != nil {
		t.Fatal(err)
	}
	events := make(map[modelKey]schema.Event)
	for r.read < end {
		select {
		case msg := <-r.in:
			if k, e := r.take(t, msg); e.Data.Account == r.account {
				events[k] = e
			}
		case <-ctx.Done():
			t.Fatal("the log does not give what it holds")
		}
	}
	return events
}

func (r *reader) take(t rapid.TB, msg *message.Message) (modelKey, schema.Event) {
	entry, err := pipeline.ReadEntry(msg)
	if err != nil {
		t.Fatal(err)
	}
	msg.Ack()
	r.read = entry.Sequence
	e := entry.Event
	if e.Data.Account != r.account {
		return modelKey{}, e // left behind by a case that failed
	}
	k := modelKey{e.Data.Order.ProgramID.String(), e.Data.Order.OrderSn.String()}
	state, err := stateIn(entry.Raw)
	if err == nil {
		err = r.judge(k, &e, state)
	}
	if err != nil {
		t.Fatalf("order %s, version %d, %s: %v", k, e.Data.Version, e.Type, err)
	}
	r.kept = append(r.kept, entry.Sequence)
	r.last[k] = logged{id: e.ID, version: e.Data.Version, typ: e.Type, at: e.Data.ObservedAt, state: state, sequence: entry.Sequence}
	t.Logf("  log: %s version %d %s at %s", k, e.Data.Version, e.Type, e.Data.ObservedAt.Format(time.TimeOnly))
	return k, e
}

func stateIn(raw []byte) (facts, error) {
	var doc struct {
		Data struct {
			Order json.RawMessage `json:"order"`
		} `json:"data"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return facts{}, err
	}
	return readFacts(doc.Data.Order)
}

// judge says what is wrong with an order's next event.
func (r *reader) judge(k modelKey, e *schema.Event, state facts) error {
	before, known := r.last[k]
	switch {
	case e.Data.Version != before.version+1:
		return fmt.Errorf("it follows version %d", before.version)
	case e.Data.PreviousID != before.id:
		return fmt.Errorf("previous_id is not the event before")
	case known == (e.Type == schema.OrderCreated):
		return fmt.Errorf("it follows version %d", before.version)
	case e.Data.ObservedAt.Before(before.at):
		return fmt.Errorf("observed at %s, version %d at %s", e.Data.ObservedAt.Format(time.TimeOnly), before.version, before.at.Format(time.TimeOnly))
	}
	if err := r.judgeState(k, e, state); err != nil {
		return err
	}
	return judgeStep(before, e, state)
}

// judgeState holds the event's order against the network of that time.
func (r *reader) judgeState(k modelKey, e *schema.Event, state facts) error {
	then := r.network.at(k, e.Data.ObservedAt)
	if then.listed == (e.Type == schema.OrderVanished) {
		return fmt.Errorf("at %s the network listed it: %v", e.Data.ObservedAt.Format(time.TimeOnly), then.listed)
	}
	want := then.order.facts()
	switch {
	case !then.listed || want.same(state) && slices.Equal(lineIDs(want.lines), lineIDs(state.lines)):
		return nil
	case r.linesLost(k, e.Data.ObservedAt) && maps.Equal(want.fields, state.fields) && reflect.DeepEqual(state.lines, r.last[k].state.lines):
		return nil
	}
	return fmt.Errorf("state %v, at %s the network had %v", state, e.Data.ObservedAt.Format(time.TimeOnly), want)
}

// linesLost reports whether the detail of an order that was listed then may have
// been refused since: the list's record says nothing about lines, so they stay.
func (r *reader) linesLost(k modelKey, then time.Time) bool {
	gone := false
	for _, m := range r.network.past(k) {
		gone = gone || !m.listed && m.from.After(then)
	}
	return r.network.bare && gone
}

// judgeStep holds type, changes and regression against the state before.
func judgeStep(before logged, e *schema.Event, state facts) error {
	if e.Type == schema.OrderCreated || e.Type == schema.OrderVanished {
		if len(e.Data.Changes) > 0 || e.Data.Regression || before.version > 0 && !before.state.same(state) {
			return fmt.Errorf("it changes the order: %v", e.Data.Changes)
		}
		return nil
	}
	want := between(before.state, state)
	var paths []string
	for _, c := range e.Data.Changes {
		paths = append(paths, c.Path)
	}
	slices.Sort(paths)
	undone, err := state.undone(e.Data.Changes)
	switch {
	case err != nil:
		return err
	case !slices.Equal(paths, want.paths):
		return fmt.Errorf("changes %v, want %v", paths, want.paths)
	case len(paths) == 0 && before.typ != schema.OrderVanished:
		return fmt.Errorf("nothing changed")
	case len(paths) > 0 && !undone.same(before.state):
		return fmt.Errorf("changes undone give %v, the state before was %v", undone, before.state)
	case e.Type != want.eventType() || e.Data.Regression != want.regression:
		return fmt.Errorf("regression %v, want %s with regression %v", e.Data.Regression, want.eventType(), want.regression)
	}
	return nil
}

// due returns the orders of which a poll of the whole network must say
// something: those that it lists otherwise than the log has them.
func (r *reader) due() map[modelKey]bool {
	due := make(map[modelKey]bool)
	for _, k := range r.network.keys(true) {
		last, known := r.last[k]
		now := r.network.at(k, r.network.clock()).order.facts()
		if !known || last.typ == schema.OrderVanished || !last.state.same(now) {
			due[k] = true
		}
	}
	return due
}

// lost returns the orders that the network does not list any more, though the
// log does not say so.
func (r *reader) lost() map[modelKey]bool {
	lost := make(map[modelKey]bool)
	for _, k := range r.network.keys(false) {
		if last, known := r.last[k]; known && last.typ != schema.OrderVanished {
			lost[k] = true
		}
	}
	return lost
}

func (r *reader) key(k modelKey) schema.OrderKey {
	return schema.OrderKey{Account: r.account, Program: k.program, OrderSn: k.sn}
}
