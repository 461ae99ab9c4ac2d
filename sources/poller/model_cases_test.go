package poller_test

import (
	"testing"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/poller"
)

// TestModelCases holds what TestLogEqualsModel once found, as plain sequences.
// The machine judges every event and every undisturbed poll.
func TestModelCases(t *testing.T) {
	t.Parallel()
	byCreation := func(a *poller.Account, _ *modelNetwork) { a.OrderField = poller.CreationTime }
	byUpdate := func(*poller.Account, *modelNetwork) {}
	k := modelKey{"7", "A1"}
	first := modelOrder{modelKey: k, status: "0", cents: 1250, lines: []modelLine{{"1", "2", 100}}}
	second := first
	second.status = "1"
	slipped := func(t *testing.T, m *machine) {
		for _, other := range modelKeys[2:4] {
			m.network.put(1, modelOrder{modelKey: other}, style{})
		}
		m.network.pass(600)
		m.run(t, m.a, beforeList)
		m.run(t, m.a, beforeList)
		m.network.put(1, second, style{}) // leaves the window, so that the last order comes to page 1
		m.run(t, m.a, toEnd)
		m.network.pass(600)
		m.poll(t, m.a)
	}
	slippedTwice := func(t *testing.T, m *machine) {
		for _, other := range modelKeys[1:] {
			m.network.put(1, modelOrder{modelKey: other}, style{})
		}
		m.network.pass(600)
		for range 3 {
			m.run(t, m.a, beforeList)
		}
		m.network.put(1, second, style{}) // the fifth order slips from page 3 to page 2
		for range 2 {
			m.run(t, m.a, beforeList)
		}
		for _, other := range modelKeys[1:3] { // and to page 1 of the second reading
			m.network.put(1, modelOrder{modelKey: other, status: "1"}, style{})
		}
		m.run(t, m.a, toEnd)
		m.network.pass(600)
		m.poll(t, m.a)
	}
	server := newModelServer(t)
	for _, tt := range []struct {
		name  string
		habit habit
		play  func(t *testing.T, m *machine)
		want  []schema.EventType
	}{
		{"changed before the other, and back", byUpdate, func(t *testing.T, m *machine) {
			m.poll(t, m.a)
			m.network.put(1, second, style{})
			m.poll(t, m.b)
			m.network.put(1, first, style{})
			m.poll(t, m.a)
		}, []schema.EventType{schema.OrderCreated, schema.StatusChanged, schema.StatusChanged}},
		{"first seen by the other, and aged out", byUpdate, func(t *testing.T, m *machine) {
			m.poll(t, m.b)
			m.trim(t, m.old())
			m.server.forget(t, m.reader)
			m.poll(t, m.a)
			m.network.put(1, second, style{})
			m.poll(t, m.a)
		}, []schema.EventType{schema.OrderCreated, schema.StatusChanged}},
		{"vanished before the other, and back", byCreation, func(t *testing.T, m *machine) {
			m.poll(t, m.a)
			m.network.drop(1, k)
			m.poll(t, m.b)
			m.network.put(1, first, style{})
			m.poll(t, m.a)
		}, []schema.EventType{schema.OrderCreated, schema.OrderVanished, schema.OrderUpdated}},
		{"back before its end was told", byCreation, func(t *testing.T, m *machine) {
			m.poll(t, m.a)
			m.network.drop(1, k)
			m.run(t, m.a, beforePublish)
			m.network.put(1, second, style{})
			m.poll(t, m.b)
			m.network.pass(1)
			m.run(t, m.a, toEnd)
		}, []schema.EventType{schema.OrderCreated, schema.StatusChanged}},
		{"aged out under a poll", byUpdate, func(t *testing.T, m *machine) {
			m.poll(t, m.a)
			m.network.put(1, second, style{})
			m.run(t, m.b, beforePublish)
			m.trim(t, m.old())
			m.run(t, m.b, toEnd)
		}, []schema.EventType{schema.OrderCreated, schema.StatusChanged}},
		{"overtaken, and the ids forgotten", byUpdate, func(t *testing.T, m *machine) {
			m.run(t, m.a, beforePublish)
			m.poll(t, m.b)
			m.server.forget(t, m.reader)
			m.run(t, m.a, toEnd)
		}, []schema.EventType{schema.OrderCreated}},
		{"slipped from page to page", byUpdate, slipped, []schema.EventType{schema.OrderCreated, schema.StatusChanged}},
		{"slipped, and no total", func(_ *poller.Account, n *modelNetwork) { n.noTotal = true }, slipped, []schema.EventType{schema.OrderCreated, schema.StatusChanged}},
		{"slipped in both readings", func(_ *poller.Account, n *modelNetwork) { n.noTotal = true }, slippedTwice, []schema.EventType{schema.OrderCreated, schema.StatusChanged}},
		{"listed, and its detail refused", func(_ *poller.Account, n *modelNetwork) { n.bare = true }, func(t *testing.T, m *machine) {
			m.poll(t, m.a)
			m.network.put(1, second, style{})
			m.run(t, m.a, afterList)
			m.network.drop(1, k)
			m.run(t, m.a, toEnd)
		}, []schema.EventType{schema.OrderCreated, schema.StatusChanged}},
		{"never left, and tried again", byUpdate, func(t *testing.T, m *machine) {
			m.run(t, m.a, beforePublish)
			m.fail(t, m.a, cut)
			m.poll(t, m.a)
		}, []schema.EventType{schema.OrderCreated}},
		{"stored, unheard, crashed", byUpdate, func(t *testing.T, m *machine) {
			m.run(t, m.a, beforePublish)
			m.crash(t, m.a, unheard)
			m.network.put(1, second, style{})
			m.poll(t, m.a)
		}, []schema.EventType{schema.OrderCreated, schema.StatusChanged}},
		{"overtaken by a newer answer", byUpdate, func(t *testing.T, m *machine) {
			m.run(t, m.a, afterList)
			m.network.put(1, second, style{})
			m.poll(t, m.b)
			m.run(t, m.a, toEnd)
		}, []schema.EventType{schema.OrderCreated}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t, server, tt.habit)
			m.network.put(1, first, style{})
			tt.play(t, m)
			if last := m.reader.last[k]; last.version != uint64(len(tt.want)) || last.typ != tt.want[len(tt.want)-1] {
				t.Errorf("the log ends with version %d, %s; want %v", last.version, last.typ, tt.want)
			}
			m.settle(t)
		})
	}
}
