package line

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/sinks/archive"
	"github.com/orderwire/orderwire/sinks/commission"
	"github.com/orderwire/orderwire/sources/poller"
)

// Status is a picture of the line at a moment.
type Status struct {
	At       time.Time `json:"at"`
	Last     uint64    `json:"last_sequence"` // newest event in the log
	Orders   int       `json:"orders"`        // known to the pollers of this process
	Accounts []Account `json:"accounts"`
	Sinks    []Sink    `json:"sinks"`
}

// Work says which process does a piece of work. With an embedded log it is
// always this one, and nothing is said.
type Work struct {
	// Holder is the process that has the lease, "" for none at the moment.
	Holder string    `json:"holder,omitzero"`
	Since  time.Time `json:"since,omitzero"`
	// Standby is true when this process waits for its turn.
	Standby bool `json:"standby,omitzero"`
}

// Account tells how an account's polling goes, as far as this process does it.
type Account struct {
	Name string `json:"name"`
	Work
	Polls     int64     `json:"polls"` // complete ones since the start
	Created   int64     `json:"created"`
	Changed   int64     `json:"changed"`
	Unchanged int64     `json:"unchanged"`
	Pushed    int64     `json:"pushed,omitzero"` // orders fetched because the network pushed them
	Bad       int64     `json:"bad"`
	Failures  int64     `json:"failures,omitzero"` // polls that failed since the start
	LastPoll  time.Time `json:"last_poll,omitzero"`
	Failure   string    `json:"failure,omitzero"`
	// DeadLetters counts the account's records that were given up, ever.
	DeadLetters uint64   `json:"dead_letters"`
	Coverage    Coverage `json:"coverage"`
}

// Coverage is what of an account's time was read, by whichever process.
type Coverage struct {
	OrderField string    `json:"order_field"`    // the time that is meant
	From       time.Time `json:"from"`           // where the backfill begins at present
	Until      time.Time `json:"until,omitzero"` // end of what was read; absent when nothing was
	Gaps       []Gap     `json:"gaps"`           // not read between From and Until, the oldest first
	// Unread is how much between From and now was not read, in seconds: the gaps, and
	// the time since Until.
	Unread float64 `json:"unread_seconds"`
}

// Gap is a span of time.
type Gap struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
}

// Sink tells how far a sink or an endpoint is; nothing of that when this process
// is on standby or could not open the sink's place.
type Sink struct {
	Kind string `json:"kind"` // sink or endpoint
	Name string `json:"name"`
	Work
	Closed   bool   `json:"closed,omitzero"` // its place could not be opened yet, Failure says why
	Position uint64 `json:"position"`        // last sequence that is settled
	Lag      uint64 `json:"lag"`             // events in the log behind it
	// Oldest is when the first event behind Position came into the log; zero when
	// there is none, and for an endpoint, which has Delivery.Oldest.
	Oldest time.Time `json:"oldest_unsettled,omitzero"`
	// Taken counts the events that this process has handed over since its start,
	// repeated ones included.
	Taken uint64 `json:"taken"`
	// DeadLetters counts the events that were given up, ever.
	DeadLetters uint64 `json:"dead_letters"`
	Failure     string `json:"failure,omitzero"`
	// Delivery is nil for a sink.
	Delivery *Delivery `json:"delivery,omitzero"`
}

// Idle reports that this process can say nothing of it: another does the work, or
// its place is not open.
func (s *Sink) Idle() bool { return s.Standby || s.Closed }

// Status asks the log for its end and everything else for its progress.
func (l *Line) Status(ctx context.Context) (Status, error) {
	last, err := l.orders.Last(ctx)
	if err != nil {
		return Status{}, err
	}
	s := Status{At: l.now().UTC(), Last: last, Orders: l.orders.Orders(), Accounts: []Account{}, Sinks: []Sink{}}
	holders := l.Holders()
	for _, p := range l.all() {
		w := l.work(p, holders)
		if p.kind == accountKind {
			a, err := l.account(ctx, p, w)
			if err != nil {
				return Status{}, err
			}
			s.Accounts = append(s.Accounts, a)
			continue
		}
		sink, err := l.sink(ctx, p, w, last)
		if err != nil {
			return Status{}, err
		}
		s.Sinks = append(s.Sinks, sink)
	}
	return s, nil
}

// Log returns the log, which belongs to the line.
func (l *Line) Log() *jetstream.Log { return l.orders }

// Holders returns who has which lease; nothing with an embedded log.
func (l *Line) Holders() map[string]jetstream.Holder {
	if l.leases == nil {
		return nil
	}
	return l.leases.Holders()
}

func (l *Line) work(p *part, holders map[string]jetstream.Holder) Work {
	h := holders[p.lease()]
	return Work{Holder: h.Holder, Since: h.Since, Standby: l.leases != nil && p.now.Load() == nil && !p.unusable.Load()}
}

func (l *Line) account(ctx context.Context, p *part, w Work) (Account, error) {
	own := l.pollers[p.name]
	st := own.Stats()
	a := Account{
		Name: st.Account, Work: w, Polls: st.Polls, Created: st.Created, Changed: st.Changed, Unchanged: st.Unchanged,
		Pushed: st.Hints, Bad: st.Bad, Failures: st.Failures, LastPoll: st.LastPoll, Failure: st.Failure,
	}
	var err error
	if a.DeadLetters, err = l.orders.CountDead(ctx, poller.LetterSink(p.name)); err != nil {
		return a, err
	}
	c, err := own.Covered(ctx)
	if err != nil {
		return a, err
	}
	a.Coverage = Coverage{OrderField: c.OrderField, From: c.From, Until: c.Until, Gaps: []Gap{}, Unread: c.Unread(l.now()).Seconds()}
	for _, g := range c.Gaps {
		a.Coverage.Gaps = append(a.Coverage.Gaps, Gap{g.From, g.To})
	}
	return a, nil
}

func (l *Line) sink(ctx context.Context, p *part, w Work, last uint64) (Sink, error) {
	s := Sink{Kind: p.kind, Name: p.name, Work: w}
	var err error
	if s.DeadLetters, err = l.orders.CountDead(ctx, p.name); err != nil {
		return s, err
	}
	own := p.now.Load()
	if own == nil {
		s.Closed = !w.Standby
		if failure := p.failure.Load(); failure != nil {
			s.Failure = *failure
		}
		return s, nil
	}
	at := own.feed.Progress()
	s.Position, s.Failure, s.Taken = at.Position, at.Failure, at.Written
	switch {
	case p.kind == endpointKind:
		if err := l.delivery(ctx, &s, at, last); err != nil {
			return s, err
		}
	case s.Position < last:
		if _, s.Oldest, err = l.orders.StoredBehind(ctx, s.Position); err != nil {
			return s, err
		}
	}
	s.Lag = last - min(s.Position, last)
	l.tableFailure(&s)
	return s, nil
}

// tableFailure says why the table of Iceberg is behind, unless the archive itself
// has a failure.
func (l *Line) tableFailure(s *Sink) {
	if s.Kind != sinkKind || s.Name != string(Archive) || s.Standby || s.Failure != "" {
		return
	}
	s.Failure = l.Archived().Behind
}

// Archived returns the archive's figures; zero when this process runs none.
func (l *Line) Archived() archive.Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.archive == nil {
		return archive.Stats{}
	}
	return l.archive.Stats()
}

// Totals returns the commission sums by status and currency; nil when this
// process keeps no books.
func (l *Line) Totals(ctx context.Context) ([]commission.Total, error) {
	l.mu.Lock()
	books := l.books
	l.mu.Unlock()
	if books == nil {
		return nil, nil
	}
	return books.Totals(ctx)
}

// Delivered returns the number of deliveries that receivers took.
func (l *Line) Delivered() (delivered, failed int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delivered, failed = int64(l.past.Delivered), int64(l.past.Failed)
	for _, e := range l.endpoints {
		s := e.Stats()
		delivered += int64(s.Delivered)
		failed += int64(s.Failed)
	}
	return delivered, failed
}

// LogAddress returns the address of the log, without its password.
func (l *Line) LogAddress() string {
	if l.embedded == nil {
		return l.orders.Server()
	}
	return l.embedded.Address()
}

// Follow reads the events that come from now on.
func (l *Line) Follow(ctx context.Context) (<-chan *message.Message, error) {
	last, err := l.orders.Last(ctx)
	if err != nil {
		return nil, err
	}
	return l.orders.Follow(ctx, last)
}
