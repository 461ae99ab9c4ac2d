package line

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/sinks/archive"
	"github.com/orderwire/orderwire/sinks/commission"
)

// Status is a picture of the line at a moment.
type Status struct {
	At       time.Time `json:"at"`
	Last     uint64    `json:"last_sequence"` // newest event in the log
	Orders   int       `json:"orders"`        // known to the pollers of this process
	Accounts []Account `json:"accounts"`
	Sinks    []Sink    `json:"sinks"`
}

// Account tells how an account's polling goes.
type Account struct {
	Name      string    `json:"name"`
	Polls     int64     `json:"polls"` // complete ones since the start
	Created   int64     `json:"created"`
	Changed   int64     `json:"changed"`
	Unchanged int64     `json:"unchanged"`
	Bad       int64     `json:"bad"`
	LastPoll  time.Time `json:"last_poll,omitzero"`
	Failure   string    `json:"failure,omitzero"`
}

// Sink tells how far a sink is.
type Sink struct {
	Name     string `json:"name"`
	Position uint64 `json:"position"` // last sequence that is settled
	Lag      uint64 `json:"lag"`      // events in the log behind it
	Failure  string `json:"failure,omitzero"`
}

// Status asks the log for its end and everything else for its progress.
func (l *Line) Status(ctx context.Context) (Status, error) {
	last, err := l.orders.Last(ctx)
	if err != nil {
		return Status{}, err
	}
	s := Status{At: time.Now().UTC(), Last: last, Orders: l.orders.Orders(), Accounts: []Account{}, Sinks: []Sink{}}
	for _, p := range l.pollers {
		st := p.Stats()
		s.Accounts = append(s.Accounts, Account{
			Name: st.Account, Polls: st.Polls, Created: st.Created, Changed: st.Changed, Unchanged: st.Unchanged,
			Bad: st.Bad, LastPoll: st.LastPoll, Failure: st.Failure,
		})
	}
	for _, r := range l.runners {
		p := r.Progress()
		s.Sinks = append(s.Sinks, Sink{Name: p.Name, Position: p.Position, Lag: last - min(p.Position, last), Failure: p.Failure})
	}
	return s, nil
}

// Archived returns the archive's figures; zero when this process runs none.
func (l *Line) Archived() archive.Stats {
	if l.archive == nil {
		return archive.Stats{}
	}
	return l.archive.Stats()
}

// Totals returns the commission sums by status and currency; nil when this
// process keeps no books.
func (l *Line) Totals(ctx context.Context) ([]commission.Total, error) {
	if l.books == nil {
		return nil, nil
	}
	return l.books.Totals(ctx)
}

// Delivered returns the number of deliveries that receivers took.
func (l *Line) Delivered() (delivered, failed int64) {
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
