package pipeline

import (
	"context"
	"fmt"
)

// LoadEndpointCursor reads how far the courier of an endpoint got, from any
// process: as of a fifth of a second ago when it runs. False says that it has
// never delivered anything.
func LoadEndpointCursor(ctx context.Context, cursors CursorStore, endpoint string) (c Cursor, begun bool, err error) {
	begun, err = cursors.LoadCursor(ctx, cursorName(endpoint), &c)
	if err != nil {
		return Cursor{}, false, fmt.Errorf("endpoint %s: %w", endpoint, err)
	}
	return c, begun, nil
}
