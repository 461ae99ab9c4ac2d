package jetstream

import (
	"context"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// awaitPin returns when the consumer is pinned to this client. The message by
// which the client knows is dropped: it comes again when the consumer is set back.
func (r *durable) awaitPin(ctx context.Context) error {
	pinned := make(chan struct{}, 1)
	cc, err := r.cons.Consume(func(jetstream.Msg) {
		select {
		case pinned <- struct{}{}:
		default:
		}
	}, r.pullOptions(1)...)
	if err != nil {
		return err
	}
	closed := cc.Closed()
	defer func() {
		cc.Stop()
		<-closed
	}()
	if err := r.lookForPin(ctx); err != nil {
		return err
	}
	look := time.NewTicker(floorEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pinned:
			return nil
		case <-closed:
			return errConsumeEnds
		case <-look.C:
			if err := r.lookForPin(ctx); err != nil {
				return err
			}
		}
	}
}

// lookForPin sets the consumer back when no reader has it and messages are
// unacknowledged. The server chooses the next reader when there is something to
// deliver, which might be only when it has waited for acknowledgements in vain.
func (r *durable) lookForPin(ctx context.Context) error {
	if err := r.look(ctx); err != nil {
		return err
	}
	info := r.cons.CachedInfo()
	if info.NumAckPending == 0 || slices.ContainsFunc(info.PriorityGroups, func(g jetstream.PriorityGroupState) bool { return g.PinnedClientID != "" }) {
		return nil
	}
	_, err := r.log.js.ResetConsumer(ctx, StreamName, r.name)
	return err
}
