package report

import (
	"context"
	"encoding/json"
	"time"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// DeadLetters is what holds what was given up; see [jetstream.Log].
type DeadLetters interface {
	// NewestDead returns dead letters of a sink, "" for all, from the newest
	// backwards, and where to go on, 0 for the end.
	NewestDead(ctx context.Context, sink string, before uint64, limit int) ([]pipeline.Buried, uint64, error)
}

// DeadLetter is an event or a record that was given up, without what it carries.
type DeadLetter struct {
	Place    uint64    `json:"place"` // among all dead letters
	At       time.Time `json:"at"`    // when it was given up, UTC
	Sink     string    `json:"sink"`  // or endpoint, or poller.ACCOUNT
	Reason   string    `json:"reason"`
	Attempts int       `json:"attempts"`
	Bytes    int       `json:"bytes"`             // size of the message
	Sequence uint64    `json:"sequence,omitzero"` // in the log, 0 for what never was there
	Key      string    `json:"key,omitzero"`      // of the order, "" for no event of one
	Type     string    `json:"type,omitzero"`     // of the event, alike
	EventID  string    `json:"event_id,omitzero"` // "" when the message is no event
	Version  uint64    `json:"version,omitzero"`  // alike
	Account  string    `json:"account,omitzero"`  // alike
	Source   string    `json:"source,omitzero"`   // alike
	Time     time.Time `json:"time,omitzero"`     // of the event, alike
}

// Letters lists dead letters without what they carry, from the newest backwards, and
// says where to go on, 0 for the end.
func Letters(ctx context.Context, log DeadLetters, sink string, before uint64, limit int) (*Table, uint64, error) {
	found, next, err := log.NewestDead(ctx, sink, before, limit)
	if err != nil {
		return nil, 0, err
	}
	rows := make([]DeadLetter, len(found))
	for i := range found {
		rows[i] = letterOf(&found[i])
	}
	return tableOf(rows, func(d *DeadLetter) []string {
		return []string{
			number(d.Place), d.At.Format(time.RFC3339Nano), d.Sink, d.Key, d.Type, d.EventID, number(d.Version), number(d.Sequence),
			number(d.Attempts), number(d.Bytes), d.Reason,
		}
	}, "place", "at", "sink", "key", "type", "event_id", "version", "sequence", "attempts", "bytes", "reason"), next, nil
}

func letterOf(b *pipeline.Buried) DeadLetter {
	d := DeadLetter{
		Place: b.Place, At: b.At.UTC(), Sink: b.Sink, Reason: b.Reason, Attempts: b.Attempts, Bytes: len(b.Raw), Sequence: b.Sequence,
	}
	key, kind, err := schema.ParseSubject(b.Subject)
	if err != nil {
		return d // a record of the network, say
	}
	d.Key, d.Type, d.Account = key.String(), string(kind), key.Account
	var event struct { // the CloudEvents attributes alone
		ID     string    `json:"id"`
		Source string    `json:"source"`
		Time   time.Time `json:"time"`
		Data   struct {
			Version uint64 `json:"version"`
		} `json:"data"`
	}
	if json.Unmarshal(b.Raw, &event) == nil {
		d.EventID, d.Source, d.Time, d.Version = event.ID, event.Source, event.Time, event.Data.Version
	}
	return d
}
