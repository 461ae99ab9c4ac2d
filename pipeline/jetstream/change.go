package jetstream

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Change is a setting of a stream that differs from the configuration.
type Change struct {
	Setting  string // as in the configuration: max_age, replicas
	From, To string // 0 where there is no bound
	Note     string // what it means, "" when that is plain
}

// String gives "replicas 3 -> 1 (fewer copies, no event goes)".
func (c Change) String() string {
	s := c.Setting + " " + c.From + " -> " + c.To
	if c.Note != "" {
		s += " (" + c.Note + ")"
	}
	return s
}

// settings are what Orderwire sets, by the names of the configuration.
var settings = []struct {
	name string
	text func(*jetstream.StreamConfig) string
}{
	{"storage", func(c *jetstream.StreamConfig) string { return strings.ToLower(c.Storage.String()) }},
	{"replicas", func(c *jetstream.StreamConfig) string { return strconv.Itoa(c.Replicas) }},
	{"max_age", func(c *jetstream.StreamConfig) string { return span(c.MaxAge) }},
	{"max_bytes", func(c *jetstream.StreamConfig) string { return bound(c.MaxBytes) }},
	{"max_messages", func(c *jetstream.StreamConfig) string { return bound(c.MaxMsgs) }},
	{"max_message_size", func(c *jetstream.StreamConfig) string { return bound(int64(c.MaxMsgSize)) }},
	{"messages of a subject", func(c *jetstream.StreamConfig) string { return bound(c.MaxMsgsPerSubject) }},
	{"duplicate_window", func(c *jetstream.StreamConfig) string { return span(c.Duplicates) }},
	{"compression", func(c *jetstream.StreamConfig) string { return strings.ToLower(c.Compression.String()) }},
	{"atomic batches", func(c *jetstream.StreamConfig) string { return onOff(c.AllowAtomicPublish) }},
	{"direct reads", func(c *jetstream.StreamConfig) string { return onOff(c.AllowDirect) }},
}

// changes compares two configurations of a stream.
func changes(from, to *jetstream.StreamConfig) []Change {
	var all []Change
	for _, s := range settings {
		if a, b := s.text(from), s.text(to); a != b {
			all = append(all, Change{Setting: s.name, From: a, To: b, Note: note(s.name, from, to)})
		}
	}
	return all
}

func note(setting string, from, to *jetstream.StreamConfig) string {
	if setting == "replicas" && to.Replicas < from.Replicas {
		return "fewer copies, no event goes"
	}
	return ""
}

func bound(n int64) string { return strconv.FormatInt(max(n, 0), 10) }

// span writes 2160h0m0s as 2160h.
func span(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

// StreamPlan is what has to be done about a stream.
type StreamPlan struct {
	Stream  string
	New     bool     // there is none yet
	Changes []Change // none when it is as configured, or new
	// Refused says why it is not done, nil when it can be.
	Refused *MigrationError
}

// String gives "stream ORDERS: max_age 0 -> 2160h; replicas 1 -> 3".
func (p StreamPlan) String() string {
	var parts []string
	for _, c := range p.Changes {
		parts = append(parts, c.String())
	}
	switch {
	case p.New:
		parts = []string{"new"}
	case len(parts) == 0:
		parts = []string{"as configured"}
	}
	return fmt.Sprintf("stream %s: %s", p.Stream, strings.Join(parts, "; "))
}

// MigrationError says that a stream is not brought to its configuration,
// because data would go or because the stream is somebody else's.
type MigrationError struct {
	Stream string
	Reason string // what is in the way, and what would be lost
	Hint   string // what to do
}

// Error gives "stream NAME: reason (hint)".
func (e *MigrationError) Error() string {
	return fmt.Sprintf("stream %s: %s (%s)", e.Stream, e.Reason, e.Hint)
}
