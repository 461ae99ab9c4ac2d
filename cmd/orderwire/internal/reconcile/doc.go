// Package reconcile holds the commission books against the log, the archive and
// the network's own answers, order by order, and against themselves.
//
// # What is compared
//
// The books stand at a position P of the log, and everything is read of one state
// of them. Beside them is put, by the rules of package commission:
//
//   - log: the newest event of each order up to P, from the log and, what has aged
//     out of it, from the archive. An order whose event is in neither is counted as
//     not comparable, with the range that is missing.
//   - archive: the newest event of each order up to P, from the archive alone. An
//     order whose newest event lies behind the archive's end, or in a range that no
//     commit covers, is not comparable.
//   - network: what the network answers now. Its orders are listed by the time of
//     their creation, page by page, in the way and at the rate of package poller;
//     those that it does not list are asked for one by one, the first 1000 of them.
//
// The network's answers are newer than the books. An order that it shows otherwise
// is therefore held against the order's last event in the log, which is asked for
// after the network has answered:
//
//   - The log has the state that the network shows, behind P: the order is
//     explained, not booked yet.
//   - The log has it not, and the network says by its update times that the order
//     has changed since the account was read (less the overlap of the polls): it is
//     explained, not polled yet. The same holds of an account that is not polled by
//     update time, as any later answer can be newer than the last reading.
//   - The log has a later answer than ours: the network is asked again.
//   - Anything else is a difference, and so is an order whose event up to P is not
//     what the books have, whatever the network says.
//
// An order belongs to a range of days when either side places it there.
//
// # Memory
//
// Both sides are sorted by the key of the order, in runs of 32,768 records that go
// to temporary files, and merged; of each run a buffer of 16 KiB is held. With
// 1,000,000 orders the heap stays below 100 MiB (BenchmarkRun). The files take about
// 120 bytes for each event that is read. Differences go to a file too. The sums that
// are checked within the books are the database's work, in its own temporary files.
// Only of the orders that have changed at the network since the last poll, a hash
// each is held.
package reconcile
