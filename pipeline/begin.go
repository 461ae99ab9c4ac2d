package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/orderwire/orderwire/schema"
)

// Begin says where an endpoint begins that has taken nothing yet: behind a
// sequence, 0 for the beginning of the log. Its courier must not run.
func Begin(ctx context.Context, cursors CursorStore, endpoint string, after uint64) error {
	if err := cursors.SaveCursor(ctx, cursorName(endpoint), Cursor{Floor: after}); err != nil {
		return fmt.Errorf("endpoint %s: begin: %w", endpoint, err)
	}
	return nil
}

// Begun reports whether an endpoint has a cursor.
func Begun(ctx context.Context, cursors CursorStore, endpoint string) (bool, error) {
	return cursors.LoadCursor(ctx, cursorName(endpoint), new(Cursor))
}

// Forget removes all that is kept of an endpoint: its cursor, how it stands, and
// what it has parked. Its courier must not run. It may be called again after an
// error.
func Forget(ctx context.Context, cursors interface {
	DeleteCursor(ctx context.Context, name string) error
}, parked ParkedStore, endpoint string,
) error {
	var gone []Parked
	err := parked.LoadParked(ctx, endpoint, func(p Parked) { gone = append(gone, p) })
	if err == nil && len(gone) > 0 {
		err = parked.SaveParked(ctx, endpoint, nil, gone)
	}
	for _, name := range []string{wishName(endpoint), standingName(endpoint), cursorName(endpoint)} {
		err = errors.Join(err, cursors.DeleteCursor(ctx, name))
	}
	if err != nil {
		return fmt.Errorf("endpoint %s: forget: %w", endpoint, err)
	}
	return nil
}

func cursorName(endpoint string) string { return "endpoint." + schema.EscapeToken(endpoint) }
