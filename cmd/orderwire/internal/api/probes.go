package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
)

// probeLimit bounds how long a probe waits for what it asks.
const probeLimit = 5 * time.Second

// health is the answer to a probe. Anybody may ask, so it names what is wrong and
// no more; /api/v1/status says why.
type health struct {
	OK       bool           `json:"ok"`
	Problems []line.Trouble `json:"problems"`
}

// probe answers 200 when there is no trouble, else 503.
func probe(look func(ctx context.Context) []line.Trouble) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), probeLimit)
		defer cancel()
		h := health{Problems: some(look(ctx))}
		h.OK = len(h.Problems) == 0
		status := http.StatusOK
		if !h.OK {
			status = http.StatusServiceUnavailable
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(h) // a caller who has gone needs no answer
	}
}
