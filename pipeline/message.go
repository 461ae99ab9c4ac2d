package pipeline

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/schema"
)

// Metadata of a message on its way into the log.
const (
	// MetaSubject is the subject to publish to; it is not stored.
	MetaSubject = "Orderwire-Subject"
	// MetaFilter is the subject filter of the order's events, on which
	// MetaExpected is checked; it is not stored.
	MetaFilter = "Orderwire-Filter"
	// MetaExpected is the sequence of the order's last event in the log,
	// decimal, "0" for none. A message without it is published unconditionally.
	MetaExpected = "Orderwire-Expected"
	// MetaState is what the index of a log keeps of the order after the event; see
	// [FormatState]. It is one header, not two, because a message of the log then has
	// eight: clients that keep headers in a map read nine in twice the time.
	MetaState = "Orderwire-State"
	// MetaContentType is the media type of the payload.
	MetaContentType = "Content-Type"
)

// Metadata that the log's subscriber adds to a message.
const (
	// MetaSequence is the stream sequence, decimal.
	MetaSequence = "Orderwire-Sequence"
	// MetaStored is the broker's time of storage, Unix nanoseconds, decimal.
	MetaStored = "Orderwire-Stored"
	// MetaDelivery counts the deliveries of this message, from "1".
	MetaDelivery = "Orderwire-Delivery"
)

// Topic is the Watermill topic of all order events.
const Topic = schema.SubjectRoot

// eventSize is a guess of the size of an event, in bytes.
const eventSize = 1536

// NewMessage wraps an event for the log. expected is the sequence of the
// order's last event, 0 for none; content is the hash of the raw record.
func NewMessage(e *schema.Event, expected, content uint64) (*message.Message, error) {
	payload, err := e.AppendJSON(make([]byte, 0, eventSize))
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	order := schema.SubjectRoot + "." + e.Subject + "."
	msg := message.NewMessage(e.ID, payload)
	msg.Metadata = message.Metadata{
		MetaSubject:     order + e.Type.Token(),
		MetaFilter:      order + "*",
		MetaExpected:    strconv.FormatUint(expected, 10),
		MetaState:       FormatState(e.Data.Version, content),
		MetaContentType: schema.ContentType,
	}
	return msg, nil
}

// FormatState writes an order's version, decimal, and behind a dash the hash of its
// record's raw bytes, 16 hexadecimal digits.
func FormatState(version, content uint64) string {
	const most = len("18446744073709551615-") + 16
	b := append(strconv.AppendUint(make([]byte, 0, most), version, 10), '-')
	return string(hex.AppendEncode(b, binary.BigEndian.AppendUint64(make([]byte, 0, 8), content)))
}

// ParseState reverses [FormatState]; ok is false for another text.
func ParseState(text string) (version, content uint64, ok bool) {
	before, hash, _ := strings.Cut(text, "-")
	version, errVersion := strconv.ParseUint(before, 10, 64)
	content, errContent := strconv.ParseUint(hash, 16, 64)
	if errVersion != nil || errContent != nil || len(hash) != 16 {
		return 0, 0, false
	}
	return version, content, true
}

// ReadEntry unwraps a message of the log. When only the event is unreadable,
// the entry has its sequence and raw bytes all the same, and the error wraps
// [ErrPoison].
func ReadEntry(msg *message.Message) (schema.Entry, error) {
	seq, errSeq := strconv.ParseUint(msg.Metadata.Get(MetaSequence), 10, 64)
	stored, errStored := strconv.ParseInt(msg.Metadata.Get(MetaStored), 10, 64)
	if err := errors.Join(errSeq, errStored); err != nil {
		return schema.Entry{}, fmt.Errorf("message %s does not come from the log: %w", msg.UUID, err)
	}
	e := schema.Entry{
		Sequence: seq, Stored: time.Unix(0, stored).UTC(),
		Subject: msg.Metadata.Get(MetaSubject), Raw: msg.Payload, Trace: msg.Metadata.Get(MetaTrace),
	}
	var err error
	if e.Event, err = schema.ParseEvent(msg.Payload); err != nil {
		return e, fmt.Errorf("%w: %w", ErrPoison, err)
	}
	return e, nil
}
