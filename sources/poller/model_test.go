package poller_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/orderwire/orderwire/sources/poller"
)

// TestLogEqualsModel lets two pollers of one account run into each other, die,
// come with old answers and find the stream trimmed, in random order, and holds
// the log against a model.
//
// The model knows what the network held when. Of every event it demands: the
// version is the next, previous_id names the event before, the observation is
// not older than the last, the state is what the network had at the time of
// observation (and an order that vanished was not listed then), and changes,
// type and regression are exactly the step from the state before. So the states
// of an order are a subsequence of its history, without equal neighbours.
//
// Of a poll that runs from its beginning to its end while nothing else moves, it
// demands besides that it succeeds and publishes exactly one event for each
// order that the log has otherwise than the network, and none for any other.
//
// Two things are taken for granted. Events stay in the stream for longer than a
// poll takes, and until the bucket has their states. And an answer is published
// within the overlap of the windows: an observation that gave no change leaves
// no trace in the log, so an older one of the other poller may come after it,
// and only the next poll, which must read the order again, puts that right.
func TestLogEqualsModel(t *testing.T) {
	t.Parallel()
	for name, habit := range map[string]habit{
		"by update":           func(*poller.Account, *modelNetwork) {},
		"by update, no lines": func(_ *poller.Account, n *modelNetwork) { n.bare = true },
		"by creation":         func(a *poller.Account, n *modelNetwork) { a.OrderField = poller.CreationTime },
		"by update, no total": func(_ *poller.Account, n *modelNetwork) { n.noTotal = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newModelServer(t)
			rapid.Check(t, func(rt *rapid.T) {
				m := actions{newMachine(rt, server, habit)}
				rt.Repeat(m.all())
				m.settle(rt)
			})
		})
	}
}

// actions are what can happen to a case, with what is left to chance drawn.
type actions struct{ *machine }

func (m actions) all() map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){
		"":               func(t *rapid.T) { m.hurry(t) },
		"an order moves": m.moves,
		"orders move":    func(t *rapid.T) { m.moves(t); m.moves(t) },
		"events age out": m.age,
		"time passes":    m.pause,
		"order is lost":  m.loses,
	}
	for _, p := range []*process{m.a, m.b} {
		all[p.name+" polls"] = func(t *rapid.T) { m.polls(t, p) }
		all[p.name+" is hinted"] = func(t *rapid.T) { m.hinted(t, p) }
		all[p.name+" goes on"] = func(t *rapid.T) { m.goesOn(t, p) }
		all[p.name+" is overtaken"] = func(t *rapid.T) { m.overtaken(t, p) }
		all[p.name+" fails"] = func(t *rapid.T) { m.fails(t, p) }
		all[p.name+" crashes"] = func(t *rapid.T) { m.crashes(t, p) }
		all[p.name+" loads its index"] = func(t *rapid.T) { m.loads(t, p) }
	}
	return all
}

func seconds(t *rapid.T) int { return rapid.IntRange(1, 10).Draw(t, "seconds") }

// moves has one order appear, change, or disappear.
func (m actions) moves(t *rapid.T) {
	k := rapid.SampledFrom(modelKeys).Draw(t, "order")
	h := m.network.held[k]
	if h == nil || !h.present().listed {
		m.appears(t, k, h)
		return
	}
	o, s := h.present().order, h.style
	switch rapid.SampledFrom([]string{"changes", "changes back", "is written otherwise", "disappears"}).Draw(t, "it") {
	case "changes":
		o = o.changed(t)
	case "changes back": // to the byte
		o = h.past[max(len(h.past)-2, 0)].order
	case "is written otherwise":
		s = drawStyle(t)
	case "disappears":
		m.network.drop(seconds(t), k)
		return
	}
	m.network.put(seconds(t), o, s)
}

func (m actions) appears(t *rapid.T, k modelKey, before *modelHeld) {
	if before != nil && rapid.Bool().Draw(t, "as it was") {
		m.network.put(seconds(t), before.present().order, before.style)
		return
	}
	m.network.put(seconds(t), drawOrder(t, k), style{})
}

// pause lets more time pass than windows overlap, while nobody polls.
func (m actions) pause(t *rapid.T) {
	if m.a.place != "" || m.b.place != "" {
		t.Skip("a poll is under way")
	}
	m.network.pass(rapid.IntRange(60, 600).Draw(t, "seconds"))
}

// loses has an order disappear between two polls, of which the second must
// notice it where that can be noticed.
func (m actions) loses(t *rapid.T) {
	listed := m.network.keys(true)
	if len(listed) == 0 || m.a.place != "" || m.b.place != "" {
		t.Skip("no such order, or a poll is under way")
	}
	m.network.pass(1)
	m.poll(t, m.a)
	m.network.drop(seconds(t), rapid.SampledFrom(listed).Draw(t, "order"))
	m.poll(t, m.b)
}

// polls has a process poll undisturbed, or end the poll under way.
func (m actions) polls(t *rapid.T, p *process) {
	m.network.pass(seconds(t))
	if p.place != "" {
		m.run(t, p, toEnd)
		return
	}
	m.poll(t, p)
}

// hinted has a process fetch an order that may just have moved.
func (m actions) hinted(t *rapid.T, p *process) {
	if rapid.Bool().Draw(t, "something moves") {
		m.moves(t)
	}
	m.hint(t, p, rapid.SampledFrom(modelKeys).Draw(t, "hint"))
}

// drawPlace prefers the places at which a process has seen something and not
// yet said it.
var drawPlace = rapid.SampledFrom([]string{
	beforeList, afterList, afterList, beforeDetail, beforePublish, beforePublish, beforePublish, beforeCoverage, beforeCursor,
})

func (m actions) goesOn(t *rapid.T, p *process) {
	m.network.pass(seconds(t))
	m.run(t, p, drawPlace.Draw(t, "to"))
}

// overtaken has a process come to a place, things move, the other process see
// them, and the first one go on.
func (m actions) overtaken(t *rapid.T, p *process) {
	other := m.a
	if p == m.a {
		other = m.b
	}
	m.moves(t)
	m.goesOn(t, p)
	m.moves(t)
	m.polls(t, other)
	m.maybeForget(t, 16)
	m.goesOn(t, p)
}

// maybeForget has the server forget the ids of messages once in n times: to wait
// for that takes longer than all else.
func (m actions) maybeForget(t *rapid.T, n int) {
	if len(m.reader.last) > 0 && rapid.IntRange(1, n).Draw(t, "ids forgotten if last") == n {
		m.server.forget(t, m.reader)
	}
}

func (m actions) fails(t *rapid.T, p *process) {
	if p.place == "" {
		m.goesOn(t, p)
	}
	if p.place == "" {
		return // the poll never came to the place
	}
	m.network.pass(seconds(t))
	m.fail(t, p, m.fault(t, p))
}

func (m actions) crashes(t *rapid.T, p *process) {
	m.network.pass(seconds(t))
	m.crash(t, p, m.fault(t, p))
}

func (m actions) fault(t *rapid.T, p *process) verdict {
	if p.place == beforePublish && rapid.Bool().Draw(t, "stored all the same") {
		return unheard
	}
	return cut
}

func (m actions) loads(t *rapid.T, p *process) {
	if p.place != "" {
		t.Skip("a poll is under way")
	}
	p.load(t)
}

func (m actions) age(t *rapid.T) {
	old := m.old()
	if old == 0 {
		t.Skip("no event is old enough")
	}
	m.trim(t, rapid.IntRange(1, old).Draw(t, "events"))
	m.maybeForget(t, 3)
}
