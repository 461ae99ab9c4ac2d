package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/commission"
	"github.com/orderwire/orderwire/sources/openapi"
	"github.com/orderwire/orderwire/sources/poller"
)

// Account is an account that the network can be asked about.
type Account struct {
	Poll    poller.Account // with all its fields
	Network poller.Network
}

const (
	// mostAsked is how many orders that the network does not list are asked for one
	// by one.
	mostAsked = 1000
	// mostTries is how often the network is asked again about an order that changes
	// meanwhile.
	mostTries = 3
)

// asking compares with the network's answers.
type asking struct {
	*job
	side     *Side
	accounts map[string]*asked // by the name as the books store it
	left     int               // orders that may still be asked for
	unasked  int64             // orders that were not
}

// asked is what was asked about an account.
type asked struct {
	Account
	from, to string              // days of orders that were listed
	all      bool                // every order may have changed since it was read
	changed  map[uint64]struct{} // hashes of the keys of those that have
	until    time.Time           // when that was asked for last
}

// againstNetwork compares with what the network answers now.
func (j *job) againstNetwork(ctx context.Context, s *Side) error {
	a := &asking{job: j, side: s, accounts: map[string]*asked{}, left: mostAsked}
	listed := &sorter{dir: j.dir}
	for _, account := range j.Accounts {
		if j.Account != "" && account.Poll.Name != j.Account {
			continue
		}
		account.Poll = account.Poll.Complete()
		k, err := a.list(ctx, account, listed)
		if err != nil {
			return fmt.Errorf("account %s: %w", account.Poll.Name, err)
		}
		a.accounts[j.Books.AuditedKey(schema.OrderKey{Account: account.Poll.Name}).Account] = k
	}
	for _, name := range slices.Sorted(maps.Keys(j.known)) {
		if a.accounts[name] == nil {
			s.Notes = append(s.Notes, fmt.Sprintf("account %q is not in the configuration: its %d orders cannot be compared", name, j.known[name]))
		}
	}
	err := j.walk(listed.sorted(), s, a.wanted, func(p *pair) (verdict, error) { return a.judge(ctx, p) })
	if a.unasked > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%d orders that the network does not list were not asked for one by one, after the first %d", a.unasked, mostAsked))
	}
	return err
}

// wanted reports whether the order is in the days that were listed; one of an
// account that could not be asked about counts as not comparable.
func (a *asking) wanted(p *pair) bool {
	k := a.accounts[p.either().Key.Account]
	if k == nil {
		return a.job.wanted(p)
	}
	listed := func(r *record) bool { return r != nil && r.Day != "" && r.Day >= k.from && r.Day <= k.to }
	return listed(p.books) || listed(p.there)
}

// list asks for the orders of an account: those of the days, and which have changed
// since it was read.
func (a *asking) list(ctx context.Context, account Account, into *sorter) (*asked, error) {
	poll := &account.Poll
	zone := poll.Location
	begin, end, err := a.days(poll)
	if err != nil {
		return nil, err
	}
	k := &asked{Account: account, from: begin.Format(time.DateOnly), to: end.Add(-time.Second).In(zone).Format(time.DateOnly), changed: map[uint64]struct{}{}}
	if k.from != a.From || k.to != a.To {
		a.side.From, a.side.To = k.from, k.to
	}
	// How far it was read, before anything is asked: what changes from here on is
	// found among the changes.
	read, err := poller.ReadTo(ctx, a.Log, poll.Name)
	if err != nil {
		return nil, err
	}
	l := &lister{job: a.job, side: a.side, account: &k.Account, into: into}
	if err := l.read(ctx, poller.CreationTime, begin, end); err != nil {
		return nil, err
	}
	if k.all = read.IsZero(); k.all {
		return k, nil
	}
	return k, a.listChanged(ctx, k, read.Add(-poll.Overlap))
}

// listChanged notes which orders have changed since a time.
func (a *asking) listChanged(ctx context.Context, k *asked, since time.Time) error {
	k.until = a.Now()
	l := &lister{job: a.job, side: a.side, account: &k.Account, changed: k.changed}
	return l.read(ctx, poller.UpdateTime, since, k.until)
}

// hasChanged reports whether the network says that an order has changed since the
// account was read, or nobody can know. An answer may be later than what the network
// was asked for before.
func (a *asking) hasChanged(ctx context.Context, k *asked, key schema.OrderKey, answer *record) (bool, error) {
	if k.all {
		return true, nil
	}
	_, changed := k.changed[hashOf(key.Program, key.OrderSn)]
	if changed || answer == nil || answer.ObservedAt <= commission.Stamp(k.until) {
		return changed, nil
	}
	err := a.listChanged(ctx, k, k.until.Add(-k.Poll.Overlap))
	_, changed = k.changed[hashOf(key.Program, key.OrderSn)]
	return changed, err
}

// days returns the times between which the orders were placed. Without a range,
// they are those that the account's first poll reads.
func (a *asking) days(poll *poller.Account) (begin, end time.Time, err error) {
	now := a.Now().In(poll.Location)
	if begin, err = time.ParseInLocation(time.DateOnly, a.From, poll.Location); a.From == "" {
		first := now.Add(-poll.Backfill)
		begin, err = time.Date(first.Year(), first.Month(), first.Day(), 0, 0, 0, 0, poll.Location), nil
	}
	if err != nil {
		return begin, end, err
	}
	if end, err = time.ParseInLocation(time.DateOnly, a.To, poll.Location); a.To == "" {
		end, err = now, nil
	}
	end = time.Date(end.Year(), end.Month(), end.Day()+1, 0, 0, 0, 0, poll.Location)
	return begin, end, err
}

// judge compares an order with the network's answer, and looks for what explains a
// difference. Where it has to ask once more, the answer takes the place of the one
// before.
func (a *asking) judge(ctx context.Context, p *pair) (verdict, error) {
	key := p.either().Key
	k := a.accounts[key.Account]
	if k == nil {
		return verdict{incomparable: true}, nil
	}
	key.Account = k.Poll.Name
	v := verdict{kinds: differences(p.books, p.there)}
	if p.there == nil && p.books.Vanished { // and so both say
		return verdict{}, nil
	}
	if p.there == nil {
		if a.left--; a.left < 0 {
			a.unasked++
			v.note = "the network does not list it; it was not asked for by itself"
			return v, nil
		}
	}
	for try := 0; v.kinds != nil; try++ {
		if p.there == nil {
			var err error
			if p.there, err = k.order(ctx, a.job, key); err != nil {
				return v, err
			}
			if v.kinds = differences(p.books, p.there); v.kinds == nil {
				break
			}
		}
		again, err := a.explain(ctx, k, key, p, &v)
		if err != nil || !again {
			return v, err
		}
		if try == mostTries {
			v.explained = Changing
			break
		}
		p.there = nil
	}
	return v, nil
}

// order asks the network for an order; nil when it does not know it.
func (k *asked) order(ctx context.Context, j *job, key schema.OrderKey) (*record, error) {
	answer, err := k.Network.Order(ctx, key.Program, key.OrderSn)
	var refused *openapi.RefusedError
	if errors.Is(err, openapi.ErrNotFound) || errors.As(err, &refused) && !refused.Temporary() {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("order %s: %w", key, err)
	}
	order, err := schema.ParseOrder(answer.Raw)
	if err != nil {
		return nil, fmt.Errorf("order %s: the network's answer is no readable order: %w", key, err)
	}
	e := schema.Entry{Event: schema.NewEvent(schema.OrderUpdated, schema.Data{Account: k.Poll.Name, ObservedAt: answer.AnsweredAt, Order: order})}
	r, err := j.audited(&e)
	return &r, err
}

// explain looks for an event of the log, or a change at the network, that makes the
// network show the order otherwise. It returns true when the network has to be
// asked again.
func (a *asking) explain(ctx context.Context, k *asked, key schema.OrderKey, p *pair, v *verdict) (again bool, err error) {
	state, err := a.Log.Load(ctx, key)
	if err != nil {
		return false, err
	}
	var logged *record
	if state.Event != nil {
		r, err := a.audited(&schema.Entry{Sequence: state.Sequence, Event: *state.Event})
		if err != nil {
			return false, err
		}
		logged = &r
	}
	behind := logged != nil && logged.Sequence > a.Position
	switch {
	case logged == nil && p.books != nil, logged != nil && !behind && !sameValues(p.books, logged):
		v.note = "the log has not what the books have"
		return false, nil
	case sameValues(logged, p.there):
		if behind {
			v.explained, v.note = NotBooked, fmt.Sprintf("version %d, sequence %d", logged.Version, logged.Sequence)
		}
		return false, nil
	case p.there != nil && logged != nil && logged.ObservedAt >= p.there.ObservedAt:
		return true, nil
	}
	changed, err := a.hasChanged(ctx, k, key, p.there)
	if changed {
		v.explained = NotPolled
	}
	return false, err
}

// sameValues compares what two sides count an order as; two that have none agree,
// and one that has vanished is as good as none.
func sameValues(a, b *record) bool {
	if a == nil || b == nil {
		return (a == nil || a.Vanished) && (b == nil || b.Vanished)
	}
	return a.Status == b.Status && a.Currency == b.Currency && a.OrderAmount == b.OrderAmount && a.Commission == b.Commission &&
		a.Day == b.Day && a.Vanished == b.Vanished
}

// hashOf stands for an order of an account.
func hashOf(program, orderSn string) uint64 {
	key := schema.OrderKey{Program: program, OrderSn: orderSn}
	return xxh3.Hash(key.AppendTo(nil))
}
