package pipeline

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// pace is how fast an endpoint gets attempts. It is halved when the endpoint
// says that it is too fast, at most once a second, and then grows by a twentieth of
// what it was before with every second. An answer by which a receiver may mean
// something else, as 503, counts when a fifth of the answers are such, and takes no
// more than seven eighths of the pace: how far to go down is not what it says.
type pace struct {
	limit   float64 // configured, 0 for none
	limiter *rate.Limiter
	ceiling float64 // what it grows to, while it is cut
	cut     bool    // below what is configured
	cutAt   time.Time
	changed time.Time // when it grew, or is to begin to
	until   time.Time // the endpoint asked for a pause up to here
	answers int       // since cutAt, those of longer ago count less
	busy    int       // of them, those that may mean that it is too fast
	begun   int       // attempts since counted
	counted time.Time
	recent  float64 // attempts a second, lately
}

func newPace(limit float64) *pace {
	p := &pace{limit: limit, limiter: rate.NewLimiter(rate.Inf, 1)}
	if limit > 0 {
		p.set(limit, time.Now())
	}
	return p
}

// set lets up to a twentieth of a second's attempts begin at once.
func (p *pace) set(perSecond float64, now time.Time) {
	p.limiter.SetLimitAt(now, rate.Limit(perSecond))
	p.limiter.SetBurstAt(now, max(1, int(perSecond/20)))
}

// take lets an attempt begin, or returns how long it has to wait.
func (p *pace) take(now time.Time) time.Duration {
	if wait := p.until.Sub(now); wait > 0 {
		return wait
	}
	p.grow(now)
	if p.limiter.Limit() != rate.Inf {
		r := p.limiter.ReserveN(now, 1)
		if wait := r.DelayFrom(now); wait > 0 {
			r.CancelAt(now)
			return wait
		}
	}
	p.count(now)
	return 0
}

func (p *pace) count(now time.Time) {
	if past := now.Sub(p.counted); past >= time.Second {
		p.recent = float64(p.begun) / past.Seconds()
		p.begun, p.counted = 0, now
		p.answers, p.busy = p.answers/2, p.busy/2
	}
	p.begun++
}

// slow cuts the pace and keeps the pause that the endpoint has asked for. plain
// says that it means its pace.
func (p *pace) slow(now time.Time, pause time.Duration, plain bool) {
	p.busy++
	if until := now.Add(pause); pause > 0 && until.After(p.until) {
		p.until = until
	}
	p.changed = now
	if p.until.After(now) {
		p.changed = p.until
	}
	if p.cut && now.Sub(p.cutAt) < time.Second || !plain && 5*p.busy < p.answers {
		return
	}
	p.cutAt, p.answers, p.busy = now, 0, 0
	present := float64(p.limiter.Limit())
	if p.limiter.Limit() == rate.Inf {
		present = max(p.recent, float64(p.begun)/max(0.05, now.Sub(p.counted).Seconds()), 1)
	}
	if !p.cut {
		p.cut, p.ceiling = true, present
	}
	least := min(p.ceiling, 1)
	if !plain {
		least = max(least, p.ceiling/8)
	}
	p.set(max(present/2, least), now)
}

// grow gives back what was cut, a step for each second.
func (p *pace) grow(now time.Time) {
	if !p.cut {
		return
	}
	seconds := math.Floor(now.Sub(p.changed).Seconds())
	if seconds < 1 {
		return
	}
	p.changed = p.changed.Add(time.Duration(seconds) * time.Second)
	next := float64(p.limiter.Limit()) + seconds*p.ceiling/20
	switch {
	case next < p.ceiling || p.limit == 0 && next < 2*p.ceiling:
		p.set(next, now)
	case p.limit > 0:
		p.cut = false
		p.set(p.limit, now)
	default:
		p.cut = false
		p.limiter.SetLimitAt(now, rate.Inf)
	}
}

// now returns the present limit, 0 for none.
func (p *pace) now() float64 {
	if p.limiter.Limit() == rate.Inf {
		return 0
	}
	return float64(p.limiter.Limit())
}
