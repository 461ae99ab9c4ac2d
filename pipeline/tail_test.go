package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
)

// watchedLog is a memoryLog that knows its readings, and can break them.
type watchedLog struct {
	*memoryLog
	mu    sync.Mutex
	open  map[int]context.CancelFunc // readings under way
	begun []uint64                   // where each of all began
	fail  error                      // of the next
}

func newWatchedLog() *watchedLog {
	return &watchedLog{memoryLog: newMemoryLog(), open: make(map[int]context.CancelFunc)}
}

func (l *watchedLog) follow(ctx context.Context, after uint64) (<-chan *message.Message, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.fail; err != nil {
		l.fail = nil
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	id := len(l.begun)
	l.begun = append(l.begun, after)
	l.open[id] = cancel
	context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, id)
	})
	return l.memoryLog.follow(ctx, after)
}

// last is that of the log.
func (l *watchedLog) last(context.Context) (uint64, error) {
	l.memoryLog.mu.Lock()
	defer l.memoryLog.mu.Unlock()
	return uint64(len(l.msgs)), nil
}

// readings returns how many are under way.
func (l *watchedLog) readings() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open)
}

// cut ends all readings, as a connection that is closed does.
func (l *watchedLog) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, cancel := range l.open {
		cancel()
	}
}

func (l *watchedLog) tail(held int) *pipeline.Tail {
	return pipeline.NewTail(pipeline.TailConfig{Follow: l.follow, Last: l.last, Held: held})
}

// tailed collects what a reader gets, as long as it takes.
type tailed struct {
	mu   sync.Mutex
	got  []uint64
	errs []error
	over bool
	stop context.CancelFunc
	gate chan struct{} // it takes while this is closed
}

func tailing(t *testing.T, tail *pipeline.Tail, after uint64, gate chan struct{}) *tailed {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	in, err := tail.Follow(ctx, after)
	if err != nil {
		t.Fatal(err)
	}
	r := &tailed{stop: cancel, gate: gate}
	go func() {
		<-r.gate
		for some := range in {
			r.mu.Lock()
			for _, p := range some {
				if p.Entry != nil {
					r.got = append(r.got, p.Entry.Sequence)
				}
				if p.Err != nil {
					r.errs = append(r.errs, p.Err)
				}
			}
			r.mu.Unlock()
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.over = true
	}()
	return r
}

// check holds what came to every sequence from one to another, once, in order.
func (r *tailed) check(t *testing.T, from, until uint64) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var want []uint64
	for n := from; n <= until; n++ {
		want = append(want, n)
	}
	if !slices.Equal(r.got, want) {
		t.Errorf("got %d from %v on, want %d to %d", len(r.got), r.got[:min(3, len(r.got))], from, until)
	}
}

// ended reports whether nothing more comes, and the errors that came.
func (r *tailed) ended() (bool, []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.over, r.errs
}

func taking() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// caughtUp lets readers notice that they are at the log's end.
func caughtUp() {
	time.Sleep(time.Second) //nolint:forbidigo // fake time of synctest
	synctest.Wait()
}

func TestTailReadsOnceForAllWhoHaveCaughtUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newWatchedLog()
		log.add(t, events(300)...)
		tail := log.tail(0)
		stop := running(t, tail.Run)
		synctest.Wait()
		if n := log.readings(); n != 0 {
			t.Errorf("%d readings before anybody wants one", n)
		}
		var all []*tailed
		for n := range 5 {
			all = append(all, tailing(t, tail, uint64(n*100%300), taking()))
		}
		caughtUp()
		if n := log.readings(); n != 1 {
			t.Errorf("%d readings for five who have caught up", n)
		}
		log.add(t, events(100)...)
		synctest.Wait()
		for n, r := range all {
			r.check(t, uint64(n*100%300)+1, 400)
		}
		begun := len(log.begun)
		late := tailing(t, tail, 350, taking()) // held
		synctest.Wait()
		late.check(t, 351, 400)
		if len(log.begun) != begun {
			t.Errorf("one who comes to what is held read by itself: %v", log.begun)
		}
		for _, r := range append(all, late) {
			r.stop()
		}
		synctest.Wait()
		if n := log.readings(); n != 0 {
			t.Errorf("%d readings when all have left", n)
		}
		stop()
	})
}

func TestTailLeavesBehindWhoDoesNotTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newWatchedLog()
		tail := log.tail(10)
		defer running(t, tail.Run)()
		gate := make(chan struct{})
		slow, quick := tailing(t, tail, 0, gate), tailing(t, tail, 0, taking())
		caughtUp()
		for range 200 {
			log.add(t, events(5)...)
			synctest.Wait()
		}
		quick.check(t, 1, 1000)
		if n := log.readings(); n != 1 {
			t.Errorf("%d readings while one does not take", n)
		}
		close(gate)
		caughtUp()
		slow.check(t, 1, 1000)
		log.add(t, events(10)...)
		synctest.Wait()
		slow.check(t, 1, 1010)
		if n := log.readings(); n != 1 {
			t.Errorf("%d readings when it has caught up again", n)
		}
		slow.stop()
		quick.stop()
		synctest.Wait()
	})
}

func TestTailThatBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newWatchedLog()
		tail := log.tail(0)
		defer running(t, tail.Run)()
		one, other := tailing(t, tail, 0, taking()), tailing(t, tail, 0, taking())
		caughtUp()
		log.cut()
		synctest.Wait()
		log.add(t, events(20)...)
		caughtUp()
		log.mu.Lock()
		log.fail = errors.New("no server")
		log.mu.Unlock()
		log.cut()
		caughtUp()
		log.add(t, events(20)...)
		caughtUp()
		caughtUp()
		if n := log.readings(); n != 1 {
			t.Errorf("%d readings afterwards", n)
		}
		ended := 0
		for _, r := range []*tailed{one, other} {
			if over, errs := r.ended(); over {
				ended++
				if len(errs) != 1 || errs[0].Error() != "no server" {
					t.Errorf("ended with %v", errs)
				}
			} else {
				r.check(t, 1, 40)
			}
			r.stop()
		}
		if ended != 1 { // the first to read by itself
			t.Errorf("%d readers met the error", ended)
		}
		synctest.Wait()
	})
}

func TestTailHandsOverPoison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newWatchedLog()
		tail := log.tail(0)
		defer running(t, tail.Run)()
		r := tailing(t, tail, 0, taking())
		caughtUp()
		log.addRaw("poison", []byte("{"))
		log.add(t, pipelinetest.Event("main", 1, 1))
		synctest.Wait()
		r.check(t, 1, 2)
		if over, errs := r.ended(); over || len(errs) != 1 || !errors.Is(errs[0], pipeline.ErrPoison) {
			t.Errorf("over %v, %v", over, errs)
		}
		r.stop()
		synctest.Wait()
	})
}

// A message that does not come from the log ends the reading, with what is wrong.
func TestTailEndsAtAForeignMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		foreign := func(ctx context.Context, _ uint64) (<-chan *message.Message, error) {
			in := make(chan *message.Message, 1)
			in <- message.NewMessage("foreign", nil)
			context.AfterFunc(ctx, func() { close(in) })
			return in, nil
		}
		tail := pipeline.NewTail(pipeline.TailConfig{Follow: foreign, Last: newWatchedLog().last})
		defer running(t, tail.Run)()
		r := tailing(t, tail, 0, taking())
		caughtUp()
		if over, errs := r.ended(); !over || len(errs) != 1 || errors.Is(errs[0], pipeline.ErrPoison) {
			t.Errorf("over %v, %v", over, errs)
		}
	})
}

func TestTailBoundsWhatItHoldsInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newWatchedLog()
		tail := pipeline.NewTail(pipeline.TailConfig{Follow: log.follow, Last: log.last, HeldBytes: 10_000})
		defer running(t, tail.Run)()
		quick := tailing(t, tail, 0, taking())
		caughtUp()
		for range 100 {
			log.add(t, events(1)...) // of more than 500 bytes
			synctest.Wait()
		}
		begun := len(log.begun)
		near, far := tailing(t, tail, 99, taking()), tailing(t, tail, 50, taking())
		synctest.Wait()
		if got := log.begun[begun:]; !slices.Equal(got, []uint64{50}) {
			t.Errorf("readings behind %v", got)
		}
		caughtUp()
		near.check(t, 100, 100)
		far.check(t, 51, 100)
		for _, r := range []*tailed{quick, near, far} {
			r.stop()
		}
		synctest.Wait()
	})
}

// Whatever readers and the log do, each gets every event once and in order.
func TestTailAtRandom(t *testing.T) {
	seeds := uint64(100)
	if testing.Short() {
		seeds = 15
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			log := newWatchedLog()
			tail := log.tail(1 + random.IntN(20))
			stop := running(t, tail.Run)
			ctx, cancel := context.WithCancel(t.Context())
			var readers sync.WaitGroup
			got, starts := make([][]uint64, 6), make([]uint64, 6)
			last := uint64(0)
			for n := range got {
				pauses := rand.New(rand.NewPCG(seed, uint64(n)+2))
				starts[n] = uint64(random.IntN(int(last) + 1))
				in, err := tail.Follow(ctx, starts[n])
				if err != nil {
					t.Fatal(err)
				}
				readers.Go(func() {
					for some := range in {
						for _, p := range some {
							got[n] = append(got[n], p.Entry.Sequence)
						}
						if pauses.IntN(20) == 0 {
							time.Sleep(time.Duration(pauses.IntN(n*500+1)) * time.Millisecond) //nolint:forbidigo // fake time of synctest
						}
					}
				})
				for range 20 {
					few := random.IntN(10)
					log.add(t, events(few)...)
					last += uint64(few)
					time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond) //nolint:forbidigo // fake time of synctest
				}
			}
			time.Sleep(5 * time.Minute) //nolint:forbidigo // fake time of synctest
			synctest.Wait()
			if n := log.readings(); n != 1 {
				t.Errorf("seed %d: %d readings in the end", seed, n)
			}
			cancel()
			readers.Wait()
			stop()
			for n := range got {
				(&tailed{got: got[n]}).check(t, starts[n]+1, last)
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		})
	}
}

// Couriers that share a tail deliver as those who read alone, also one that hangs.
func TestCouriersShareATail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newWatchedLog()
		tail := log.tail(50)
		defer running(t, tail.Run)()
		var receivers []*receiver
		hung := make(chan struct{})
		for n := range 4 {
			r := &receiver{answer: func(schema.Entry, int) error {
				if n == 0 {
					<-hung
				}
				return nil
			}}
			receivers = append(receivers, r)
			defer running(t, pipeline.NewCourier(pipeline.CourierConfig{
				Name: fmt.Sprint("partner-", n), Deliverer: r, Tail: tail, Bury: log.bury, Cursors: log, Concurrency: 1, Window: 20,
			}).Run)()
		}
		var want []string
		for round := range 10 {
			for n := range 50 {
				e := pipelinetest.Event("main", n, uint64(round+1))
				log.add(t, e)
				want = append(want, fmt.Sprintf("%s/%d", e.Data.Order.OrderSn, e.Data.Version))
			}
			caughtUp()
		}
		slices.Sort(want)
		check := func(r *receiver) {
			t.Helper()
			got := r.all()
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%d delivered of %d", len(got), len(want))
			}
		}
		for _, r := range receivers[1:] {
			check(r)
		}
		if n := log.readings(); n != 1 {
			t.Errorf("%d readings beside one that hangs", n)
		}
		close(hung)
		caughtUp()
		check(receivers[0])
	})
}
