package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// pinGroup is the one priority group of a consumer that is pinned.
const pinGroup = "readers"

// topicMark stands between the name of a durable and a topic.
const topicMark = "@"

// heartbeat is how often the server says that it is there while nothing comes.
// Twice that without a word lets the reader look what is the matter.
const heartbeat = 5 * time.Second

// errOtherConsumer says that a durable exists in another mode.
var errOtherConsumer = errors.New("take another name, or delete that consumer: the cursor is lost then")

// consumerName returns the name of the consumer by which a durable reads a
// filter: every filter has a cursor of its own, the whole log the plain name.
func consumerName(durable, filter string) (string, error) {
	if strings.Contains(durable, topicMark) {
		return "", fmt.Errorf("%w: %s", errReserved, durable)
	}
	if filter == pipeline.Topic+".>" {
		return durable, nil
	}
	return durable + topicMark + schema.EscapeToken(filter), nil
}

// attach finds the consumer on the server, or makes it, behind what is known to
// be settled. One that was found before is kept: it knows if it is pinned.
func (r *durable) attach(ctx context.Context) error { return r.log.twice(ctx, r.find) }

// find is one attempt.
func (r *durable) find(ctx context.Context) error {
	cons, err := r.log.js.Consumer(ctx, StreamName, r.name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		r.cons, err = r.log.js.CreateConsumer(ctx, StreamName, r.wanted())
		return err
	}
	if err == nil {
		cons, err = r.fit(ctx, cons)
	}
	if err == nil && r.cons == nil {
		r.cons = cons
	}
	return err
}

// fit refuses a consumer of another mode, and brings the settings of one of this
// mode up to date.
func (r *durable) fit(ctx context.Context, cons jetstream.Consumer) (jetstream.Consumer, error) {
	info := cons.CachedInfo()
	wanted, have := r.wanted(), info.Config
	if have.AckPolicy != wanted.AckPolicy || have.PriorityPolicy != wanted.PriorityPolicy || have.FilterSubject != wanted.FilterSubject {
		return nil, fmt.Errorf("consumer %s exists: filter %s, %v, %v; wanted are filter %s, %v, %v: %w", r.name, have.FilterSubject, have.AckPolicy,
			policyName(have.PriorityPolicy), wanted.FilterSubject, wanted.AckPolicy, policyName(wanted.PriorityPolicy), errOtherConsumer)
	}
	r.raiseFloor(info.AckFloor.Stream)
	if have.AckWait == wanted.AckWait && have.MaxAckPending == wanted.MaxAckPending && have.PinnedTTL == wanted.PinnedTTL {
		return cons, nil
	}
	have.AckWait, have.MaxAckPending, have.PinnedTTL = wanted.AckWait, wanted.MaxAckPending, wanted.PinnedTTL
	return r.log.js.UpdateConsumer(ctx, StreamName, have)
}

func policyName(p jetstream.PriorityPolicy) string {
	if p == jetstream.PriorityPolicyPinned {
		return "pinned"
	}
	return "not pinned"
}

// wanted is the configuration of a new consumer. Every message that comes to a
// pinned one is acknowledged by itself: what a reader sends that was replaced
// settles what it has handled, and nothing else.
func (r *durable) wanted() jetstream.ConsumerConfig {
	policy, start := startBehind(r.floor.Load())
	c := jetstream.ConsumerConfig{
		Durable: r.name, FilterSubject: r.filter, DeliverPolicy: policy, OptStartSeq: start,
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: r.cfg.AckWait, MaxAckPending: r.cfg.Window,
	}
	if r.cfg.AckAll && !r.cfg.Pinned {
		c.AckPolicy = jetstream.AckAllPolicy
	}
	if r.cfg.Pinned {
		c.PriorityPolicy, c.PriorityGroups, c.PinnedTTL = jetstream.PriorityPolicyPinned, []string{pinGroup}, r.cfg.Takeover
	}
	return c
}

// pullOptions returns how many messages the client asks for at a time. A pinned
// reader asks anew three times in the span after which it would be replaced: by
// that the server knows that it is there, and the reader that it still has its
// place.
func (r *durable) pullOptions(window int) []jetstream.PullConsumeOpt {
	if !r.cfg.Pinned {
		return []jetstream.PullConsumeOpt{jetstream.PullMaxMessages(window), jetstream.PullHeartbeat(heartbeat)}
	}
	expiry := min(r.cfg.Takeover/3, jetstream.DefaultExpires)
	return []jetstream.PullConsumeOpt{
		jetstream.PullMaxMessages(window), jetstream.PullPriorityGroup(pinGroup),
		jetstream.PullExpiry(expiry), jetstream.PullHeartbeat(min(expiry/2, heartbeat)),
	}
}

// canReset refuses servers on which a consumer cannot be set back, which came
// with 2.14.
func canReset(version string) error {
	if err := atLeast(version, 2, 14); err != nil {
		return fmt.Errorf("NATS server %s cannot set a consumer back: acknowledging all and pinning need 2.14 or newer", version)
	}
	return nil
}
