// Package schema is the vocabulary of Orderwire: the order resource of the
// network's API, its two status enumerations, money, the key of an order, and
// the events of the log. It imports nothing else of Orderwire, so a service
// that subscribes to the log needs only this package.
//
// Two rules hold throughout:
//
//   - Nothing that the network sent is lost. Fields that the specification does
//     not know are kept and passed on, an amount keeps the very text in which
//     it was sent, and an unknown status value is carried, not refused.
//   - A scalar may arrive as a JSON string or as a JSON number; it leaves as
//     the type that the specification gives it, which is a string.
//
// "Specification" with a section number means the network's API specification.
package schema
