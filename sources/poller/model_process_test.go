package poller_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"pgregory.net/rapid"

	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/sources/poller"
)

// hung is how long the test waits for something that takes milliseconds.
const hung = 30 * time.Second

// process is one poller with a connection and an index of its own. At most one
// goroutine works for it, and that only while the test waits for it.
type process struct {
	name    string
	url     string
	account poller.Account
	network *modelNetwork
	courier message.Publisher // of another connection: stores batches whose acknowledgement is lost

	log    *jetstream.Log
	gate   *gate
	poller *poller.Poller
	hinted *poller.Poller // fetches single orders, beside the poll and held nowhere

	// Of the poll under way.
	cancel context.CancelFunc
	ended  chan error
	place  string // where it is held, "" when no poll is under way
	begun  time.Time
	since  uint64              // last sequence of the log when it began
	before map[modelKey]logged // last events when it began
	told   *answers
}

// boot starts the process with nothing in memory but what the log tells it.
func (p *process) boot(t rapid.TB) {
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	var err error
	if p.log, err = jetstream.Open(ctx, jetstream.Config{URL: p.url, ReadOnly: true}); err != nil {
		t.Fatalf("%s starts: %v", p.name, err)
	}
	p.load(t)
	p.gate, p.told = newGate(), &answers{}
	p.poller = poller.New(poller.Config{
		Account: p.account, Network: gatedNetwork{p.network, p.gate, p.told}, Log: gatedLog{p.log, p.gate},
		Publisher: &gatedPublisher{p.log.Publisher(), p.gate, p.courier}, Now: p.network.clock,
	})
	p.hinted = poller.New(poller.Config{
		Account: p.account, Network: openNetwork{p.network}, Log: p.log, Publisher: p.log.Publisher(), Now: p.network.clock,
	})
}

func (p *process) load(t rapid.TB) {
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	if err := p.log.LoadIndex(ctx); err != nil {
		t.Fatalf("%s loads its index: %v", p.name, err)
	}
}

// begin starts a poll, up to the first place where it can be held.
func (p *process) begin(t rapid.TB, r *reader) error {
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel, p.ended = cancel, make(chan error, 1)
	p.begun, p.since, p.before = p.network.clock(), r.read, maps.Clone(r.last)
	p.told.orders = make(map[modelKey]answer)
	go func() { p.ended <- p.poller.Poll(ctx) }()
	_, err := p.next(t)
	return err
}

// say tells the held process how to go on, and waits for the next place. It
// reports whether the poll has ended, and how.
func (p *process) say(t rapid.TB, v verdict) (bool, error) {
	p.gate.answer(v)
	return p.next(t)
}

func (p *process) next(t rapid.TB) (bool, error) {
	limit := time.NewTimer(hung)
	defer limit.Stop()
	select {
	case p.place = <-p.gate.reached:
		<-p.gate.quiet() // what else was let through is done: nothing happens while it is held
		return false, nil
	case err := <-p.ended:
		p.cancel()
		p.place = ""
		return true, p.anonymous(err)
	case <-limit.C:
		t.Fatalf("%s hangs behind: %s", p.name, p.place)
		return true, nil
	}
}

// finish lets the poll under way run to its end.
func (p *process) finish(t rapid.TB) error {
	for p.place != "" {
		if ended, err := p.say(t, goOn); ended {
			return err
		}
	}
	return nil
}

// advance lets the poll under way run to the next of the places; it reports
// false when the poll ended first.
func (p *process) advance(t rapid.TB, place string) (bool, error) {
	for p.place != place {
		if ended, err := p.say(t, goOn); ended {
			return false, err
		}
	}
	return true, nil
}

// die ends the process in the middle of whatever it does.
func (p *process) die(t rapid.TB, v verdict) {
	for p.place != "" {
		if v == cut {
			p.cancel()
		}
		_, _ = p.say(t, v) // a dead process has no result
		v = cut
	}
	_ = p.log.Close()
}

// anonymous takes the case's number out of an error, so that a case fails with
// the same words whenever it is played.
func (p *process) anonymous(err error) error {
	if err == nil {
		return nil
	}
	return plainError(strings.ReplaceAll(err.Error(), p.account.Name, "main"))
}

type plainError string

func (e plainError) Error() string { return string(e) }

// gatedLog is the log as a process sees it, held before it closes a window.
type gatedLog struct {
	*jetstream.Log
	gate *gate
}

func (l gatedLog) SaveCoverage(ctx context.Context, name string, v any) error {
	defer l.gate.done()
	if l.gate.wait(beforeCoverage) != goOn {
		return errCut
	}
	return l.Log.SaveCoverage(ctx, name, v)
}

func (l gatedLog) SaveCursor(ctx context.Context, name string, v any) error {
	defer l.gate.done()
	if l.gate.wait(beforeCursor) != goOn {
		return errCut
	}
	return l.Log.SaveCursor(ctx, name, v)
}

// gatedPublisher is the publisher of a process, held before a batch leaves.
type gatedPublisher struct {
	message.Publisher
	gate    *gate
	courier message.Publisher
}

func (p *gatedPublisher) Publish(topic string, msgs ...*message.Message) error {
	if len(msgs) == 0 {
		return p.Publisher.Publish(topic)
	}
	defer p.gate.done()
	switch p.gate.wait(beforePublish) {
	case cut:
		return p.inVain(topic, msgs)
	case unheard:
		_ = p.courier.Publish(topic, msgs...) // whatever the answer was, it is lost
		return errCut
	default:
		return p.Publisher.Publish(topic, msgs...)
	}
}

// inVain publishes without time to do so. More than one message would begin a
// batch that the server keeps open for a while, and it keeps few.
func (p *gatedPublisher) inVain(topic string, msgs []*message.Message) error {
	if len(msgs) > 1 {
		return errCut
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	msgs[0].SetContext(ctx)
	return errors.Join(errCut, p.Publisher.Publish(topic, msgs...))
}
