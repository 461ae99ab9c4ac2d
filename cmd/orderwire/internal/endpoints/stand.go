package endpoints

import (
	"context"
	"time"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// stand reads the endpoint's state.
func (a *tally) stand(ctx context.Context, cursors pipeline.CursorStore) error {
	var s struct {
		Disabled string    `json:"disabled"`
		At       time.Time `json:"at"`
		Broken   bool      `json:"broken"`
	}
	if _, err := cursors.LoadCursor(ctx, "standing."+schema.EscapeToken(a.Endpoint), &s); err != nil {
		return err
	}
	a.State = "active"
	switch {
	case s.Disabled != "":
		a.State, a.Reason, a.Since = "disabled", s.Disabled, s.At
	case s.Broken:
		a.State = "broken"
	}
	return nil
}
