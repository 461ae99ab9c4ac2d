package poller_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/orderwire/orderwire/sources/openapi"
	"github.com/orderwire/orderwire/sources/poller"
)

// modelNetwork is the network of the model. It remembers what it held when. Its
// clock stands still but for tick, so that each answer has the time of the
// step of the test in which it was made.
type modelNetwork struct {
	mu      sync.Mutex
	now     time.Time
	held    map[modelKey]*modelHeld
	byField string // the order field that windows filter
	bare    bool   // list records lack their lines
	noTotal bool
}

// modelHeld is one order in the network, with its past.
type modelHeld struct {
	created, updated time.Time
	style            style
	past             []modelMoment
}

// modelMoment is what the network held of an order from a time on.
type modelMoment struct {
	from   time.Time
	listed bool
	order  modelOrder
}

func (h *modelHeld) present() modelMoment { return h.past[len(h.past)-1] }

// put makes the network list an order from now on, after some seconds.
func (n *modelNetwork) put(seconds int, o modelOrder, s style) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tick(seconds)
	h := n.held[o.modelKey]
	if h == nil {
		h = &modelHeld{created: n.now}
		n.held[o.modelKey] = h
	}
	h.updated, h.style = n.now, s
	h.past = append(h.past, modelMoment{from: n.now, listed: true, order: o})
}

// drop makes the network forget an order.
func (n *modelNetwork) drop(seconds int, k modelKey) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tick(seconds)
	h := n.held[k]
	h.past = append(h.past, modelMoment{from: n.now, order: h.present().order})
}

func (n *modelNetwork) tick(seconds int) { n.now = n.now.Add(time.Duration(seconds) * time.Second) }

func (n *modelNetwork) pass(seconds int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tick(seconds)
}

func (n *modelNetwork) clock() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.now
}

// past returns all that the network held of an order, oldest first.
func (n *modelNetwork) past(k modelKey) []modelMoment {
	n.mu.Lock()
	defer n.mu.Unlock()
	if h := n.held[k]; h != nil {
		return h.past
	}
	return nil
}

// at returns what the network held of an order at a time.
func (n *modelNetwork) at(k modelKey, t time.Time) modelMoment {
	var then modelMoment
	for _, m := range n.past(k) {
		if !m.from.After(t) {
			then = m
		}
	}
	return then
}

// keys returns the orders that are listed or not, in the order of modelKeys.
func (n *modelNetwork) keys(listed bool) []modelKey {
	var found []modelKey
	for _, k := range modelKeys {
		if n.at(k, n.clock()).listed == listed {
			found = append(found, k)
		}
	}
	return found
}

func (n *modelNetwork) list(q openapi.OrdersQuery) openapi.OrdersPage {
	n.mu.Lock()
	defer n.mu.Unlock()
	in := n.window(q)
	p := openapi.OrdersPage{Total: len(in), AnsweredAt: n.now}
	if n.noTotal {
		p.Total = -1
	}
	var all strings.Builder
	from := min((q.Page-1)*q.PageSize, len(in))
	for _, h := range in[from:min(from+q.PageSize, len(in))] {
		p.Records = append(p.Records, h.present().order.write(h.style, n.bare))
		all.Write(p.Records[len(p.Records)-1])
	}
	p.Digest = xxh3.HashString(all.String())
	return p
}

// window returns the listed orders of a window, oldest first.
func (n *modelNetwork) window(q openapi.OrdersQuery) []*modelHeld {
	var in []*modelHeld
	for _, k := range modelKeys {
		h := n.held[k]
		if h == nil || !h.present().listed || n.field(h).Before(q.From) || n.field(h).After(q.To) {
			continue
		}
		in = append(in, h)
	}
	slices.SortStableFunc(in, func(a, b *modelHeld) int { return n.field(a).Compare(n.field(b)) })
	return in
}

func (n *modelNetwork) field(h *modelHeld) time.Time {
	if n.byField == poller.CreationTime {
		return h.created
	}
	return h.updated
}

func (n *modelNetwork) detail(program, sn string) (openapi.OrderAnswer, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := n.held[modelKey{program, sn}]
	if h == nil || !h.present().listed {
		return openapi.OrderAnswer{}, openapi.ErrNotFound
	}
	return openapi.OrderAnswer{Raw: h.present().order.write(h.style, false), AnsweredAt: n.now}, nil
}

// Places at which a process can be held.
const (
	beforeList     = "before a page is read"
	afterList      = "with a page on its way"
	beforeDetail   = "before a detail is read"
	beforePublish  = "before a batch leaves"
	beforeCoverage = "before a window is closed"
	beforeCursor   = "before the cursor moves"
)

var errCut = errors.New("cut off by the test")

// gate stops a process at the places above until the test says how to go on.
type gate struct {
	reached chan string
	verdict chan verdict

	mu   sync.Mutex
	busy int           // calls that were let through and are not done
	idle chan struct{} // closed when there is none
}

type verdict int

const (
	goOn    verdict = iota
	cut             // the call fails; nothing has left
	unheard         // the batch is stored, its acknowledgement is lost
)

func newGate() *gate {
	g := &gate{reached: make(chan string), verdict: make(chan verdict), idle: make(chan struct{})}
	close(g.idle)
	return g
}

// answer lets the call that was reached go on; it is under way until done.
func (g *gate) answer(v verdict) {
	g.mu.Lock()
	if g.busy++; g.busy == 1 {
		g.idle = make(chan struct{})
	}
	g.mu.Unlock()
	g.verdict <- v
}

func (g *gate) done() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.busy--; g.busy == 0 {
		close(g.idle)
	}
}

// quiet returns what is closed when no call is under way.
func (g *gate) quiet() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.idle
}

// wait holds a call, which says done when it is.
func (g *gate) wait(place string) verdict {
	g.reached <- place
	return <-g.verdict
}

// pass holds a call that has nothing more to do with the log.
func (g *gate) pass(place string) error {
	defer g.done()
	if g.wait(place) == goOn {
		return nil
	}
	return errCut
}

// answers are the newest states of orders that the network has told a poll.
type answers struct {
	mu     sync.Mutex
	orders map[modelKey]answer
}

type answer struct {
	at    time.Time
	state facts
}

func (a *answers) add(raw []byte, at time.Time) error {
	state, err := readFacts(raw)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.orders[modelKey{state.fields["ProgramId"], state.fields["OrderSn"]}] = answer{at, state}
	return nil
}

// openNetwork is the network as it is.
type openNetwork struct{ *modelNetwork }

func (n openNetwork) Orders(_ context.Context, q openapi.OrdersQuery) (openapi.OrdersPage, error) {
	return n.list(q), nil
}

func (n openNetwork) Order(_ context.Context, program, sn string) (openapi.OrderAnswer, error) {
	return n.detail(program, sn)
}

// gatedNetwork is the network as one process sees it.
type gatedNetwork struct {
	*modelNetwork
	gate *gate
	told *answers
}

func (n gatedNetwork) Orders(_ context.Context, q openapi.OrdersQuery) (openapi.OrdersPage, error) {
	if err := n.gate.pass(beforeList); err != nil {
		return openapi.OrdersPage{}, err
	}
	page := n.list(q)
	if err := n.gate.pass(afterList); err != nil {
		return openapi.OrdersPage{}, err
	}
	for _, raw := range page.Records {
		if n.bare {
			break // the details will tell
		}
		if err := n.told.add(raw, page.AnsweredAt); err != nil {
			return openapi.OrdersPage{}, err
		}
	}
	return page, nil
}

// Order is not held where details are fetched side by side: which comes first
// would be chance.
func (n gatedNetwork) Order(_ context.Context, program, sn string) (openapi.OrderAnswer, error) {
	if !n.bare {
		if err := n.gate.pass(beforeDetail); err != nil {
			return openapi.OrderAnswer{}, err
		}
	}
	answer, err := n.detail(program, sn)
	if err == nil {
		err = n.told.add(answer.Raw, answer.AnsweredAt)
	}
	return answer, err
}
