package network

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// The defaults of [PusherConfig], and how often a failed push is sent again.
const (
	DefaultPushRetryEvery  = 30 * time.Second
	DefaultPushTimeout     = 10 * time.Second
	DefaultPushConcurrency = 8
	PushRetries            = 3
)

const (
	// pushLookEvery is how often the queue is looked at for what another process
	// has put there; what this one commits is seen at once.
	pushLookEvery = 2 * time.Second
	// pushPause is how long the database is left alone after it failed.
	pushPause = time.Second
	// pushFinish bounds noting what was received, when a run ends.
	pushFinish = 3 * time.Second
	// pushFailuresKept is how long a push that was given up is shown.
	pushFailuresKept = 30 * day
)

// PusherConfig says how pushes are sent. The zero value of every field means its
// default.
type PusherConfig struct {
	// RetryEvery is the pause between two attempts of a push; 30 s when 0.
	RetryEvery time.Duration
	// Timeout bounds one attempt from connecting to the end of the answer; 10 s
	// when 0.
	Timeout time.Duration
	// Concurrency is how many pushes are under way to one publisher at most, each
	// of another order; 8 when 0. Publishers do not wait for each other.
	Concurrency int
	// AllowPrivate lets pushes go to private and loopback addresses, which are
	// refused otherwise.
	AllowPrivate bool
}

func (c PusherConfig) check() error {
	var errs []error
	if c.RetryEvery < 0 {
		errs = append(errs, &ConfigError{"RetryEvery", "negative, give a duration like 30s"})
	}
	if c.Timeout < 0 {
		errs = append(errs, &ConfigError{"Timeout", "negative, give a duration like 10s"})
	}
	if c.Concurrency < 0 {
		errs = append(errs, &ConfigError{"Concurrency", "negative, give at least 1"})
	}
	return errors.Join(errs...)
}

// Pusher sends the pushes of a service's database. One process should run it;
// a second one does no harm, but sends pushes twice.
type Pusher struct {
	service *Service
	config  PusherConfig
	http    *http.Client
}

// Pusher returns a pusher. It does nothing by itself. The error is a
// [*ConfigError].
func (s *Service) Pusher(config PusherConfig) (*Pusher, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	config.RetryEvery = cmp.Or(config.RetryEvery, DefaultPushRetryEvery)
	config.Timeout = cmp.Or(config.Timeout, DefaultPushTimeout)
	config.Concurrency = cmp.Or(config.Concurrency, DefaultPushConcurrency)
	client := &http.Client{
		Transport:     pushTransport(config.AllowPrivate),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Pusher{service: s, config: config, http: client}, nil
}

// Test sends a test push to the address of the publisher that has the App Key,
// once. The error says why it was not received, or wraps [ErrPushKey],
// [ErrNoPushTarget] or [ErrPushAddress].
func (p *Pusher) Test(ctx context.Context, appKey string) error {
	key, err := p.service.access(ctx, appKey)
	if err != nil || key.advertiser {
		return errors.Join(ErrPushKey, err)
	}
	var signer, address string
	err = p.service.store.row(ctx, `SELECT access_key, url FROM push_targets WHERE publisher_id = ?`,
		[]any{key.owner}, &signer, &address)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return ErrNoPushTarget
	case err != nil:
		return fmt.Errorf("read a push address: %w", err)
	}
	return p.send(ctx, signer, address, []byte(`"Test":"1"`))
}

// Run sends what is in the queue, and what comes, until ctx is done, and then
// returns nil. Failures of the database are logged and tried again. A push that
// is under way then will be sent again by the next Run.
func (p *Pusher) Run(ctx context.Context) error {
	q := &pushQueue{Pusher: p, busy: map[int64]int64{}, ended: make(chan pushOutcome)}
	defer p.http.CloseIdleConnections()
	var senders sync.WaitGroup
	defer q.finish(ctx, &senders)
	for {
		rung := p.service.store.pushed.wait() // before the queue is read, so that nothing is missed
		wait, err := q.turn(ctx, &senders)
		if err != nil && ctx.Err() == nil {
			p.service.config.Logger.Error("push queue failed, trying again", slog.Any("error", err))
			wait = pushPause
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case o := <-q.ended:
			q.take(o)
		case <-rung:
		case <-timer.C:
		}
		timer.Stop()
	}
}
