// Package postback takes the order push of a network (network facts: one signed
// request per order to an address of the publisher) as a hint that an order has
// changed. What the push says of the order is not believed: the order is fetched
// through the signed API at once, and published like one that a poll has read.
//
// A push is taken for an account when it is signed with that account's App
// Secret over the path as it was received, and its Timestamp is near. It is
// answered "1" when it is taken, and "-1" when it is not: the network then sends
// it again, and in the end a poll tells the same.
//
// Taken pushes wait in memory, each order once: pushes of an order that wait, or
// come while it is fetched, make one further fetch. What waits when the process
// ends is lost, and so is a fetch that fails: the next poll reads those orders.
// A push is taken only while somebody works on the account (see [Receiver.Run]),
// so a process that stands by answers "-1", and the network tries again.
//
// Nothing of what a request holds stands in a log line or an error.
package postback
