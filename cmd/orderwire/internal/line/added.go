package line

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/sinks/webhook"
)

// runAdded works on the endpoints that were added by command, until ctx ends. Each
// has a keeper, so that one that takes its time to end holds up no other.
func (l *Line) runAdded(ctx context.Context) error {
	l.seal(ctx)
	keepers := make(map[string]*keeper)
	var running sync.WaitGroup
	defer running.Wait()
	for a := range l.manager.Watch(ctx) {
		k := keepers[a.Name]
		switch {
		case k == nil && a.Gone:
			continue
		case k == nil:
			k = &keeper{Line: l, part: &part{kind: "endpoint", name: a.Name}, news: make(chan endpoints.Added, 1)}
			keepers[a.Name] = k // for as long as the process runs: it may be added again
			running.Go(func() { k.run(ctx) })
		}
		k.tell(a)
	}
	return nil
}

// seal encrypts the definitions of endpoints with the present key, if there is one.
// What cannot be encrypted is used as it is.
func (l *Line) seal(ctx context.Context) {
	n, err := l.manager.Seal(ctx)
	if n > 0 {
		l.log.Info("definitions of endpoints were encrypted with the present key", "endpoints", n)
	}
	if err != nil && ctx.Err() == nil {
		l.log.Warn("not all definitions of endpoints are encrypted with the present key; the next start tries again", "error", err)
	}
}

// keeper begins, remakes and ends the part of one added endpoint. Its goroutine
// owns the part.
type keeper struct {
	*Line
	part *part
	news chan endpoints.Added // the newest that was not taken
}

// tell hands over how the endpoint stands in the bucket, for one goroutine.
func (k *keeper) tell(a endpoints.Added) {
	select {
	case <-k.news:
	default:
	}
	k.news <- a
}

func (k *keeper) run(ctx context.Context) {
	now := endpoints.Added{Gone: true}
	for {
		stop := k.begin(ctx, &now)
		next, more := k.wait(ctx, &now)
		stop()
		if !more {
			return
		}
		now = next
	}
}

// wait returns how the endpoint stands when that has changed, or when one of its
// secrets has expired; false when ctx ends.
func (k *keeper) wait(ctx context.Context, now *endpoints.Added) (endpoints.Added, bool) {
	var expired <-chan time.Time
	if at := now.Definition.Expires(time.Now()); !at.IsZero() {
		timer := time.NewTimer(time.Until(at))
		defer timer.Stop()
		expired = timer.C
	}
	for {
		select {
		case next := <-k.news:
			if next.Revision == now.Revision { // it came again
				continue
			}
			return next, true
		case <-expired:
			return *now, true
		case <-ctx.Done():
			return endpoints.Added{}, false
		}
	}
}

// begin works on the endpoint as it stands, if anything is to be done; stop ends
// that.
func (k *keeper) begin(ctx context.Context, a *endpoints.Added) (stop func()) {
	nothing := func() {}
	if a.Gone || k.manager.Shadowed(a.Name) {
		if !a.Gone {
			k.log.Warn("an added endpoint is not used", "endpoint", a.Name, "error", a.Problem)
		}
		if k.leave(k.part) {
			k.log.Info("an added endpoint was removed", "endpoint", a.Name)
		}
		return nothing
	}
	endpoint, err := k.openAdded(k.part, a)
	if err != nil {
		return nothing
	}
	k.log.Info("an added endpoint is taken in", "endpoint", a.Name, "revision", a.Revision, "secrets", 1+len(a.Definition.Webhook(time.Now()).PreviousSecrets))
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = k.part.end() }() // a courier has nothing to close
		if k.leases == nil {
			_, _ = k.part.begin(ctx) // alone tries again, and says why
		}
		if err := k.runPart(ctx, k.part); err != nil {
			k.log.Error("endpoint has ended", "endpoint", a.Name, "error", err)
		}
	}()
	return func() {
		cancel()
		<-done
		endpoint.Close()
	}
}

// planAdded puts in the endpoints that were added by command, for a single pass.
func (l *Line) planAdded(ctx context.Context) error {
	if !l.delivers {
		return nil
	}
	all, err := l.manager.All(ctx)
	for _, a := range all {
		if !l.manager.Shadowed(a.Name) {
			_, _ = l.openAdded(&part{kind: "endpoint", name: a.Name}, &a) // what is wrong with it is told, and stops nothing else
		}
	}
	return err
}

// openAdded prepares the part of an added endpoint and lets it be seen. What is
// wrong with it is logged, and becomes the part's failure.
func (l *Line) openAdded(p *part, a *endpoints.Added) (*webhook.Endpoint, error) {
	w := a.Definition.Webhook(time.Now())
	var endpoint *webhook.Endpoint
	err := a.Problem
	if err == nil {
		endpoint, err = webhook.New(w.Endpoint(l.log))
	}
	p.open = nil
	p.failure.Store(nil)
	if err != nil {
		text := err.Error()
		p.failure.Store(&text)
		l.log.Error("an added endpoint cannot be used, the log holds its events", "endpoint", a.Name, "error", err)
	} else {
		deliver := l.delivering(&w, endpoint)
		p.open = func(ctx context.Context) (*session, error) {
			if err := l.manager.Ready(ctx, a.Name); err != nil {
				return nil, err
			}
			return deliver(ctx)
		}
	}
	p.unusable.Store(err != nil)
	l.join(p, endpoint)
	return endpoint, err
}

// join puts a part among the others, with its endpoint, nil for none, in place of
// an earlier one.
func (l *Line) join(p *part, endpoint *webhook.Endpoint) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.parts, p) {
		l.parts = append(l.parts, p)
	}
	l.count(p.name)
	if endpoint != nil {
		l.endpoints[p.name] = endpoint
	}
}

// leave takes a part out, if it is there.
func (l *Line) leave(p *part) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.Index(l.parts, p)
	if at < 0 {
		return false
	}
	l.parts = slices.Delete(l.parts, at, at+1)
	l.count(p.name)
	return true
}

// count keeps the figures of an endpoint that goes.
func (l *Line) count(name string) {
	if e := l.endpoints[name]; e != nil {
		s := e.Stats()
		l.past.Delivered += s.Delivered
		l.past.Failed += s.Failed
		delete(l.endpoints, name)
	}
}
