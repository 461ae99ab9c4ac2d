// Package commission keeps the commission books in an SQL database: which
// commission each order earns today, and a ledger of how it came to that, with
// months that are closed one after another.
//
// # Data flow
//
//	log ─► runner (package pipeline) ─► Books.Write ─► commission_states   one row an order
//	                                      one transaction  ledger_postings     one row a change of money, with its lines
//	                                                       commission_totals   sums by day
//	                                                       commission_changes  what each day of posting changed
//	                                                     ─► commission_position
//
// Of each order the books hold one row: its state after its newest event, and
// what it counts as in that state. Beside it stands the ledger, which only grows.
// Sums are kept in the same transaction, as differences between the row before
// and after; the property test holds them to a recomputation from the events.
//
// # Delivery guarantee
//
// Exactly once, in effect. A batch and the position behind it are committed in
// one transaction that is on disk when [Books.Write] returns: after a crash
// either both are there or neither, and the runner goes on behind the position.
// An event changes its order's row, and is posted, only if its version is newer,
// so a batch that comes again, in whole or in part, from wherever, changes nothing.
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
// # The ledger
//
// An order stands with its commission in one account: estimated, confirmed or
// approved while it earns, reversed when it is lost. From where it stood to where
// it stands now (a and b are commissions, X and Y accounts, c a currency):
//
//	recognised  nothing → Y b          Y +b, earnings −b
//	adjusted    X a → X b              X +(b−a), adjustment −(b−a)
//	moved       X a → Y b              X −a, Y +b, adjustment −(b−a)
//	converted   X a in c → Y b in d    X −a, conversion +a in c; Y +b, conversion −b in d
//	reversed    X a → lost             X −a, reversed +a
//	restored    lost a → Y b           as moved or converted, from reversed
//
// So the lines of a transaction add up to 0 in each currency, which the code
// checks before it writes. An order that was never more than lost stands nowhere.
// Lines of 0 are left out, and a transaction without lines is none.
//
// A transaction is posted on the day of observed_at in the zone of the books, or,
// when that month is closed, on the first open day. It then names in corrects the
// order's newest transaction in a closed month, as does every later one of such an
// order. The months are closed in their order, see [Books.CloseMonth]; what a closed
// month held is kept with a SHA-256 over its entries, see [Reader.CheckMonth].
//
// Books of version 1, which had no ledger, begin it with an opening transaction
// for each order that earns, dated by its last observation, in UTC.
//
// # The sums
//
// Orders, order amount and commission are added up by day, currency and status:
// for each program, for each website, for each sub id and for each link. The day is
// that of the order, of the settlement as the network writes it, or of the posting.
// By posting means what a day changed: an order that goes from one status to another
// is taken out of the one and put into the other. For all of these together only that
// is kept, as one text a day and stretch of the log, since there are nearly as many such
// sums as events; by the other days there would be about as many as orders. So a report
// that asks for several of these together adds up the orders, or reads these texts,
// and does it in memory.
// Beside that the books keep what was estimated and what came of settled orders, and
// how many days approvals took.
//
// # Rows
//
// Rows are narrow, since writing them is what posting costs: a text that repeats is
// its number in commission_texts or commission_dimensions, a day is the number
// 20260301, and a transaction is one row with its two to four lines. For people, and
// for checks, the views commission_orders, ledger_transactions, ledger_entries and
// commission_sums show all of it with its texts.
//
// # Databases
//
// SQLite and PostgreSQL have the same tables, from the same migrations; a dialect
// holds what differs. One row holds the position and the numbers given out last. A
// writer locks it first, so two of them take turns.
//
// An SQLite database is in WAL mode: [OpenReader] reads beside a running writer,
// in this or in another process, and neither waits for the other. In PostgreSQL a
// batch is written as arrays, one statement for each table; rows that are there are
// updated, and no index holds what an event changes, so that none is written anew.
package commission
