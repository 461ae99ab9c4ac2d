package pipeline

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
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
	// MetaVersion is the order's version after the event, decimal.
	MetaVersion = "Orderwire-Version"
	// MetaContent is the hash of the record's raw bytes, 16 hexadecimal digits.
	MetaContent = "Orderwire-Content"
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
		MetaVersion:     strconv.FormatUint(e.Data.Version, 10),
		MetaContent:     hex16(content),
		MetaContentType: schema.ContentType,
	}
	return msg, nil
}

// hex16 writes a hash in 16 hexadecimal digits.
func hex16(n uint64) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	return hex.EncodeToString(b[:])
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
