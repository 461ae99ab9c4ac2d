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
// outdated picture therefore cannot double, lose or reorder an order's events.
//
// After a refusal the publisher asks the stream's leader about every order of
// the batch, because a replica may be behind and the refusal does not say which
// order it was. Either the batch is there already, byte for byte
// ([pipeline.ErrStored]): its answer was lost, and the same call made again has
// settled that. Or some orders have moved on, and [pipeline.StaleError] names
// them; the index knows their last events by then, so loading and comparing
// again is all that is left to do. The id alone proves nothing: two writers can
// mean different things by version 7 of an order.
//
// While no server can store anything (no leader, no quorum, a leader that
// changed in the middle of a batch), the publisher tries again for the time of
// a request, because then nothing was stored. An answer that does not come in
// time is an error: the outcome is unknown until the call is made again.
//
// Batches with no order in common go side by side, up to four of a connection.
//
// # State
//
// Bucket "orders" is a KV bucket that the server itself keeps at the last event
// of each order, by sourcing the stream with a subject transform. It has no
// subjects of its own, so nobody can write to it. It may lag behind the stream
// for a moment; [Log.Load] asks the stream first and the bucket for what has
// aged out, and the index reads the bucket and then the stream's tail behind it.
// The index holds 28 bytes of an order in flat tables at most seven eighths
// full, without keys: an entry is a hint where to look, and what is found there
// is checked to be the order's.
//
// # Streams
//
// [Open] creates streams and buckets, or brings them to the configuration: it
// compares, says what it changes, and refuses with a [MigrationError] where
// events would go or a stream is somebody else's. [Inspect] does the comparing
// only.
//
// # Leases
//
// Processes that share a server share the work by [Leases]: one process at a time
// has each, stops by itself when it cannot renew it, and is followed by another.
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
