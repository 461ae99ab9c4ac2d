package poller

import (
	"context"
	"fmt"
	"time"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// ReadTo returns up to which update time an account was read without a gap: the
// log has what the network had changed until then, less the overlap of the polls.
// It is the zero time when the account was never read, or is read by another field.
func ReadTo(ctx context.Context, cursors pipeline.CursorStore, account string) (time.Time, error) {
	var at progress
	if _, err := cursors.LoadCursor(ctx, cursorOf(account), &at); err != nil {
		return time.Time{}, fmt.Errorf("account %s: how far it was polled: %w", account, err)
	}
	if at.OrderField != UpdateTime {
		return time.Time{}, nil
	}
	return at.To, nil
}

// cursorOf is the name of an account's cursor.
func cursorOf(account string) string { return "account." + schema.EscapeToken(account) }

// Complete returns the account with the defaults in the place of what is not given.
func (a Account) Complete() Account { return a.withDefaults() }
