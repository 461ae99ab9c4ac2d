package schema

import (
	"fmt"
	"slices"
	"strconv"
)

// SettlementStatus is the state of an order towards the publisher, field
// Status (specification 3.1). Its zero value is [Pending].
type SettlementStatus int8

// The settlement states of specification 3.1.
const (
	Invalid   SettlementStatus = -1
	Pending   SettlementStatus = 0
	Confirmed SettlementStatus = 1
	Approved  SettlementStatus = 2
)

// LineStatus is the translated merchant status of an order line, field
// LbOrderStatus (specification 3.2). Its zero value is no status at all.
type LineStatus int8

// The line states of specification 3.2.
const (
	LineUnknown         LineStatus = -1
	LineToBePaid        LineStatus = 1
	LinePaid            LineStatus = 2
	LineInProgress      LineStatus = 21
	LineShipped         LineStatus = 3
	LineInDelivery      LineStatus = 31
	LineRejected        LineStatus = 32
	LineReceived        LineStatus = 4
	LineSettling        LineStatus = 41
	LineSettled         LineStatus = 5
	LineInvalid         LineStatus = 6
	LineCompleted       LineStatus = 7
	LineInDispute       LineStatus = 8
	LineDisputeResolved LineStatus = 81
	LineDisputeFailed   LineStatus = 82
	LineRefund          LineStatus = 9
	LineReturn          LineStatus = 10
	LineSystemLocked    LineStatus = 11
)

type statusName[S ~int8] struct {
	status S
	name   string
}

var settlementNames = []statusName[SettlementStatus]{
	{Invalid, "Invalid"}, {Pending, "Pending"}, {Confirmed, "Confirmed"}, {Approved, "Approved"},
}

var lineNames = []statusName[LineStatus]{
	{LineUnknown, "Unknown"}, {LineToBePaid, "To be paid"}, {LinePaid, "Paid"},
	{LineInProgress, "In progress"}, {LineShipped, "Shipped"}, {LineInDelivery, "In delivery"},
	{LineRejected, "Rejected"}, {LineReceived, "Received"}, {LineSettling, "Settling"},
	{LineSettled, "Settled"}, {LineInvalid, "Invalid"}, {LineCompleted, "Completed"},
	{LineInDispute, "In dispute"}, {LineDisputeResolved, "Dispute resolved"},
	{LineDisputeFailed, "Dispute failed"}, {LineRefund, "Refund"}, {LineReturn, "Return"},
	{LineSystemLocked, "System locked"},
}

// ParseSettlementStatus reads the value of specification 3.1 ("-1", "0", "1",
// "2") or its name ("Pending"); anything else is an error.
func ParseSettlementStatus(s string) (SettlementStatus, error) {
	return parseStatus(s, settlementNames, "settlement status")
}

// ParseLineStatus reads the value of specification 3.2 ("-1" … "82") or its
// name ("In dispute"); anything else is an error.
func ParseLineStatus(s string) (LineStatus, error) {
	return parseStatus(s, lineNames, "line status")
}

// SettlementStatuses lists all settlement states in the specification's order.
func SettlementStatuses() []SettlementStatus { return statuses(settlementNames) }

// LineStatuses lists all line states in the specification's order.
func LineStatuses() []LineStatus { return statuses(lineNames) }

// String returns the name of the specification, "SettlementStatus(7)" for a
// value that it does not know.
func (s SettlementStatus) String() string {
	return statusString(s, settlementNames, "SettlementStatus")
}

// Value returns the number of the specification as the API writes it.
func (s SettlementStatus) Value() string { return strconv.Itoa(int(s)) }

// String returns the name of the specification, "LineStatus(0)" for a value
// that it does not know.
func (s LineStatus) String() string { return statusString(s, lineNames, "LineStatus") }

// Value returns the number of the specification as the API writes it.
func (s LineStatus) Value() string { return strconv.Itoa(int(s)) }

// Regresses reports whether a move from → to goes back in the life of an
// order: out of a final state, or from a later state to an earlier one. The
// specification gives no transitions, so such a move is marked, not refused.
func (s SettlementStatus) Regresses(to SettlementStatus) bool {
	return to != s && to != Invalid && (s == Invalid || to < s)
}

// lineRank orders the line states along the life of a parcel; states with the
// same rank are alternatives.
var lineRank = map[LineStatus]int{
	LineToBePaid: 1, LinePaid: 2, LineInProgress: 3, LineShipped: 4, LineInDelivery: 5,
	LineReceived: 6, LineSettling: 7, LineSettled: 8, LineCompleted: 9,
}

// Regresses reports whether a move goes back along paid, shipped, received,
// settled, completed. Moves into or out of the other states (disputes, refunds,
// locks) are never called backwards.
func (s LineStatus) Regresses(to LineStatus) bool {
	from, known := lineRank[s]
	next, knownTo := lineRank[to]
	return known && knownTo && next < from
}

func parseStatus[S ~int8](s string, names []statusName[S], what string) (S, error) {
	n, err := strconv.ParseInt(s, 10, 8)
	for _, e := range names {
		if (err == nil && int64(e.status) == n) || e.name == s {
			return e.status, nil
		}
	}
	return 0, fmt.Errorf("%q is no %s of the specification", clip(s), what)
}

func statusString[S ~int8](s S, names []statusName[S], typ string) string {
	i := slices.IndexFunc(names, func(e statusName[S]) bool { return e.status == s })
	if i < 0 {
		return typ + "(" + strconv.Itoa(int(s)) + ")"
	}
	return names[i].name
}

func statuses[S ~int8](names []statusName[S]) []S {
	all := make([]S, len(names))
	for i, e := range names {
		all[i] = e.status
	}
	return all
}
