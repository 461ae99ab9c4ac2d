package pipeline

import "time"

const (
	firstProbe = 5 * time.Second // pause before the first probe
	mostProbe  = 5 * time.Minute // the longest pause between two

	// fewOrders that fail are enough after longFailing without a success, for an
	// endpoint that has little to do: its events would go to the dead letters
	// otherwise while it is down.
	fewOrders   = 5
	longFailing = 5 * time.Minute
)

// breaker pauses an endpoint that fails throughout. One order that always fails,
// however often, is no reason: it counts once.
type breaker struct {
	after   int                  // orders; less than 0: never
	failing map[laneKey]struct{} // since the last success
	since   time.Time            // when the first of them failed
	open    bool
	probing bool      // a probe is under way
	probes  int       // made since it opened
	at      time.Time // of the next probe
}

// allow reports whether an attempt may begin, and whether it is a probe. When
// none may, it returns the time at which one may, zero while one is under way.
func (b *breaker) allow(now time.Time) (probe, ok bool, at time.Time) {
	switch {
	case !b.open:
		return false, true, time.Time{}
	case b.probing:
		return false, false, time.Time{}
	case now.Before(b.at):
		return false, false, b.at
	}
	return true, true, time.Time{}
}

// success closes the breaker; it returns true when it was open.
func (b *breaker) success() bool {
	was := b.open
	clear(b.failing)
	b.open, b.probes = false, 0
	return was
}

// failure counts one; it returns true when the breaker opens by it.
func (b *breaker) failure(key laneKey, now time.Time, probe bool) bool {
	switch {
	case b.after < 0:
		return false
	case b.open:
		if probe {
			b.next(now)
		}
		return false
	}
	if b.failing == nil {
		b.failing = make(map[laneKey]struct{})
	}
	if len(b.failing) == 0 {
		b.since = now
	}
	b.failing[key] = struct{}{}
	if n := len(b.failing); n < b.after && (n < fewOrders || now.Sub(b.since) < longFailing) {
		return false
	}
	b.open, b.probes = true, 0
	b.next(now)
	return true
}

// next sets the time of the next probe.
func (b *breaker) next(now time.Time) {
	pause := min(mostProbe, firstProbe<<min(b.probes, 10))
	b.probes++
	b.at = now.Add(jitter(pause))
}
