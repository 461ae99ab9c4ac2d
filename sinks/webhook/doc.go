// Package webhook delivers events to outside receivers over HTTP, signed by the
// Standard Webhooks specification (https://www.standardwebhooks.com), and
// verifies such deliveries for receivers that are written in Go.
//
// # Data flow
//
//	log ─► runner (package pipeline) ─► Endpoint.Deliver ─► one POST ─► receiver
//	        lanes, cursor, retries,       filter, body,                  Verifier
//	        dead letters                  signature
//
// An [Endpoint] is one receiver. A call of [Endpoint.Deliver] is one attempt
// and nothing more: the runner decides when to try again, in which order, and
// when to give up. It reads that from the error, a [DeliveryError].
//
// # Delivery guarantee
//
// At least once. An answer 2xx is an acknowledgement; whatever else happens,
// the attempt has failed, and the receiver may still have seen it. Every
// attempt of an event carries the same webhook-id and the same body, byte for
// byte, because both come from the stored event alone; only webhook-timestamp
// and webhook-signature differ. A receiver therefore removes doubles by
// webhook-id. The events of one order come in the order of their data.version,
// since the runner never overlaps them; an event that was given up leaves a
// gap in the versions, which data.previous_id makes visible.
//
// # The request
//
// A POST with the body that [Body] describes and these headers:
//
//	webhook-id         id of the event, 32 hexadecimal digits
//	webhook-timestamp  time of this attempt, Unix seconds
//	webhook-signature  "v1," and base64 of HMAC-SHA256(secret, id.timestamp.body),
//	                   or "v1a," and base64 of the ed25519 signature of the same;
//	                   one for each secret, apart by spaces, while a secret rotates
//	Content-Type       application/json
//	User-Agent         Orderwire/ and the version
//
// # Which events
//
// An endpoint takes the events that its lists name and for which its
// expression, [Config.Where], is true:
//
//	status == "Approved" && amount >= 100 && currency == "EUR"
//
// It is written in the language of github.com/expr-lang/expr, of which there are
// the comparisons, in, contains, startsWith, endsWith and matches (a regular
// expression), && || !, + - * and the functions any, all, none, one, count, len,
// lower, upper and trim. The names are:
//
//	event, account, version, regression    type, account and place of the event
//	program, order, parent_order           of the order, as texts
//	website, link, sub_id                  where it came from, as texts
//	status                                 name of the settlement status
//	amount, commission, currency           the estimate
//	confirmed_amount, confirmed_commission, charge_currency
//	changes                                paths: "/Status" in changes
//	lines                                  any(lines, .status == "Refund"), with
//	                                       status, item, shop, amount, commission
//
// Amounts and the numbers beside them are decimal, never floats; an amount that
// the network has not given counts as 0, and a text as "". A status that the
// specification does not know is the text that the network sent. An expression
// is checked as a whole when the configuration is; it has at most 250 parts and no
// loops over lists within lists, so an event costs about a microsecond, and a
// pass over its lines for each function that goes through them. Should it still
// fail on an event, the event is not sent, since it may be meant for somebody
// else, and not passed over either: the error is permanent ([ErrWhere]), which
// takes the event to the dead letters.
//
// # What is refused
//
// A redirect is a failure and is not followed. The address is checked when it
// is dialled, after its name was resolved, so that neither a name that points
// into a private network nor one that changes between check and use gets
// through, unless the endpoint allows private addresses. No proxy is used. A
// client certificate that cannot be read or has expired ends an attempt before
// anything is sent; its files are read for each connection. Of
// an answer only a bounded part is read, for a bounded time.
//
// Errors and logs of this package hold no secret, no signature, no body, and
// of a URL only the scheme and the host.
package webhook
