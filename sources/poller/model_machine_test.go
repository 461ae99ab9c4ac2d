package poller_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"pgregory.net/rapid"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/openapi"
	"github.com/orderwire/orderwire/sources/poller"
)

// machine is one case: a network, a log, and two processes.
type machine struct {
	server  *modelServer
	network *modelNetwork
	reader  *reader
	a, b    *process
	// covered are the orders that the closed windows held, as far as that is
	// certain; one of them that is not listed any more must be said to have vanished.
	covered map[modelKey]bool
}

// habit makes a case's network and account peculiar.
type habit func(*poller.Account, *modelNetwork)

func newMachine(t interface {
	rapid.TB
	Cleanup(func())
}, server *modelServer, change habit,
) *machine {
	server.cases++
	server.clear(t)
	network := &modelNetwork{now: now, held: make(map[modelKey]*modelHeld)}
	account := poller.Account{
		Name: fmt.Sprintf("case%d", server.cases), OrderField: poller.UpdateTime,
		Backfill: 6 * time.Hour, MaxSpan: 6 * time.Hour, Overlap: 2 * time.Minute, PageSize: 2,
	}
	change(&account, network)
	network.byField = account.OrderField
	m := &machine{server: server, network: network, covered: make(map[modelKey]bool)}
	m.reader = &reader{log: server.log, in: server.in, account: account.Name, network: network, last: make(map[modelKey]logged)}
	m.a, m.b = m.process("A", account), m.process("B", account)
	for _, p := range []*process{m.a, m.b} {
		p.boot(t)
		t.Cleanup(func() { p.die(t, cut) })
	}
	return m
}

func (m *machine) process(name string, account poller.Account) *process {
	return &process{name: name, url: m.server.url, account: account, network: m.network, courier: m.server.log.Publisher()}
}

// poll has a process poll at one stretch, and knows all that must come of it.
func (m *machine) poll(t rapid.TB, p *process) {
	due, lost := m.reader.due(), m.reader.lost()
	err := p.begin(t, m.reader)
	if err == nil {
		err = p.finish(t)
	}
	if err != nil {
		t.Fatalf("%s polls undisturbed: %v", p.name, err)
	}
	m.judgePoll(t, due, lost, m.reader.news(t))
	m.judgeAnswers(t, p)
	m.judgeIndex(t, p)
	m.covered = make(map[modelKey]bool)
	for _, k := range m.network.keys(true) {
		m.covered[k] = true
	}
}

// judgePoll holds the events of an undisturbed poll against what was due. An
// order that the network lost must be said to have vanished when its window was
// certainly closed with it, may be when that is uncertain.
func (m *machine) judgePoll(t rapid.TB, due, lost map[modelKey]bool, events map[modelKey]schema.Event) {
	if m.network.byField != poller.CreationTime {
		clear(lost)
	}
	for _, k := range modelKeys {
		e, got := events[k]
		switch vanished := e.Type == schema.OrderVanished; {
		case due[k] && !got:
			t.Fatalf("order %s: the network has it otherwise than the log, and the poll publishes nothing", k)
		case lost[k] && m.covered[k] && !vanished:
			t.Fatalf("order %s: its window does not hold it any more, and the poll does not say so", k)
		case got && !due[k] && (!vanished || !lost[k]):
			t.Fatalf("order %s: the poll publishes %s without a reason", k, e.Type)
		}
	}
}

// judgeIndex demands that the log gives each order's last state, and that what
// the process remembers of an order is not ahead of the log.
func (m *machine) judgeIndex(t rapid.TB, p *process) {
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	for k, last := range m.reader.last {
		state, err := m.server.log.Load(ctx, m.reader.key(k))
		if err != nil || state.Event == nil || state.Event.ID != last.id {
			t.Fatalf("order %s: the log does not give version %d: %v", k, last.version, err)
		}
		if known, _ := p.log.Known(m.reader.key(k)); known.Version > last.version {
			t.Fatalf("order %s: %s remembers version %d of %d", k, p.name, known.Version, last.version)
		}
	}
}

// hint has a process fetch one order, wherever its poll is held. The log then
// has that order as the network does, and nothing is said of any other.
func (m *machine) hint(t rapid.TB, p *process, k modelKey) {
	m.network.pass(1)
	due := m.reader.due()
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	err := p.hinted.Fetch(ctx, k.program, k.sn)
	listed := m.network.at(k, m.network.clock()).listed
	if listed && err != nil || !listed && !errors.Is(err, openapi.ErrNotFound) {
		t.Fatalf("order %s, listed %v: a hint to %s gives %v", k, listed, p.name, err)
	}
	events := m.reader.news(t)
	for _, other := range modelKeys {
		if e, got := events[other]; got != (other == k && due[k]) {
			t.Fatalf("order %s: after a hint of %s to %s: event %v %s", other, k, p.name, got, e.Type)
		}
	}
}

// run has a process begin a poll, or go on with the one under way, to a place;
// it may end before. Windows are then closed with orders that are not foreseen.
func (m *machine) run(t rapid.TB, p *process, place string) {
	clear(m.covered)
	var err error
	if p.place == "" {
		err = p.begin(t, m.reader)
	} else {
		_, err = p.say(t, goOn)
	}
	if err == nil && p.place != "" {
		_, err = p.advance(t, place)
	}
	if err != nil {
		t.Fatalf("%s polls: %v", p.name, err)
	}
	m.reader.news(t)
	if p.place == "" {
		m.judgeAnswers(t, p)
	}
}

// judgeAnswers holds a poll that succeeded against its promise: what the network
// told it is in the log, unless somebody was told something newer. What was no
// change when the poll began it may pass over, though an older answer of the
// other process makes it one meanwhile; the next poll must see that.
func (m *machine) judgeAnswers(t rapid.TB, p *process) {
	for _, k := range modelKeys {
		told, ok := p.told.orders[k]
		last, before := m.reader.last[k], p.before[k]
		switch {
		case !ok || last.at.After(told.at):
		case last.typ != schema.OrderVanished && last.state.same(told.state):
		case last.sequence > p.since && before.typ != schema.OrderVanished && before.state.same(told.state):
		default:
			t.Fatalf("order %s: %s was told %v at %s, and the log does not say so", k, p.name, told.state, told.at.Format(time.TimeOnly))
		}
	}
}

// longest is how long a poll may take, by the network's clock, before it has to
// end; the overlap of the windows is longer, by more than an action takes.
const longest = time.Minute

// hurry ends polls that take long.
func (m *machine) hurry(t rapid.TB) {
	for _, p := range []*process{m.a, m.b} {
		if p.place != "" && m.network.clock().Sub(p.begun) > longest {
			m.run(t, p, toEnd)
		}
	}
}

// toEnd is no place; a process that runs there ends its poll.
const toEnd = "the end of the poll"

// fail has what a process is about to do fail, or only its answer get lost; the
// process lives on.
func (m *machine) fail(t rapid.TB, p *process, v verdict) {
	ended, err := p.say(t, v)
	for !ended { // calls side by side
		ended, err = p.say(t, cut)
	}
	if err == nil {
		t.Fatalf("%s polls, a call fails, and the poll does not", p.name)
	}
	m.reader.news(t)
}

// crash ends a process wherever it is and starts it anew. What it was sending
// may be stored a moment later, so its index is held between what the log held
// before the start and after it.
func (m *machine) crash(t rapid.TB, p *process, v verdict) {
	p.die(t, v)
	m.reader.news(t)
	before := maps.Clone(m.reader.last)
	p.boot(t)
	m.reader.news(t)
	for k, last := range m.reader.last {
		known, _ := p.log.Known(m.reader.key(k))
		if known.Version < before[k].version || known.Version > last.version {
			t.Fatalf("order %s: after its start %s knows version %d of %d", k, p.name, known.Version, last.version)
		}
	}
}

// trim has the oldest n events age out of the stream.
func (m *machine) trim(t rapid.TB, n int) {
	m.server.awaitBucket(t, m.reader)
	m.server.trim(t, m.reader.kept[n-1])
	m.reader.kept = m.reader.kept[n:]
}

// old returns how many events may age out: those older than any poll under way.
func (m *machine) old() int {
	limit := m.reader.read
	for _, p := range []*process{m.a, m.b} {
		if p.place != "" {
			limit = min(limit, p.since)
		}
	}
	n := 0
	for n < len(m.reader.kept) && m.reader.kept[n] <= limit {
		n++
	}
	return n
}

// settle ends what is under way and has both poll undisturbed.
func (m *machine) settle(t rapid.TB) {
	for _, p := range []*process{m.a, m.b} {
		if p.place != "" {
			m.run(t, p, toEnd)
		}
	}
	m.network.pass(1)
	m.poll(t, m.a)
	m.poll(t, m.b)
	m.server.awaitBucket(t, m.reader)
}
