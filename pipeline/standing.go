package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// Standing is how an endpoint stands, beside its cursor. A person and the courier
// each have a document of their own for it, so that neither overwrites what the
// other has just written.
type Standing struct {
	Paused     bool      // by a person: nothing is sent until it is resumed
	Reason     string    // of the pause, "" when none was given
	PausedAt   time.Time // zero when it is not paused
	Disabled   string    // why the courier has stopped it until a person resumes it, "" when it has not
	DisabledAt time.Time // zero when it is not disabled, or not known
	Broken     bool      // it fails throughout: it is probed only
	BrokenAt   time.Time // zero when it is not broken, or not known
}

// wish is what a person has said last of an endpoint.
type wish struct {
	Paused  bool      `json:"paused,omitzero"`
	Reason  string    `json:"reason,omitzero"`
	At      time.Time `json:"at,omitzero"` // of the pause
	Resumes uint64    `json:"resumes"`     // counts them: what was disabled at a lower count goes on
}

// finding is what the courier has found out.
type finding struct {
	Disabled string    `json:"disabled,omitzero"` // why, "" when it is not
	At       time.Time `json:"at,omitzero"`       // when that was
	Resumes  uint64    `json:"resumes,omitzero"`  // that of the wish at that time
	Broken   bool      `json:"broken,omitzero"`   // the breaker was open
	BrokenAt time.Time `json:"broken_at,omitzero"`
}

// standing is both together.
type standing struct {
	wish    wish
	finding finding
}

func (s *standing) disabled() bool {
	return s.finding.Disabled != "" && s.finding.Resumes >= s.wish.Resumes
}

// stopped reports whether no attempt may begin.
func (s *standing) stopped() bool { return s.wish.Paused || s.disabled() }

// lookAgain is the pause between looks at what a person has said, when nothing
// tells the courier of it.
const lookAgain = 10 * time.Second

func standingName(endpoint string) string { return "standing." + schema.EscapeToken(endpoint) }
func wishName(endpoint string) string     { return "pause." + schema.EscapeToken(endpoint) }

// LoadStanding tells how an endpoint stands; the zero value when it has never been
// stopped.
func LoadStanding(ctx context.Context, cursors CursorStore, endpoint string) (Standing, error) {
	s, err := loadStanding(ctx, cursors, endpoint)
	if err != nil {
		return Standing{}, fmt.Errorf("endpoint %s: %w", endpoint, err)
	}
	out := Standing{Paused: s.wish.Paused, Reason: s.wish.Reason, PausedAt: s.wish.At, Broken: s.finding.Broken, BrokenAt: s.finding.BrokenAt}
	if s.disabled() {
		out.Disabled, out.DisabledAt = s.finding.Disabled, s.finding.At
	}
	return out, nil
}

func loadStanding(ctx context.Context, cursors CursorStore, endpoint string) (s standing, err error) {
	if _, err = cursors.LoadCursor(ctx, standingName(endpoint), &s.finding); err == nil {
		_, err = cursors.LoadCursor(ctx, wishName(endpoint), &s.wish)
	}
	return s, err
}

// Pause stops an endpoint from any process, over restarts too, until it is
// resumed. Attempts under way end; no new one begins, the cursor stays, and
// nothing is lost that the log keeps. The courier notices at once by its
// [CourierConfig.Watch], or within 10 s. The reason is for people.
func Pause(ctx context.Context, cursors CursorStore, endpoint, reason string) error {
	return speak(ctx, cursors, endpoint, "pause", func(s standing) wish {
		return wish{Paused: true, Reason: reason, At: time.Now().UTC(), Resumes: s.wish.Resumes}
	})
}

// Resume lets an endpoint go on that was paused, or disabled, from any process.
// One that is broken is probed at once.
func Resume(ctx context.Context, cursors CursorStore, endpoint string) error {
	return speak(ctx, cursors, endpoint, "resume", func(s standing) wish {
		return wish{Resumes: max(s.wish.Resumes, s.finding.Resumes) + 1}
	})
}

func speak(ctx context.Context, cursors CursorStore, endpoint, what string, to func(standing) wish) error {
	s, err := loadStanding(ctx, cursors, endpoint)
	if err == nil {
		err = cursors.SaveCursor(ctx, wishName(endpoint), to(s))
	}
	if err != nil {
		return fmt.Errorf("endpoint %s: %s: %w", endpoint, what, err)
	}
	return nil
}

// stand reads how the endpoint stands, and begins to watch what a person says. A
// breaker that was open begins with a probe.
func (r *route) stand(ctx context.Context) (err error) {
	if r.cfg.Watch != nil { // first, so that no change is missed
		if r.wishes, err = r.cfg.Watch(ctx, wishName(r.cfg.Name)); err != nil {
			return err
		}
	}
	if r.standing, err = loadStanding(ctx, r.cfg.Cursors, r.cfg.Name); err != nil {
		return err
	}
	r.breaker.open = r.standing.finding.Broken && r.breaker.after >= 0
	r.looked = r.now
	r.touch()
	return nil
}

// look reads what a person has said, when nothing tells of it.
func (r *route) look(ctx context.Context) error {
	if at := r.lookAt(); at.IsZero() || r.now.Before(at) {
		return nil
	}
	r.looked = r.now
	var w wish
	if _, err := r.cfg.Cursors.LoadCursor(ctx, wishName(r.cfg.Name), &w); err != nil {
		return err
	}
	r.heed(w)
	return nil
}

// lookAt is when to do so, zero for never.
func (r *route) lookAt() time.Time {
	if r.finite || r.wishes != nil {
		return time.Time{}
	}
	return r.looked.Add(lookAgain)
}

// told takes in what the watch tells: the document, nil when it is gone. A watch
// that has ended makes way for looks.
func (r *route) told(document []byte, open bool) error {
	if !open {
		r.wishes, r.looked = nil, r.now
		return nil
	}
	var w wish
	if document != nil {
		if err := json.Unmarshal(document, &w); err != nil {
			return fmt.Errorf("document %s: %w", wishName(r.cfg.Name), err)
		}
	}
	r.heed(w)
	return nil
}

// heed does what a person has said.
func (r *route) heed(w wish) {
	before := r.standing
	r.standing.wish = w
	if w == before.wish {
		return
	}
	switch {
	case w.Paused && !before.wish.Paused:
		r.cfg.Logger.Info("endpoint is paused until it is resumed", "endpoint", r.cfg.Name, "reason", w.Reason)
	case before.stopped() && !r.standing.stopped():
		r.cfg.Logger.Info("endpoint goes on", "endpoint", r.cfg.Name)
	}
	if w.Resumes > before.wish.Resumes {
		r.breaker.at = r.now
	}
	r.touch()
}

// saveStanding makes it durable that the endpoint is disabled, or broken.
func (r *route) saveStanding(ctx context.Context) error {
	f := &r.standing.finding
	if r.breaker.open != f.Broken {
		f.Broken, f.BrokenAt = r.breaker.open, time.Time{}
		if f.Broken {
			f.BrokenAt = r.now.UTC()
		}
	}
	if !r.standing.disabled() {
		f.Disabled, f.At = "", time.Time{}
	}
	r.touch()
	return r.cfg.Cursors.SaveCursor(ctx, standingName(r.cfg.Name), f)
}

// disable ends all attempts until a person resumes the endpoint, over restarts
// too. Nothing is lost: the event comes again then.
func (r *route) disable(ctx context.Context) error {
	if r.standing.disabled() {
		return nil
	}
	f := &r.standing.finding
	f.Disabled = fmt.Sprintf("the receiver answered %d %s", http.StatusGone, http.StatusText(http.StatusGone))
	f.At, f.Resumes = r.now.UTC(), r.standing.wish.Resumes
	r.cfg.Logger.Error("endpoint is disabled until a person resumes it", "endpoint", r.cfg.Name, "reason", f.Disabled)
	return r.saveStanding(ctx)
}
