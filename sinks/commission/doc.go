// Package commission keeps the commission books: which commission each order
// earns today, and the sums of that by day, program, website, sub id, currency
// and settlement status, in an SQL database (SQLite in this version).
//
// # Data flow
//
//	log ─► runner (package pipeline) ─► Books.Write ─► commission_orders ─► Reader.Report
//	                                      one transaction   one row an order   Reader.Totals
//	                                    ─► commission_position
//
// Of each order the books hold one row: its state after its newest event, and
// what it counts as in that state. A report sums the rows, so it is right after
// any sequence of changes; there are no running totals that could drift.
//
// # Delivery guarantee
//
// Exactly once, in effect. A batch and the position behind it are committed in
// one transaction that is on disk when [Books.Write] returns: after a crash
// either both are there or neither, and the runner goes on behind the position.
// An event changes its order's row only if its version is newer, so a batch
// that comes again, in whole or in part, from wherever, changes nothing.
//
// # The rules
//
// Every order counts once, under its present settlement status:
//
//	pending              SiterCommission of OrdersPrice, in Currency
//	confirmed, approved  ConfirmSiterCommission of ConfirmPrice, in ChargeCurrency
//	invalid              no commission of OrdersPrice, in Currency: what was lost
//	anything else        the same as invalid, under the text that the network sent
//
// The day is the date of OrderTime as the network wrote it, in the account's
// zone. An amount that the network has not sent counts as zero. A confirmed
// order without ChargeCurrency counts in Currency. An order that has vanished
// from the network keeps its last state.
//
// # Readers
//
// The database is in WAL mode: [OpenReader] reads beside a running writer, in
// this or in another process, and neither waits for the other.
package commission
