package network

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// The order push: a publisher that has given an address is told there, by one
// signed request for each order, that the order was created, confirmed, approved
// or found invalid (network facts). A push is queued in the transaction that
// changes the order, and taken from the queue by a [Pusher].
//
// The request is POST with a JSON object: the fields of the order resource
// (specification 2.3) as they were at that moment, without Details, and AppKey,
// Timestamp (integer, Unix seconds, of this attempt) and Sign. It is signed like
// a call of the API (specification 5.1.3) with the path of the address as it is
// sent and the newest valid secret of the publisher's key. A test push has the
// member Test, "1", and nothing of an order.
//
// The receiver answers HTTP 200 with "1" or "0" for received and "-1" for not.
// Anything else is a failure as well. A failed push is sent again three times,
// 30 s apart, and then given up: it is kept for 30 days and shown by
// [Service.PushFailures]. The pushes of an order are sent in their order, one
// after the other, and after a crash a push may come a second time.

// pushEvents are what a settlement status is called when an order comes to it.
var pushEvents = map[schema.SettlementStatus]string{
	schema.Confirmed: "confirmed", schema.Approved: "approved", schema.Invalid: "invalid",
}

// told is the state of an order that its publisher was told about, or would
// have been if it had an address.
type told struct {
	known  bool // false for a new order
	status schema.SettlementStatus
}

// pushing is what a change knows of the push.
type pushing struct {
	off     bool           // the orders are of the past, nobody is told
	targets map[int64]bool // publishers with an address, nil until it is asked for
	queued  int            // pushes that the change has queued
}

// push queues a push of the order's state, when it is one to be told and the
// publisher has an address. It is called after the order was written.
func (c *change) push(ctx context.Context, o *order) error {
	before := o.told
	o.told = told{true, o.status}
	event := "created"
	if before.known {
		event = pushEvents[o.status]
	}
	if c.pushing.off || event == "" || before == o.told {
		return nil
	}
	if wanted, err := c.hasPushTarget(ctx, o.publisher); err != nil || !wanted {
		return err
	}
	c.pushing.queued++
	return c.exec(ctx, `INSERT INTO push_queue (seq, publisher_id, order_id, event, head, queued_at, attempts, due, reason)
		VALUES (?, ?, ?, ?, ?, ?, 0, ?, '')`, o.seq, o.publisher, o.id, event, o.head(), c.now, time.Now().UnixMilli())
}

func (c *change) hasPushTarget(ctx context.Context, publisher int64) (bool, error) {
	if c.pushing.targets != nil {
		return c.pushing.targets[publisher], nil
	}
	st, err := c.statement(ctx, `SELECT publisher_id FROM push_targets`)
	if err != nil {
		return false, err
	}
	rows, err := st.QueryContext(ctx)
	if err != nil {
		return false, fmt.Errorf("push addresses: %w", err)
	}
	defer rows.Close()
	c.pushing.targets = map[int64]bool{}
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return false, fmt.Errorf("push addresses: %w", err)
		}
		c.pushing.targets[id] = true
	}
	return c.pushing.targets[publisher], rows.Err()
}

// bell wakes all who wait for it. Its zero value is ready.
type bell struct {
	mu   sync.Mutex
	next chan struct{} // nil when nobody waits
}

// wait returns a channel that the next ring closes.
func (b *bell) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

// ring wakes those who wait, if there is a reason to.
func (b *bell) ring(reasons int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if reasons > 0 && b.next != nil {
		close(b.next)
		b.next = nil
	}
}
