package line

import (
	"context"
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/sources/poller"
	"github.com/orderwire/orderwire/sources/postback"
)

// polling returns what is done in an account's session: polls, and where the
// account takes pushes, fetches of the orders that the network pushes. Both end
// with the account's lease, and from then on its pushes are answered "-1" here:
// the network sends them again, perhaps to the process that has the lease now,
// and that one's polls tell in any case.
func (l *Line) polling(a *config.Account, p *poller.Poller) func(context.Context) error {
	if l.pushes == nil || !a.Push {
		return p.Run
	}
	return func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return p.Run(ctx) })
		group.Go(func() error {
			return l.pushes.Run(ctx, a.Name, func(ctx context.Context, o postback.Order) error {
				return p.Fetch(ctx, o.ProgramID, o.OrderSn)
			})
		})
		return group.Wait()
	}
}

// Postback takes the network's pushes while the line runs; nil when no account
// of this process does.
func (l *Line) Postback() http.Handler {
	if l.pushes == nil {
		return nil
	}
	return l.pushes
}
