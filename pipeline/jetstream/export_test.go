package jetstream

import (
	"context"
	"time"

	"github.com/orderwire/orderwire/pipeline"
)

// IndexBytes returns what the index of a log takes in memory.
func IndexBytes(l *Log) int {
	_, bytes := l.index.size()
	return bytes
}

// SearchAttemptsLate is [Log.SearchAttempts] with another bound for what is stored
// late.
func (l *Log) SearchAttemptsLate(ctx context.Context, q AttemptQuery, late time.Duration) ([]pipeline.Attempt, error) {
	return l.searchAttempts(ctx, q, late)
}
