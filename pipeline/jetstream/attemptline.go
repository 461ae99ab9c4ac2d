package jetstream

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// attemptLine is an attempt as it is stored: a line of JSON in a chunk whose
// subject names the endpoint and the outcome.
type attemptLine struct {
	At       time.Time        `json:"at"`
	Took     time.Duration    `json:"took_ns"`
	Order    string           `json:"order"` // see [schema.OrderKey.String]
	Event    string           `json:"event"`
	Type     schema.EventType `json:"type"`
	Version  uint64           `json:"version"`
	Sequence uint64           `json:"sequence"`
	Number   int              `json:"attempt"`
	Probe    bool             `json:"probe"`
	Status   int              `json:"status"`
	Reason   string           `json:"reason"`
	Answer   []byte           `json:"answer"`
	Next     time.Time        `json:"next"`
}

// mostReason bounds the text of a failure, in bytes.
const mostReason = 512

// appendAttempt appends an attempt's line. It is written by hand because a
// courier may make tens of thousands of attempts a second.
func appendAttempt(b []byte, a *pipeline.Attempt) []byte {
	b = append(b, `{"at":"`...)
	b = a.At.UTC().AppendFormat(b, time.RFC3339Nano)
	b = strconv.AppendInt(append(b, `","took_ns":`...), int64(a.Duration), 10)
	b = append(a.Key.AppendTo(append(b, `,"order":"`...)), `","event":`...)
	b = append(appendText(b, a.EventID), `,"type":`...)
	b = appendText(b, string(a.Type))
	b = strconv.AppendUint(append(b, `,"version":`...), a.Version, 10)
	b = strconv.AppendUint(append(b, `,"sequence":`...), a.Sequence, 10)
	b = strconv.AppendInt(append(b, `,"attempt":`...), int64(a.Number), 10)
	if a.Probe {
		b = append(b, `,"probe":true`...)
	}
	if a.Status != 0 {
		b = strconv.AppendInt(append(b, `,"status":`...), int64(a.Status), 10)
	}
	if a.Reason != "" {
		b = appendText(append(b, `,"reason":`...), a.Reason[:min(len(a.Reason), mostReason)])
	}
	if len(a.Answer) > 0 {
		b = base64.StdEncoding.AppendEncode(append(b, `,"answer":"`...), a.Answer)
		b = append(b, '"')
	}
	if !a.Next.IsZero() {
		b = a.Next.UTC().AppendFormat(append(b, `,"next":"`...), time.RFC3339Nano)
		b = append(b, '"')
	}
	return append(b, "}\n"...)
}

// appendText appends a JSON string; what is no UTF-8 is replaced.
func appendText(b []byte, s string) []byte {
	quoted, err := jsontext.AppendQuote(b, s)
	if err != nil {
		quoted, _ = jsontext.AppendQuote(b, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return quoted
}

// readAttempt reads a line of a chunk of that subject.
func readAttempt(key chunkKey, line []byte) (pipeline.Attempt, error) {
	var l attemptLine
	if err := json.Unmarshal(line, &l); err != nil {
		return pipeline.Attempt{}, err
	}
	order, err := schema.ParseOrderKey(l.Order)
	if err != nil {
		return pipeline.Attempt{}, err
	}
	return pipeline.Attempt{
		At: l.At, Duration: l.Took, Endpoint: key.endpoint, Key: order, EventID: l.Event, Type: l.Type, Version: l.Version, Sequence: l.Sequence,
		Number: l.Number, Outcome: key.outcome, Probe: l.Probe, Status: l.Status, Reason: l.Reason, Answer: l.Answer, Next: l.Next,
	}, nil
}

// errChunkSubject marks a message of the stream that is no chunk.
var errChunkSubject = errors.New("not the subject of a chunk of attempts")

// parseChunkSubject reverses [chunkKey.subject].
func parseChunkSubject(subject string) (k chunkKey, err error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 3 || tokens[0] != attemptSubjects {
		return k, fmt.Errorf("%w: %q", errChunkSubject, subject)
	}
	outcome, err := schema.UnescapeToken(tokens[2])
	if err != nil {
		return k, err
	}
	k.outcome = pipeline.Outcome(outcome)
	k.endpoint, err = schema.UnescapeToken(tokens[1])
	return k, err
}
