package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/orderwire/orderwire/schema"
)

// ErrNobody says that no process serves what was called.
var ErrNobody = errors.New("no process answers")

// callSubject is that of an endpoint; no stream has it.
func callSubject(name string) string { return "orderwire.endpoint." + schema.EscapeToken(name) }

// Serve answers calls to an endpoint until stop is called or ctx ends; handle
// may take its time, and calls may overlap. When stop returns, no call is under
// way. Neither call nor answer is stored anywhere.
func (l *Log) Serve(ctx context.Context, endpoint string, handle func(ctx context.Context, request []byte) []byte) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	calls := make(chan *nats.Msg, 16)
	sub, err := l.nc.ChanSubscribe(callSubject(endpoint), calls)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("endpoint %s: serve calls: %w", endpoint, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var under sync.WaitGroup
		defer under.Wait()
		for {
			select {
			case m := <-calls:
				under.Go(func() { _ = m.Respond(handle(ctx, m.Data)) }) // who has called sees that no answer comes
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		_ = sub.Unsubscribe() // a connection that is closed has none
		cancel()
		<-done
	}, nil
}

// Call asks the process that serves an endpoint, and returns its answer. The
// error wraps [ErrNobody] when none does.
func (l *Log) Call(ctx context.Context, endpoint string, request []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	answer, err := l.nc.RequestWithContext(ctx, callSubject(endpoint), request)
	if errors.Is(err, nats.ErrNoResponders) {
		err = ErrNobody
	}
	if err != nil {
		return nil, fmt.Errorf("endpoint %s: %w", endpoint, err)
	}
	return answer.Data, nil
}
