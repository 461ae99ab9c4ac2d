// Package network is the affiliate network itself: the service of the API
// specification, on SQL, with a simulator that brings its orders to life and
// middleware that makes it fail. It exists so that a client of the API can be
// built, tested and loaded without a contract with a network.
//
// What it promises to a client:
//
//   - Every change of an order, the row and the line of its history, is one
//     transaction, and raises the order's update time (to the second).
//   - The same order gives the same bytes in a list and in a detail, until it
//     changes. Only [Config.OmitDetails] makes them differ.
//   - The pages of a list are ordered by (time field, id), and one page with its
//     Total is one state of the database. Between two pages the orders may
//     change, and one that is changed leaves its place in an UpdateTime window:
//     those behind it move up, as they do on live networks.
//   - A publisher sees its own orders only, and a brand those of its programs.
//   - A click whose id was given out is written, before the redirect or within
//     the time that the database was held by others; see clickLog.
//   - An order report that says nothing new changes nothing.
//
// The database is a SQLite file or PostgreSQL (see [Config.DB]). Changes take
// turns in both; a list is read in a snapshot, while they go on.
//
// "Specification" with a section number means the network's API specification.
// What it leaves open is answered as live networks of this API family do.
package network
