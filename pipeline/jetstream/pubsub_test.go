package jetstream_test

import (
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"

	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
)

// pair makes Publishers and Subscribers for Watermill's own test suite, each with
// a connection of its own.
type pair struct {
	url string
	cfg jetstream.SubscriberConfig // without Durable
}

func (p pair) open(t *testing.T, durable string) (message.Publisher, message.Subscriber) {
	t.Helper()
	l, err := jetstream.Open(t.Context(), jetstream.Config{URL: p.url, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	cfg := p.cfg
	cfg.Durable, cfg.NackDelay = durable, time.Millisecond
	return l.Publisher(), l.Subscriber(cfg)
}

// shared gives all subscribers of a test the same durable.
func (p pair) shared(t *testing.T) (message.Publisher, message.Subscriber) {
	t.Helper()
	return p.open(t, "suite")
}

// own gives every subscriber a durable of its own.
func (p pair) own(t *testing.T) (message.Publisher, message.Subscriber) {
	t.Helper()
	return p.open(t, "own-"+watermill.NewUUID())
}

// atPosition gives subscribers that read from the beginning and acknowledge nothing.
func (p pair) atPosition(t *testing.T) (message.Publisher, message.Subscriber) {
	t.Helper()
	return p.open(t, "")
}

// logTopic makes the suite's topics subjects that the log takes.
func logTopic(ctx tests.TestContext) string {
	return "orders.suite." + ctx.TestID.String() + ".x.created"
}

// variants are the ways of subscribing that pass the suite, and what each has.
func variants() map[string]struct {
	cfg      jetstream.SubscriberConfig
	features tests.Features
} {
	type variant = struct {
		cfg      jetstream.SubscriberConfig
		features tests.Features
	}
	base := tests.Features{ConsumerGroups: true, Persistent: true, GenerateTopicFunc: logTopic}
	inOrder := base
	inOrder.GuaranteedOrder = true
	alone := base
	alone.RequireSingleInstance = true
	return map[string]variant{
		"explicit":      {jetstream.SubscriberConfig{}, base},
		"one at a time": {jetstream.SubscriberConfig{Window: 1}, inOrder},
		"ack all":       {jetstream.SubscriberConfig{AckAll: true}, alone},
		"pinned":        {jetstream.SubscriberConfig{AckAll: true, Pinned: true, Takeover: 3 * time.Second}, base},
	}
}

// testPubSub runs the suite in all modes. short takes its short form, for a server
// that syncs every single message to a slow disk.
func testPubSub(t *testing.T, url string, short bool) {
	t.Helper()
	for name, v := range variants() {
		v.features.ForceShort = short
		t.Run(name, func(t *testing.T) {
			p := pair{url: url, cfg: v.cfg}
			tests.TestPubSub(t, v.features, p.shared, p.open)
		})
	}
	t.Run("old messages", func(t *testing.T) {
		features := variants()["explicit"].features
		features.NewSubscriberReceivesOldMessages, features.ForceShort = true, short
		p := pair{url: url}
		tests.TestPubSub(t, features, p.own, p.open)
	})
	t.Run("in order", func(t *testing.T) { testInOrder(t, url, short) })
	t.Run("from a position", func(t *testing.T) { testAtPosition(t, url, short) })
}

// testInOrder runs the suite's test of order in the modes that hold more than one
// message. The whole of GuaranteedOrder asks that the next message comes only
// when the one before is acknowledged.
func testInOrder(t *testing.T, url string, short bool) {
	t.Helper()
	for name, v := range variants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v.features.GuaranteedOrder, v.features.ForceShort = true, short
			v.features.GuaranteedOrderWithSingleSubscriber = !v.cfg.Pinned && v.cfg.Window != 1
			p := pair{url: url, cfg: v.cfg}
			tests.TestPublishSubscribeInOrder(t, tests.TestContext{TestID: tests.NewTestID(), Features: v.features}, p.shared)
		})
	}
}

// testAtPosition runs those of the suite's tests that need no acknowledgements.
func testAtPosition(t *testing.T, url string, short bool) {
	t.Helper()
	p := pair{url: url}
	features := tests.Features{
		Persistent: true, GuaranteedOrder: true, GuaranteedOrderWithSingleSubscriber: true, NewSubscriberReceivesOldMessages: true,
		GenerateTopicFunc: logTopic, ForceShort: short,
	}
	for name, test := range map[string]func(*testing.T, tests.TestContext, tests.PubSubConstructor){
		"TestPublishSubscribe":                  tests.TestPublishSubscribe,
		"TestConcurrentSubscribe":               tests.TestConcurrentSubscribe,
		"TestConcurrentSubscribeMultipleTopics": tests.TestConcurrentSubscribeMultipleTopics,
		"TestContinueAfterSubscribeClose":       tests.TestContinueAfterSubscribeClose,
		"TestConcurrentClose":                   tests.TestConcurrentClose,
		"TestPublishSubscribeInOrder":           tests.TestPublishSubscribeInOrder,
		"TestPublisherClose":                    tests.TestPublisherClose,
		"TestTopic":                             tests.TestTopic,
		"TestSubscribeCtx":                      tests.TestSubscribeCtx,
		"TestNewSubscriberReceivesOldMessages":  tests.TestNewSubscriberReceivesOldMessages,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, tests.TestContext{TestID: tests.NewTestID(), Features: features}, p.atPosition)
		})
	}
}

// Watermill's own suite, on the embedded server.
func TestPubSub(t *testing.T) {
	t.Parallel()
	server := pipelinetest.Server(t, t.TempDir())
	pipelinetest.Log(t, server.URL())
	testPubSub(t, server.URL(), false)
}

// The suite ten times side by side, in its short form: TestPubSub runs it at full
// length. STRESS_TEST_COUNT sets how many there are.
func TestPubSubStress(t *testing.T) {
	t.Parallel()
	for name, v := range variants() {
		t.Run(name, func(t *testing.T) {
			server := pipelinetest.Server(t, t.TempDir()) // of its own: a stream takes 1000 consumers at most
			pipelinetest.Log(t, server.URL())
			v.features.ForceShort = true
			p := pair{url: server.URL(), cfg: v.cfg}
			tests.TestPubSubStressTest(t, v.features, p.shared, p.open)
		})
	}
}
