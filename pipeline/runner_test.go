package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/go-json-experiment/json"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
)

// memoryLog is a log of messages in memory.
type memoryLog struct {
	mu     sync.Mutex
	msgs   []*message.Message
	more   chan struct{} // closed and replaced when messages come
	dead   []pipeline.DeadLetter
	cursor map[string][]byte
}

func newMemoryLog() *memoryLog {
	return &memoryLog{more: make(chan struct{}), cursor: make(map[string][]byte)}
}

func (l *memoryLog) add(tb testing.TB, events ...schema.Event) {
	tb.Helper()
	for _, e := range events {
		raw, err := json.Marshal(e)
		if err != nil {
			tb.Fatal(err)
		}
		l.addRaw(e.ID, raw)
	}
}

func (l *memoryLog) addRaw(id string, raw []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := message.NewMessage(id, raw)
	m.Metadata.Set(pipeline.MetaSequence, strconv.Itoa(len(l.msgs)+1))
	m.Metadata.Set(pipeline.MetaStored, "1790000000000000000")
	l.msgs = append(l.msgs, m)
	close(l.more)
	l.more = make(chan struct{})
}

func (l *memoryLog) follow(ctx context.Context, after uint64) (<-chan *message.Message, error) {
	out := make(chan *message.Message)
	go func() {
		defer close(out)
		for at := int(after); ; {
			l.mu.Lock()
			more, rest := l.more, slices.Clone(l.msgs[at:])
			l.mu.Unlock()
			for _, m := range rest {
				if m == nil { // it has aged out
					at++
					continue
				}
				select {
				case out <- m.Copy():
					at++
				case <-ctx.Done():
					return
				}
			}
			select {
			case <-more:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

func (l *memoryLog) bury(_ context.Context, d pipeline.DeadLetter) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = append(l.dead, d)
	return nil
}

func (l *memoryLog) LoadCursor(_ context.Context, name string, v any) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, ok := l.cursor[name]
	if !ok {
		return false, nil
	}
	return true, json.Unmarshal(b, v)
}

func (l *memoryLog) SaveCursor(_ context.Context, name string, v any) error {
	b, err := json.Marshal(v)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cursor[name] = b
	return err
}

// memorySink holds entries until Flush, and fails when told to.
type memorySink struct {
	mu      sync.Mutex
	held    []uint64
	durable []uint64
	fail    func(call string) error
	flushes int
}

func (s *memorySink) failing(call string) error {
	if s.fail == nil {
		return nil
	}
	return s.fail(call)
}

func (s *memorySink) Position(context.Context) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = nil
	if len(s.durable) == 0 {
		return 0, s.failing("position")
	}
	return s.durable[len(s.durable)-1], s.failing("position")
}

func (s *memorySink) Write(_ context.Context, batch []schema.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range batch {
		s.held = append(s.held, e.Sequence)
	}
	return s.failing("write")
}

func (s *memorySink) Flush(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failing("flush"); err != nil {
		return err
	}
	s.durable = append(s.durable, s.held...)
	s.held = nil
	s.flushes++
	return nil
}

// state returns the number of flushes and what is durable.
func (s *memorySink) state() (int, []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flushes, slices.Clone(s.durable)
}

func upTo(n int) []uint64 {
	all := make([]uint64, n)
	for i := range all {
		all[i] = uint64(i + 1)
	}
	return all
}

func events(n int) []schema.Event {
	var all []schema.Event
	for i := range n {
		all = append(all, pipelinetest.Event("main", i, 1))
	}
	return all
}

// running starts Run and returns a function that stops it and waits.
func running(tb testing.TB, run func(context.Context) error) (stop func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			tb.Errorf("Run: %v", err)
		}
	}
}

func TestRunnerTakesEverythingOnceWhateverFails(t *testing.T) {
	for _, failing := range []string{"nothing", "position", "write", "flush"} {
		t.Run(failing, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, calls := newMemoryLog(), 0
				sink := &memorySink{fail: func(call string) error {
					if call == failing {
						if calls++; calls <= 4 {
							return errors.New("disk full")
						}
					}
					return nil
				}}
				r := pipeline.NewRunner(pipeline.RunnerConfig{Name: "t", Sink: sink, Follow: log.follow, Bury: log.bury, MaxBatch: 7})
				stop := running(t, r.Run)
				log.add(t, events(20)...)
				time.Sleep(5 * time.Minute) //nolint:forbidigo // fake time of synctest
				log.add(t, pipelinetest.Event("main", 1, 2))
				if err := r.Drain(t.Context(), 21); err != nil {
					t.Fatal(err)
				}
				stop()
				if !slices.Equal(sink.durable, upTo(21)) {
					t.Errorf("durable: %v", sink.durable)
				}
				if p := r.Progress(); p.Position != 21 || p.Failure != "" {
					t.Errorf("%+v", p)
				}
			})
		})
	}
}

func TestRunnerFlushesAtItsIntervalAndAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, sink := newMemoryLog(), &memorySink{}
		r := pipeline.NewRunner(pipeline.RunnerConfig{Name: "t", Sink: sink, Follow: log.follow, Bury: log.bury, FlushEvery: time.Minute})
		stop := running(t, r.Run)
		log.add(t, events(3)...)
		time.Sleep(59 * time.Second) //nolint:forbidigo // fake time of synctest
		synctest.Wait()
		if n, _ := sink.state(); n != 0 {
			t.Error("flushed too early")
		}
		time.Sleep(2 * time.Second) //nolint:forbidigo // fake time of synctest
		synctest.Wait()
		if n, durable := sink.state(); n != 1 || len(durable) != 3 {
			t.Errorf("%d flushes, %v", n, durable)
		}
		log.add(t, pipelinetest.Event("main", 0, 2))
		synctest.Wait()
		stop()
		if !slices.Equal(sink.durable, upTo(4)) {
			t.Errorf("after the end: %v", sink.durable)
		}
	})
}

func TestRunnerBuriesPoison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, sink := newMemoryLog(), &memorySink{}
		log.add(t, events(1)...)
		log.addRaw("x", []byte(`{"specversion":"1.0"}`))
		log.add(t, pipelinetest.Event("main", 2, 1))
		r := pipeline.NewRunner(pipeline.RunnerConfig{Name: "t", Sink: sink, Follow: log.follow, Bury: log.bury})
		stop := running(t, r.Run)
		if err := r.Drain(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		stop()
		if !slices.Equal(sink.durable, []uint64{1, 3}) || len(log.dead) != 1 || log.dead[0].Sequence != 2 || log.dead[0].Sink != "t" {
			t.Errorf("durable %v, dead %+v", sink.durable, log.dead)
		}
	})
}

// indigestible is a sink's error about one entry.
type indigestible uint64

func (indigestible) Error() string            { return "amount out of range" }
func (e indigestible) PoisonSequence() uint64 { return uint64(e) }

// pickySink never takes one sequence.
type pickySink struct {
	memorySink
	never uint64
}

func (s *pickySink) Write(ctx context.Context, batch []schema.Entry) error {
	for _, e := range batch {
		if e.Sequence == s.never {
			return indigestible(e.Sequence)
		}
	}
	return s.memorySink.Write(ctx, batch)
}

func TestRunnerSetsAsideWhatASinkCanNeverTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, sink := newMemoryLog(), &pickySink{never: 4}
		log.add(t, events(9)...)
		r := pipeline.NewRunner(pipeline.RunnerConfig{Name: "t", Sink: sink, Follow: log.follow, Bury: log.bury, MaxBatch: 3})
		stop := running(t, r.Run)
		if err := r.Drain(t.Context(), 9); err != nil {
			t.Fatal(err)
		}
		stop()
		if !slices.Equal(sink.durable, []uint64{1, 2, 3, 5, 6, 7, 8, 9}) || len(log.dead) != 1 || log.dead[0].Sequence != 4 {
			t.Errorf("durable %v, dead %+v", sink.durable, log.dead)
		}
	})
}

// receiver notes what is delivered, in the order of arrival.
type receiver struct {
	mu     sync.Mutex
	got    []string
	answer func(e schema.Entry, attempt int) error
	tries  map[uint64]int
}

func (r *receiver) Deliver(_ context.Context, e *schema.Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tries == nil {
		r.tries = make(map[uint64]int)
	}
	r.tries[e.Sequence]++
	if r.answer != nil {
		if err := r.answer(*e, r.tries[e.Sequence]); err != nil {
			return err
		}
	}
	r.got = append(r.got, name(*e))
	return nil
}

func (r *receiver) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

func name(e schema.Entry) string {
	return fmt.Sprintf("%s/%d", e.Event.Data.Order.OrderSn, e.Event.Data.Version)
}

type refusal struct{ permanent bool }

func (refusal) Error() string     { return "503" }
func (r refusal) Permanent() bool { return r.permanent }

func courier(log *memoryLog, d pipeline.Deliverer) *pipeline.Courier {
	return pipeline.NewCourier(pipeline.CourierConfig{
		Name: "partner", Deliverer: d, Follow: log.follow, Bury: log.bury, Cursors: log, Concurrency: 4, Window: 100,
	})
}

func TestCourierHoldsAnOrderAndLetsOthersPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newMemoryLog()
		r := &receiver{answer: func(e schema.Entry, attempt int) error {
			if name(e) == "SN-000001/1" && attempt < 3 {
				return refusal{}
			}
			return nil
		}}
		log.add(t, pipelinetest.Event("main", 1, 1), pipelinetest.Event("main", 1, 2), pipelinetest.Event("main", 2, 1), pipelinetest.Event("main", 2, 2))
		c := courier(log, r)
		stop := running(t, c.Run)
		synctest.Wait()
		if got := r.all(); !slices.Equal(got, []string{"SN-000002/1", "SN-000002/2"}) {
			t.Errorf("at first: %v", got)
		}
		time.Sleep(10 * time.Minute) //nolint:forbidigo // fake time of synctest
		synctest.Wait()
		if got := r.all(); !slices.Equal(got, []string{"SN-000002/1", "SN-000002/2", "SN-000001/1", "SN-000001/2"}) {
			t.Errorf("later: %v", got)
		}
		stop()
		if p := c.Progress(); p.Position != 4 {
			t.Errorf("%+v", p)
		}
	})
}

func TestCourierResumesBehindWhatWasSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newMemoryLog()
		down := true
		r := &receiver{answer: func(e schema.Entry, _ int) error {
			if down && e.Sequence%2 == 1 {
				return refusal{}
			}
			return nil
		}}
		log.add(t, events(10)...)
		first := courier(log, r)
		stop := running(t, first.Run)
		if err := first.Drain(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		stop()
		down = false
		stop = running(t, courier(log, r).Run)
		synctest.Wait()
		stop()
		got := r.all()
		slices.Sort(got)
		if len(got) != 10 || len(slices.Compact(got)) != 10 {
			t.Errorf("delivered %v", got)
		}
	})
}

func TestCourierGivesUp(t *testing.T) {
	for name, permanent := range map[string]bool{"after the last attempt": false, "at once when it is permanent": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := newMemoryLog()
				r := &receiver{answer: func(e schema.Entry, _ int) error {
					if e.Sequence == 1 {
						return refusal{permanent}
					}
					return nil
				}}
				log.add(t, pipelinetest.Event("main", 1, 1), pipelinetest.Event("main", 1, 2))
				stop := running(t, courier(log, r).Run)
				time.Sleep(5 * 24 * time.Hour) //nolint:forbidigo // fake time of synctest
				synctest.Wait()
				stop()
				want := 1 + len(pipeline.DefaultSchedule)
				if permanent {
					want = 1
				}
				if len(log.dead) != 1 || log.dead[0].Attempts != want || r.tries[1] != want {
					t.Errorf("dead %+v after %d tries", log.dead, r.tries[1])
				}
				if got := r.all(); !slices.Equal(got, []string{"SN-000001/2"}) {
					t.Errorf("then %v", got)
				}
			})
		})
	}
}
