package postback

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
)

// Many pushes of one order while it is fetched make one further fetch, and
// orders are fetched in the order of their first push.
func TestCoalescing(t *testing.T) {
	h := newHints(10)
	a, b := Order{"1", "a"}, Order{"1", "b"}
	for _, o := range []Order{a, b, a, b, a} {
		if !h.add(o) {
			t.Fatalf("%+v is not taken", o)
		}
	}
	expect := func(want Order) {
		t.Helper()
		if o, ok := h.take(); !ok || o != want {
			t.Fatalf("%+v, want %+v", o, want)
		}
	}
	expect(a)
	for range 100 {
		h.add(a)
	}
	expect(b)
	if o, ok := h.take(); ok {
		t.Fatalf("%+v is fetched twice at once", o)
	}
	h.done(a)
	h.done(b)
	expect(a)
	h.done(a)
	if o, ok := h.take(); ok || len(h.state) > 0 {
		t.Fatalf("%+v is left, %d states", o, len(h.state))
	}
}

// The queue is bounded by the orders in it, those that are fetched included.
func TestBound(t *testing.T) {
	h := newHints(2)
	one, two, three := Order{"1", "1"}, Order{"1", "2"}, Order{"1", "3"}
	if !h.add(one) || !h.add(two) || h.add(three) || !h.add(one) {
		t.Fatal("want two orders, each as often as it comes")
	}
	o, _ := h.take()
	if h.add(three) {
		t.Error("one that is fetched counts")
	}
	h.done(o)
	if !h.add(three) {
		t.Error("there is room again")
	}
}

// Workers take what comes, no order twice at once, and none is forgotten.
func TestWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHints(1000)
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		under, fetched := map[Order]bool{}, map[Order]int{}
		var workers sync.WaitGroup
		for range 4 {
			workers.Go(func() {
				for {
					o, ok := h.next(ctx)
					if !ok {
						return
					}
					mu.Lock()
					if under[o] {
						t.Errorf("%+v twice at once", o)
					}
					under[o] = true
					fetched[o]++
					mu.Unlock()
					mu.Lock()
					under[o] = false
					mu.Unlock()
					h.done(o)
				}
			})
		}
		for round := range 20 {
			for i := range 50 {
				h.add(Order{"1", fmt.Sprint(i)})
			}
			if round%5 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		if len(h.state) > 0 || len(h.waiting) > 0 {
			t.Errorf("%d orders are left", len(h.state))
		}
		for i := range 50 {
			if n := fetched[Order{"1", fmt.Sprint(i)}]; n < 4 || n > 20 {
				t.Errorf("order %d was fetched %d times", i, n)
			}
		}
		cancel()
		workers.Wait()
	})
}
