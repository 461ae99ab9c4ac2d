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
// # Parked orders
//
// Bucket "orderwire_parked" has a key for each endpoint and order whose delivery
// has failed. They are written in atomic batches, because many fail together. A
// reader writes a key of its own first and reads up to it, so that no replica that
// is behind leaves one out. [Log.Next] reads an order's events by its subject.
//
// # Attempts
//
// Stream ORDERWIRE_ATTEMPTS holds the attempts to deliver: messages of up to 256 JSON
// lines, on "orderwire_attempts.<endpoint>.<outcome>", bounded in age and size.
// [AttemptWriter] writes them in the background and delays nobody.
// [Log.SearchAttempts] reads them from the newest backwards, a block of messages
// with each request (NATS ADR-31), and stops when nothing older can count.
//
// # Endpoints
//
// Bucket "orderwire_endpoints" has a key for each endpoint that was added by
// command, with its definition, which is encrypted or not as its owner has it. A
// definition is written only on top of the revision that was read, so two people
// never overwrite each other's change. [Log.WatchEndpoints] tells running
// processes; [Log.Call] asks the one that [Log.Serve]s, without the log.
//
// # Leases
//
// Processes that share a server share the work by [Leases]: one process at a time
// has each, stops by itself when it cannot renew it, and is followed by another.
//
// # Reading
//
// [Log.Subscriber] reads in one of these modes. All of them hand over at least
// once, hold a window of messages at a time, and go on by themselves when the
// connection was interrupted or somebody deleted the consumer on the server.
//
//   - From a position (no Durable): in stream order, always; nothing to
//     acknowledge. For readers that keep their own cursor, as all sinks of
//     Orderwire do.
//   - Durable, acknowledged one by one: any number of processes share the work.
//     The first delivery is in stream order, but a message that comes again, after
//     a Nack or the end of a process, comes behind newer ones of the same order.
//     With a window of 1, which counts for all processes together, nothing
//     overtakes.
//   - Durable with AckAll: in stream order, also after a Nack, a broken
//     connection or a new start: everything from the oldest unacknowledged
//     message on comes again. For one process, and a reader that handles one
//     message after another.
//   - Durable and Pinned: several processes share the durable, and the server
//     gives messages to one of them at a time (a pinned client of a priority
//     group, NATS ADR-42). When it is gone, another begins behind what is
//     acknowledged, in stream order, so the order of each order is kept: at once
//     when it ended by Close, else after Takeover. The reader that lost its place
//     is told by the contexts of its messages, before another takes it. With
//     AckAll the order is kept over Nack too; without, a nacked message comes
//     behind newer ones.
//
// The order of a takeover does not rest on the server's redelivery, which comes
// after AckWait and behind newer messages: an ordered reader sets the consumer
// back to its acknowledgement floor before it begins (NATS ADR-60, server 2.14),
// and begins anew whenever a delivery is missing in the consumer's own sequence.
//
// A message that is not in the wire format of watermill-nats, and one that a
// durable's reader has refused MaxDeliver times, goes into stream ORDERS_DLQ with
// the reason, its sequence and the number of deliveries, and is then settled. If
// it cannot be written there, it stays unsettled. From a position everything is
// handed over, and the reader decides.
package jetstream
