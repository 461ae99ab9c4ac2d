// Package poller reads the orders of an account from the network, window by
// window, and writes what changed into the log.
//
// A poll walks the time since the last one in spans that the network accepts
// (they overlap what was read before, because two clocks differ), pages through
// each span, fetches the detail of records that lack lines, hands complete
// snapshots to package diff, and publishes the events. The cursor moves behind a
// window only after the log has acknowledged the window's last event, so a crash
// anywhere repeats work and loses nothing, and what is repeated is no change.
//
// A window whose content moves while it is paged can hide an order between two
// pages. Such a window is noticed (the count of distinct orders differs from the
// network's total, or, where the network gives none, a second pass differs from
// the first) and read again in halves, down to a window that fits one page.
//
// A poll overlaps its work: the next page is fetched while one is looked at, what
// changed is compared and published in chunks meanwhile, and the next window
// begins while one comes to its end. An order that is seen again in a window is
// looked at only when the log has what was seen before, and the cursor moves
// window by window, in their order.
//
// Two pollers of one account are one too many, and do no harm: the log refuses
// what was made from an outdated picture, memory is brought up to date before
// every poll, and an answer older than the log's state changes nothing. One thing
// remains: an answer without a change leaves no trace, so a poller that is held up
// between an answer and its publication can bring back a state that another has
// seen gone. The next poll that reads the order puts that right. Leases keep
// such pollers apart (package pipeline/jetstream).
//
// A hint that an order has changed, such as the network's push, is followed at
// once (see [Poller.Fetch]), beside a poll or without one. What was said of two
// pollers holds for the two of them.
//
// "At most one event per order and poll" is meant per answer of the network:
// an order that moves while a poll runs and is seen twice, in two windows, has
// been observed twice.
package poller
