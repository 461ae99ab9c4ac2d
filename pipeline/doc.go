// Package pipeline holds the contracts between the log and the sinks, and the
// runner that feeds a sink: batches, lanes, retries, dead letters, progress.
//
// Two kinds of sink exist. A [Sink] keeps its own position in its own durable
// store, in the same commit as its data, which is how an archive or a ledger
// takes every event exactly once. A [Deliverer] hands single events to somebody
// else, who can only be reached at least once; its cursor is a durable consumer
// of the log, and lanes keep the order of each order's events.
package pipeline
