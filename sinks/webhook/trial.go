package webhook

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"
)

// TestType is the type of the event that [Endpoint.Test] sends.
const TestType = "webhook.test"

// TestResult is what came of a test.
type TestResult struct {
	ID       string        // webhook-id of the event
	Status   int           // of the answer, 0 when there was none
	Duration time.Duration // up to the end of what was read of the answer
	Reason   string        // why it failed, "" when the receiver took it
	// Answer is the beginning of the answer's body, at most 1 KiB; see
	// [DeliveryError].
	Answer []byte
}

// Test sends a made-up event, signed as any other, once. It is of no order and in no
// log, and the filters do not apply to it:
//
//	{"type":"webhook.test","timestamp":"2026-03-01T08:00:00Z","data":{"id":"…","endpoint":"partner-a"}}
//
// The counts of [Stats] leave it out.
func (e *Endpoint) Test(ctx context.Context) TestResult {
	start := e.now()
	id := hex.EncodeToString(random()[:16])
	out := TestResult{ID: id}
	body, err := json.Marshal(testMessage{Type: TestType, Timestamp: start.UTC().Truncate(time.Second), Data: testData{ID: id, Endpoint: e.name}})
	if err == nil {
		s := e.Sender()
		out.Status, out.Answer, err = s.post(ctx, id, start, body)
		s.Close()
	}
	out.Duration = e.now().Sub(start)
	var failed *DeliveryError
	switch {
	case errors.As(err, &failed):
		out.Reason = failed.Reason()
	case err != nil:
		out.Reason = err.Error()
	}
	return out
}

// testMessage is the body of a test.
type testMessage struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      testData  `json:"data"`
}

type testData struct {
	ID       string `json:"id"`
	Endpoint string `json:"endpoint"`
}
