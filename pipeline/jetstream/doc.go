// Package jetstream is the log on NATS JetStream: stream and bucket
// definitions, Watermill Publisher and Subscriber, the state index, cursors,
// and the embedded server. It is the only package that imports NATS.
//
// # Publishing
//
// A call of [Publisher.Publish] goes out in atomic batches: all messages of a
// batch are stored or none (NATS ADR-50). Each message names the sequence that
// its order's last event must have (Nats-Expected-Last-Subject-Sequence on the
// order's subjects) and its deterministic id (Nats-Msg-Id). A writer with an
// outdated picture therefore cannot double, lose or reorder an order's events:
// it is refused with a [pipeline.StaleError], loads and compares again. That
// also settles a publish whose answer was lost: it is simply done again.
//
// # State
//
// Bucket "orders" is a KV bucket that the server itself keeps at the last event
// of each order, by sourcing the stream with a subject transform. It has no
// subjects of its own, so nobody can write to it. It may lag behind the stream
// for a moment; [Log.Load] asks the stream first and the bucket for what has
// aged out, and the index reads the bucket and then the stream's tail behind it.
//
// # Reading
//
// [Log.Subscriber] reads in one of two modes. From a position: in stream order,
// nothing to acknowledge, for readers that keep their own cursor, as all sinks
// of Orderwire do, because a server-side cursor redelivers after a crash in
// an order that would overtake events of the same order. Or with a durable
// consumer and explicit acknowledgement, for services that want the server to
// keep their cursor.
package jetstream
