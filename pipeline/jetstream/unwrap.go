package jetstream

import (
	"errors"
	"fmt"
	"strings"

	wmnats "github.com/ThreeDotsLabs/watermill-nats/v2/pkg/nats"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline"
)

// errUnreadable marks a message that watermill-nats' NATSMarshaler cannot have
// written.
var errUnreadable = errors.New("message of another kind in the log")

// place is what a message's reply subject says of its delivery.
type place struct {
	sequence uint64 // in the stream
	consumer uint64 // in the consumer's deliveries
	pending  uint64 // messages that the consumer has behind this one
	count    int    // deliveries of this message, from 1
}

// placeText holds parts of that subject.
type placeText struct{ sequence, count, stored string }

// replyTokens is the most tokens that a reply subject is looked through for.
const replyTokens = 12

// locate reads the subject to which a message is acknowledged:
// $JS.ACK.<stream>.<consumer>.<count>.<sequence>.<consumer sequence>.<time>.<pending>,
// with domain and account before the stream, and more tokens behind, on some servers.
func locate(reply string) (place, placeText, error) {
	var ends [replyTokens]int // of the tokens
	n := 0
	for i := 0; i < len(reply) && n < replyTokens-1; i++ {
		if reply[i] == '.' {
			ends[n] = i
			n++
		}
	}
	ends[n] = len(reply)
	first := 4
	if n >= 10 {
		first = 6
	}
	var numbers [5]uint64 // count, sequence, consumer sequence, time, pending
	var texts [5]string
	ok := n >= 8 && strings.HasPrefix(reply, "$JS.ACK.")
	for i := range numbers {
		if ok {
			texts[i] = reply[ends[first+i-1]+1 : ends[first+i]]
			numbers[i], ok = decimal(texts[i])
		}
	}
	if !ok {
		return place{}, placeText{}, fmt.Errorf("reply subject %q is not that of a delivery", reply)
	}
	return place{count: int(numbers[0]), sequence: numbers[1], consumer: numbers[2], pending: numbers[4]},
		placeText{count: texts[0], sequence: texts[1], stored: texts[3]}, nil
}

// decimal reads a number as the server writes it.
func decimal(s string) (n uint64, ok bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + uint64(s[i]-'0')
	}
	return n, s != ""
}

// unwrap reads a message in the wire format of watermill-nats' NATSMarshaler and
// adds where it stands. Headers by which the server stored or delivered it are
// left out. A header with several values is not of that format: the message has
// its first value then, and the error wraps errUnreadable.
func unwrap(m jetstream.Msg, t placeText) (*message.Message, error) {
	headers := m.Headers()
	var err error
	msg := message.NewMessage("", m.Data())
	for name, values := range headers {
		if len(values) == 0 || serverHeader(name) {
			continue
		}
		if name == wmnats.WatermillUUIDHdr {
			msg.UUID = values[0]
			continue
		}
		if len(values) > 1 && err == nil {
			err = fmt.Errorf("%w: header %s has %d values", errUnreadable, name, len(values))
		}
		msg.Metadata[name] = values[0]
	}
	msg.Metadata[pipeline.MetaSubject] = m.Subject()
	msg.Metadata[pipeline.MetaSequence] = t.sequence
	msg.Metadata[pipeline.MetaStored] = t.stored
	msg.Metadata[pipeline.MetaDelivery] = t.count
	return msg, err
}

// serverHeader reports whether a header is the server's own: how the message was
// to be stored, or was delivered.
func serverHeader(name string) bool {
	rest, ok := strings.CutPrefix(name, "Nats-")
	return ok && (rest == "Msg-Id" || rest == "Pin-Id" || strings.HasPrefix(rest, "Expected-") || strings.HasPrefix(rest, "Batch-"))
}
