package webhook

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/orderwire/orderwire/schema"
)

// BenchmarkDeliver is to be read beside BenchmarkBareClient: the receiver of
// both runs in this process and takes its share of the processors.
func BenchmarkDeliver(b *testing.B) {
	r := benchReceiver(b)
	e := endpoint(b, r.URL)
	parallel(b, func(ctx context.Context, sent *schema.Entry) error { return e.Deliver(ctx, sent) })
}

// BenchmarkBareClient posts the same signed bodies without the endpoint.
func BenchmarkBareClient(b *testing.B) {
	r := benchReceiver(b)
	client := &http.Client{Transport: newTransport(checked{guard: newGuard(true)})}
	key := verifier(b, testSecret).keys
	parallel(b, func(ctx context.Context, sent *schema.Entry) error {
		body, err := Body(sent)
		if err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set(HeaderSignature, signer{key}.sign(sent.Event.ID, "1772352000", body))
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	})
}

// benchReceiver reads deliveries and keeps none.
func benchReceiver(b *testing.B) *httptest.Server {
	b.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		w.WriteHeader(http.StatusNoContent)
	}))
	b.Cleanup(s.Close)
	return s
}

func parallel(b *testing.B, post func(context.Context, *schema.Entry) error) {
	sent := entry(b, 2)
	b.SetParallelism(128) // 256 on two processors
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := post(b.Context(), sent); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
