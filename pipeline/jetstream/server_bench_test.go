package jetstream_test

import (
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
)

// guarantee is what a message costs the server from one step of
// [BenchmarkServer] to the next.
type guarantee int

const (
	oneSubject guarantee = iota // nothing but the payload
	orderSubjects
	withIDs      // Nats-Msg-Id: no message twice
	withExpected // expected sequence of the order's subjects: no stale writer
	withHeaders  // version, content hash, Watermill's id
	withBucket   // the last state of each order in a bucket
)

// BenchmarkServer says what each guarantee of the log costs the server itself:
// atomic batches of the bare client, as many at a time as the Publisher has,
// into an empty server for every step. The last step is the Publisher's work
// without the Publisher. Each order has one version before anything is measured.
func BenchmarkServer(b *testing.B) {
	asTheProgram(b)
	for step, name := range []string{
		"one subject", "a subject an order", "and ids", "and expected sequences", "and headers", "and the bucket",
	} {
		b.Run(name, func(b *testing.B) { guarantee(step).bench(b) })
	}
}

// known is the number of orders that have a version before they are changed.
const known = 200_000

func (g guarantee) bench(b *testing.B) {
	url := pipelinetest.Server(b, b.TempDir()).URL()
	js := admin(b, url)
	payload := benchMessage(b, 1, 2, 1).Payload
	for done := 0; done < b.N; {
		b.StopTimer()
		from := done % known
		if from == 0 {
			g.begin(b, js, payload)
		}
		n := min(side*jetstream.MaxBatch, b.N-done, known-from)
		all := g.batch(payload, from, n, 1)
		b.StartTimer()
		sideBySide(b, js.Conn(), all)
		done += n
	}
	perSecond(b)
}

// begin makes the streams anew, with one version of each order: order n has the
// sequence n+1.
func (g guarantee) begin(b *testing.B, js natsjs.JetStream, payload []byte) {
	b.Helper()
	g.streams(b, js)
	for n := 0; n < known; n += jetstream.MaxBatch {
		if err := rawBatch(b.Context(), js.Conn(), g.batch(payload, n, jetstream.MaxBatch, 0)); err != nil {
			b.Fatal(err)
		}
	}
}

func (g guarantee) streams(b *testing.B, js natsjs.JetStream) {
	b.Helper()
	configs := []natsjs.StreamConfig{{Name: "PLAIN", Subjects: []string{"plain.>"}, AllowAtomicPublish: true}}
	if g >= withBucket {
		configs = append(configs, natsjs.StreamConfig{
			Name: "STATE", MaxMsgsPerSubject: 1, PersistMode: natsjs.AsyncPersistMode,
			Sources: []*natsjs.StreamSource{{Name: "PLAIN", SubjectTransforms: []natsjs.SubjectTransformConfig{
				{Source: "plain.*.*.*.*", Destination: "state.{{wildcard(1)}}.{{wildcard(2)}}.{{wildcard(3)}}"},
			}}},
		})
	}
	for _, c := range configs {
		if err := js.DeleteStream(b.Context(), c.Name); err != nil && !errors.Is(err, natsjs.ErrStreamNotFound) {
			b.Fatal(err)
		}
		if _, err := js.CreateStream(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

// batch makes the messages of orders from..from+n.
func (g guarantee) batch(payload []byte, from, n, version int) []*nats.Msg {
	all := make([]*nats.Msg, n)
	for i := range all {
		all[i] = g.message(payload, from+i, version)
	}
	return all
}

func (g guarantee) message(payload []byte, order, version int) *nats.Msg {
	m := nats.NewMsg("plain.a.b.c.d")
	m.Data = payload
	if g >= orderSubjects {
		m.Subject = fmt.Sprintf("plain.main.%d.A%08d.updated", order%20, order)
	}
	id := fmt.Sprintf("%030d%02d", order, version)
	if g >= withIDs {
		m.Header.Set("Nats-Msg-Id", id)
	}
	if g >= withExpected {
		last := 0
		if version > 0 {
			last = order + 1
		}
		m.Header.Set("Nats-Expected-Last-Subject-Sequence", strconv.Itoa(last))
		m.Header.Set("Nats-Expected-Last-Subject-Sequence-Subject", fmt.Sprintf("plain.main.%d.A%08d.*", order%20, order))
	}
	if g >= withHeaders {
		m.Header.Set("_watermill_message_uuid", id)
		m.Header.Set("Orderwire-State", strconv.Itoa(version)+"-0123456789abcdef")
		m.Header.Set("Content-Type", "application/json")
	}
	return m
}
