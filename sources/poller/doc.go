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
// "At most one event per order and poll" is meant per answer of the network:
// an order that moves while a poll runs and is seen twice, in two windows, has
// been observed twice.
package poller
