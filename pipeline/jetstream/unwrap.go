package jetstream

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	wmnats "github.com/ThreeDotsLabs/watermill-nats/v2/pkg/nats"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline"
)

// headerPin names the reader that a consumer is pinned to.
const headerPin = "Nats-Pin-Id"

// errUnreadable marks a message that watermill-nats' NATSMarshaler cannot have
// written.
var errUnreadable = errors.New("message of another kind in the log")

// place is what a message's reply subject says of its delivery. The texts are
// parts of that subject.
type place struct {
	sequence uint64 // in the stream
	consumer uint64 // in the consumer's deliveries
	count    int    // deliveries of this message, from 1

	sequenceText, countText, storedText string
}

// locate reads the subject to which a message is acknowledged:
// $JS.ACK.<stream>.<consumer>.<count>.<sequence>.<consumer sequence>.<time>.<pending>,
// with domain and account before the stream, and more tokens behind, on some servers.
func locate(reply string) (place, error) {
	skip := 4
	if strings.Count(reply, ".") > 8 {
		skip = 6
	}
	rest, found := reply, strings.HasPrefix(reply, "$JS.ACK.")
	for range skip {
		_, rest, _ = strings.Cut(rest, ".")
	}
	var p place
	var inConsumer string
	p.countText, rest, _ = strings.Cut(rest, ".")
	p.sequenceText, rest, _ = strings.Cut(rest, ".")
	inConsumer, rest, _ = strings.Cut(rest, ".")
	p.storedText, _, _ = strings.Cut(rest, ".")
	count, errCount := strconv.Atoi(p.countText)
	sequence, errSequence := strconv.ParseUint(p.sequenceText, 10, 64)
	consumer, errConsumer := strconv.ParseUint(inConsumer, 10, 64)
	if err := errors.Join(errCount, errSequence, errConsumer); err != nil || !found {
		return place{}, fmt.Errorf("reply subject %q is not that of a delivery", reply)
	}
	p.count, p.sequence, p.consumer = count, sequence, consumer
	return p, nil
}

// unwrap reads a message in the wire format of watermill-nats' NATSMarshaler and
// adds where it stands. Headers by which the server stored or delivered it are
// left out. A header with several values is not of that format: the message has
// its first value then, and the error wraps errUnreadable.
func unwrap(m jetstream.Msg, p place) (*message.Message, error) {
	headers := m.Headers()
	var err error
	msg := message.NewMessage(headers.Get(wmnats.WatermillUUIDHdr), m.Data())
	for name, values := range headers {
		if serverHeader(name) || len(values) == 0 {
			continue
		}
		if len(values) > 1 && err == nil {
			err = fmt.Errorf("%w: header %s has %d values", errUnreadable, name, len(values))
		}
		msg.Metadata[name] = values[0]
	}
	msg.Metadata[pipeline.MetaSubject] = m.Subject()
	msg.Metadata[pipeline.MetaSequence] = p.sequenceText
	msg.Metadata[pipeline.MetaStored] = p.storedText
	msg.Metadata[pipeline.MetaDelivery] = p.countText
	return msg, err
}

// serverHeader reports whether a header is none of the publisher's metadata.
func serverHeader(name string) bool {
	if name == "" || name[0] != 'N' && name[0] != '_' {
		return false
	}
	switch name {
	case wmnats.WatermillUUIDHdr, jetstream.MsgIDHeader, headerPin, headerBatchID, headerBatchSeq, headerBatchCommit,
		jetstream.ExpectedLastMsgIDHeader, jetstream.ExpectedStreamHeader, jetstream.ExpectedLastSeqHeader,
		jetstream.ExpectedLastSubjSeqHeader, jetstream.ExpectedLastSubjSeqSubjHeader:
		return true
	default:
		return false
	}
}
