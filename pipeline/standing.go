package pipeline

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// standing is what is kept of an endpoint beside its cursor, in a document of its
// own, which a person may change while the courier stands still.
type standing struct {
	Disabled string    `json:"disabled,omitzero"` // why, "" when it is not
	At       time.Time `json:"at,omitzero"`       // when that was
	Broken   bool      `json:"broken,omitzero"`   // the breaker was open
}

// lookAgain is the pause between looks whether a person has resumed a disabled
// endpoint.
const lookAgain = 10 * time.Second

func standingName(endpoint string) string { return "standing." + schema.EscapeToken(endpoint) }

// Resume lets a disabled endpoint go on, from any process: its courier
// notices within 10 s.
func Resume(ctx context.Context, cursors CursorStore, endpoint string) error {
	if err := cursors.SaveCursor(ctx, standingName(endpoint), standing{}); err != nil {
		return fmt.Errorf("endpoint %s: resume: %w", endpoint, err)
	}
	return nil
}

// stand reads how the endpoint stands. A breaker that was open begins with a
// probe.
func (r *route) stand(ctx context.Context) error {
	var s standing
	if _, err := r.cfg.Cursors.LoadCursor(ctx, standingName(r.cfg.Name), &s); err != nil {
		return err
	}
	if s.Disabled == "" && r.standing.Disabled != "" {
		r.cfg.Logger.Info("endpoint goes on", "endpoint", r.cfg.Name)
	}
	r.breaker.open = s.Broken && r.breaker.after >= 0
	r.standing = s
	r.looked = r.now
	r.touch()
	return nil
}

// saveStanding makes it durable that the endpoint is disabled, or broken.
func (r *route) saveStanding(ctx context.Context) error {
	r.standing.Broken = r.breaker.open
	r.touch()
	return r.cfg.Cursors.SaveCursor(ctx, standingName(r.cfg.Name), r.standing)
}

// disable ends all attempts until a person resumes the endpoint, over restarts
// too. Nothing is lost: the event comes again then.
func (r *route) disable(ctx context.Context) error {
	if r.standing.Disabled != "" {
		return nil
	}
	r.standing.Disabled = fmt.Sprintf("the receiver answered %d %s", http.StatusGone, http.StatusText(http.StatusGone))
	r.standing.At, r.looked = r.now.UTC(), r.now
	r.cfg.Logger.Error("endpoint is disabled until a person resumes it", "endpoint", r.cfg.Name, "reason", r.standing.Disabled)
	return r.saveStanding(ctx)
}

// resumed looks now and then whether a person has resumed the endpoint.
func (r *route) resumed(ctx context.Context) error {
	if r.standing.Disabled == "" || r.now.Sub(r.looked) < lookAgain {
		return nil
	}
	return r.stand(ctx)
}
