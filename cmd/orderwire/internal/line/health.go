package line

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/sources/openapi"
)

// Trouble is a part of the line that is not as it should be. Anybody may read it: it
// holds no address and no message of somebody else.
type Trouble struct {
	Part   string `json:"part"`          // log, account or sink
	Name   string `json:"name,omitzero"` // of the account or the sink
	Reason string `json:"reason"`
}

const (
	// placeLimit bounds how long a place may take to answer.
	placeLimit = 2 * time.Second
	// stuckPolls pauses between polls, and at least stuckAfter, may pass without a
	// window closed before an account is stuck.
	stuckPolls = 10
	stuckAfter = 10 * time.Minute
	// deadAfter at least has to pass without a sign of life before a loop counts as
	// ended or hanging.
	deadAfter = 30 * time.Minute
)

// Ready returns why this process cannot do its work; nothing when it can:
//
//   - the log does not answer;
//   - the place of a sink is not open, though no other process does its work: the
//     archive's folder or bucket, the books' database;
//   - the place of a sink is open and does not answer, or does not take events;
//   - no window of an account was closed for ten pauses between its polls, and for
//     ten minutes at least.
//
// What another process does is that one's; a receiver of webhooks that is down is no
// reason.
func (l *Line) Ready(ctx context.Context) []Trouble {
	all := []Trouble{}
	if !l.answers(ctx, "log", func(ctx context.Context) error {
		_, err := l.orders.Last(ctx)
		return err
	}) {
		all = append(all, Trouble{"log", "", "does not answer"})
	}
	for _, p := range l.all() {
		reason := ""
		switch p.kind {
		case accountKind:
			reason = l.stuck(p)
		case sinkKind:
			reason = l.unfit(ctx, p)
		}
		if reason != "" {
			all = append(all, Trouble{p.kind, p.name, reason})
		}
	}
	return all
}

// Alive returns which loops of this process have ended or hang, so that only a new
// start helps; nothing when all go on. A log or a place that does not answer is no
// reason, because a new start does not mend it:
//
//   - the loop of an account has given no sign of life, be it a failure, for three
//     times as long as a poll may take that gets no answer, and for half an hour;
//   - a sink has neither moved nor failed for half an hour, though events wait.
func (l *Line) Alive(ctx context.Context) []Trouble {
	all := []Trouble{}
	for _, p := range l.all() {
		own := p.now.Load()
		if own == nil {
			continue
		}
		reason := ""
		switch p.kind {
		case accountKind:
			reason = l.silent(p)
		case sinkKind:
			reason = l.stalled(ctx, p.name, own.feed)
		}
		if reason != "" {
			all = append(all, Trouble{p.kind, p.name, reason})
		}
	}
	return all
}

// stuck says for how long no window of an account was closed, "" when that is not
// too long.
func (l *Line) stuck(p *part) string {
	if p.now.Load() == nil {
		return "" // another process polls it
	}
	every, _ := l.pace(p.name)
	limit := max(stuckPolls*every, stuckAfter)
	last := l.since(p, l.pollers[p.name].Stats().LastWindow)
	if quiet := l.now().Sub(last); quiet > limit {
		return fmt.Sprintf("nothing was read to its end for %s", quiet.Truncate(time.Minute))
	}
	return ""
}

// silent says for how long the loop of an account has given no sign of life.
func (l *Line) silent(p *part) string {
	every, longest := l.pace(p.name)
	limit := max(3*(every+longest), deadAfter)
	last := l.since(p, l.pollers[p.name].Stats().LastSign)
	if quiet := l.now().Sub(last); quiet > limit {
		return fmt.Sprintf("its loop has given no sign of life for %s", quiet.Truncate(time.Minute))
	}
	return ""
}

// pace returns the pause between an account's polls, and how long a request may take
// with all of its attempts.
func (l *Line) pace(account string) (every, longest time.Duration) {
	for i := range l.config.Accounts {
		if a := &l.config.Accounts[i]; a.Name == account {
			every, longest = time.Duration(a.Poll.Every), time.Duration(a.Poll.MaxAttempts)*cmp.Or(time.Duration(a.Poll.Timeout), openapi.DefaultTimeout)
		}
	}
	return cmp.Or(every, time.Minute), longest
}

// since is the latest of a time, the start of this process, and when it took over
// the work.
func (l *Line) since(p *part, at time.Time) time.Time {
	for _, other := range []time.Time{l.begun, l.Holders()[p.lease()].Since} {
		if other.After(at) {
			at = other
		}
	}
	return at
}

// unfit says what is wrong with the place of a sink, "" for nothing.
func (l *Line) unfit(ctx context.Context, p *part) string {
	own, has := p.now.Load(), l.Holders()[p.lease()]
	switch {
	case own == nil && l.leases != nil && (p.failure.Load() == nil || has.Holder != "" && !has.Here):
		return "" // on standby
	case own == nil:
		return "its place cannot be opened"
	case own.feed.Progress().Failure != "":
		return "takes no events"
	case !l.answers(ctx, p.name, l.reach(p.name)):
		return "its place does not answer"
	}
	return ""
}

// reach returns what asks the place of a sink.
func (l *Line) reach(sink string) func(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case sink == string(Archive) && l.archive != nil:
		return l.archive.Reachable
	case sink == string(Commission) && l.books != nil:
		books := l.books
		return func(ctx context.Context) error {
			_, err := books.Position(ctx)
			return err
		}
	}
	return func(context.Context) error { return nil } // it is just being closed
}

// answers reports whether a question is answered in time.
func (l *Line) answers(ctx context.Context, name string, ask func(ctx context.Context) error) bool {
	_, ok := l.ask(ctx, name, func(ctx context.Context) (time.Time, error) { return time.Time{}, ask(ctx) })
	return ok
}

// ask returns the answer to a question, false when there is none in time. A disk that
// hangs holds up one question of a name, not one for each who asks.
func (l *Line) ask(ctx context.Context, name string, question func(ctx context.Context) (time.Time, error)) (time.Time, bool) {
	ctx, cancel := context.WithTimeout(ctx, placeLimit)
	defer cancel()
	answer := l.asking.DoChan(name, func() (any, error) {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), placeLimit)
		defer cancel()
		return question(within)
	})
	select {
	case got := <-answer:
		at, _ := got.Val.(time.Time)
		return at, got.Err == nil
	case <-ctx.Done():
		return time.Time{}, false
	}
}

// stalled says for how long a sink has not moved.
func (l *Line) stalled(ctx context.Context, name string, feed follower) string {
	limit := deadAfter
	if name == string(Archive) {
		limit = max(limit, 3*time.Duration(l.config.Archive.RollEvery))
	}
	at := feed.Progress()
	waiting, _ := l.ask(ctx, "behind "+name, func(ctx context.Context) (time.Time, error) {
		_, stored, err := l.orders.StoredBehind(ctx, at.Position)
		return stored, err
	})
	if quiet := l.stalls.look(name, at, l.now(), waiting); quiet > limit {
		return fmt.Sprintf("events wait, and its loop has not moved for %s", quiet.Truncate(time.Minute))
	}
	return ""
}

// stalls remembers since when sinks have not moved, as far as somebody asked.
type stalls struct {
	mu sync.Mutex
	by map[string]stall
}

type stall struct {
	position, taken uint64
	since           time.Time
}

// look returns for how long a sink has not moved while an event has waited since a
// time and nothing failed; a zero time: none waits.
func (s *stalls) look(name string, at pipeline.Progress, now, waiting time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = make(map[string]stall)
	}
	was, known := s.by[name]
	if !known || was.position != at.Position || was.taken != at.Written || at.Failure != "" || waiting.IsZero() {
		s.by[name] = stall{at.Position, at.Written, now}
		return 0
	}
	return min(now.Sub(was.since), now.Sub(waiting))
}
