package poller_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"pgregory.net/rapid"

	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
)

// modelServer is the server that all cases of a test share.
type modelServer struct {
	url    string
	log    *jetstream.Log // reads, and stores batches whose acknowledgement is lost
	js     natsjs.JetStream
	stream natsjs.Stream
	bucket natsjs.KeyValue
	in     <-chan *message.Message // the whole log
	cases  int
}

func newModelServer(tb testing.TB) *modelServer {
	tb.Helper()
	s := &modelServer{url: pipelinetest.Server(tb, tb.TempDir()).URL()}
	s.log = pipelinetest.Log(tb, s.url)
	nc, err := nats.Connect(s.url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	if s.js, err = natsjs.New(nc); err == nil {
		s.stream, err = s.js.Stream(tb.Context(), jetstream.StreamName)
	}
	if err == nil {
		s.in, err = s.log.Follow(tb.Context(), 0)
	}
	if err == nil {
		s.bucket, err = s.js.KeyValue(tb.Context(), jetstream.StateBucket)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// clear empties stream and bucket, so that a case finds what a new server has.
func (s *modelServer) clear(t rapid.TB) {
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	bucket, err := s.js.Stream(ctx, s.bucketStream())
	if err == nil {
		err = errors.Join(s.stream.Purge(ctx), bucket.Purge(ctx))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (s *modelServer) bucketStream() string { return "KV_" + jetstream.StateBucket }

// awaitBucket returns when the bucket has the last event of each order.
func (s *modelServer) awaitBucket(t rapid.TB, r *reader) {
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	behind := make(map[string]uint64)
	for k, last := range r.last {
		behind[r.key(k).String()] = last.version
	}
	w, err := s.bucket.Watch(ctx, r.account+".>")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Stop() }()
	for len(behind) > 0 {
		select {
		case entry := <-w.Updates():
			if entry != nil && versionIn(entry.Value()) >= behind[entry.Key()] {
				delete(behind, entry.Key())
			}
		case <-ctx.Done():
			t.Fatalf("the bucket stays behind the log by %d orders", len(behind))
		}
	}
}

func versionIn(raw []byte) uint64 {
	var doc struct {
		Data struct {
			Version uint64 `json:"version"`
		} `json:"data"`
	}
	_ = json.Unmarshal(raw, &doc) // no version is version 0
	return doc.Data.Version
}

// trim takes all events up to a sequence out of the stream.
func (s *modelServer) trim(t rapid.TB, upTo uint64) {
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	if err := s.stream.Purge(ctx, natsjs.WithPurgeSequence(upTo+1)); err != nil {
		t.Fatal(err)
	}
}

// forget has the server forget the ids of all messages, as it does two minutes
// after they came, and returns when it has.
func (s *modelServer) forget(t rapid.TB, r *reader) {
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	usual := s.stream.CachedInfo().Config
	short := usual
	short.Duplicates = 100 * time.Millisecond // the server takes no less
	for s.remembers(ctx, t, r) {
		short.Duplicates++ // the server looks for old ids when this changes
		if _, err := s.js.UpdateStream(ctx, short); err != nil {
			t.Fatal(err)
		}
		<-again.C
	}
	if _, err := s.js.UpdateStream(ctx, usual); err != nil {
		t.Fatal(err)
	}
}

// codeWrongLastMsgID is the server's refusal of a condition on the last id.
const codeWrongLastMsgID = 10070

// remembers reports whether the server knows the newest message id. It offers a
// message with this id under a condition that cannot hold, at which the server
// looks after it has looked at the id; so nothing is stored.
func (s *modelServer) remembers(ctx context.Context, t rapid.TB, r *reader) bool {
	newest, subject := logged{}, ""
	for k, last := range r.last {
		if last.sequence > newest.sequence {
			newest, subject = last, r.key(k).Subject(last.typ)
		}
	}
	_, err := s.js.Publish(ctx, subject, nil, natsjs.WithMsgID(newest.id), natsjs.WithExpectLastMsgID("none"))
	var refused *natsjs.APIError
	switch {
	case err == nil:
		return true
	case errors.As(err, &refused) && refused.ErrorCode == codeWrongLastMsgID:
		return false
	}
	t.Fatalf("ask the server for a message id: %v", err)
	return false
}
