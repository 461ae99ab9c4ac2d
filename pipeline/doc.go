// Package pipeline holds the contracts between the log and the sinks, and the
// runner that feeds a sink: batches, lanes, retries, dead letters, progress.
//
// Two kinds of sink exist. A [Sink] keeps its own position in its own durable
// store, in the same commit as its data, which is how an archive or a ledger
// takes every event exactly once. A [Deliverer] hands single events to somebody
// else, who can only be reached at least once; a [Courier] keeps its cursor, and
// lanes keep the order of each order's events.
//
// # Deliveries
//
// An order whose delivery fails is parked: what it is owed is written into a
// [ParkedStore], and then counts as settled, so that the cursor moves on and all
// other orders pass. Its further events are only noted when they come along. When
// its next attempt is due, they are read again from the log, one after another,
// and from the archive what has left the log. A crash between any two of
// these steps lets events come again, and none is left out: what is written first is
// what owes more. First arrivals of one order are in the log's order always.
//
// The couriers of a process share a [Tail]: the log's end is read and parsed once
// for all of them. A courier that is further back, because it is catching up, or its
// receiver is slow, reads by itself until it has caught up.
//
// A runner that is told how far back the log reaches (see [Retention]) stands
// still when events have aged out before its sink took them, with a [GapError]. A
// [Replay] hands a range of events to a Deliverer from anywhere.
package pipeline
