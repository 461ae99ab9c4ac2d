package demo

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/orderwire/orderwire/sinks/webhook"
)

// maxDelivery bounds the body of a delivery, in bytes.
const maxDelivery = 4 << 20

// receiver is a partner's side of a webhook: it takes deliveries whose
// signature holds, and counts.
type receiver struct {
	verifier        *webhook.Verifier
	taken, rejected atomic.Int64
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxDelivery))
	if err != nil {
		http.Error(w, "unreadable body", http.StatusBadRequest)
		return
	}
	if err := r.verifier.Verify(req.Header, body, time.Now()); err != nil {
		r.rejected.Add(1)
		http.Error(w, "bad signature", http.StatusUnauthorized)
		return
	}
	r.taken.Add(1)
	w.WriteHeader(http.StatusNoContent)
}
