// Package openapi is the wire protocol of the affiliate network: signing, the
// envelope, typed errors, and the signed client for the publisher operations.
// It follows the network's API specification; section numbers in comments are
// that document's.
package openapi
