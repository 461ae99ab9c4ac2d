package webhook

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Tolerance is how far the time of a delivery may lie from the receiver's
// clock, on either side.
const Tolerance = 5 * time.Minute

// maxSignatures bounds how many signatures of one delivery are looked at.
const maxSignatures = 16

// What a [Verifier] refuses. All are final for the delivery in hand.
var (
	// ErrHeaders marks a delivery whose webhook headers are missing or cannot
	// be read.
	ErrHeaders = errors.New("webhook headers missing or unreadable")
	// ErrTooOld marks a delivery that was signed longer ago than [Tolerance],
	// which may be an old one played again.
	ErrTooOld = errors.New("webhook timestamp too old")
	// ErrTooNew marks a delivery that was signed in the future, by more than
	// [Tolerance]: one of the two clocks is wrong.
	ErrTooNew = errors.New("webhook timestamp too far in the future")
	// ErrSignature marks a delivery that none of the secrets has signed.
	ErrSignature = errors.New("webhook signature does not match")
)

// Verifier checks deliveries on the receiver's side. It may be used from
// several goroutines.
type Verifier struct {
	keys []key
}

// NewVerifier takes the secret of the endpoint ("whsec_…"), or the public key of
// one that signs with ed25519 ("whpk_…"), and more than one, of either kind,
// while it rotates. The error wraps [ErrSecret], also when there is none.
func NewVerifier(secrets ...string) (*Verifier, error) {
	if len(secrets) == 0 {
		return nil, fmt.Errorf("%w: none is given", ErrSecret)
	}
	v := &Verifier{}
	for i, s := range secrets {
		k, err := parseVerifying(s)
		if err != nil {
			return nil, fmt.Errorf("secret %d: %w", i+1, err)
		}
		v.keys = append(v.keys, k)
	}
	return v, nil
}

// Verify checks that the body, as received, was signed with one of the secrets
// at a time within [Tolerance] of now. It compares in constant time. The error
// wraps [ErrHeaders], [ErrTooOld], [ErrTooNew] or [ErrSignature]. A delivery
// may rightly come twice: remember webhook-id to notice that.
func (v *Verifier) Verify(h http.Header, body []byte, now time.Time) error {
	id, timestamp, signatures := h.Get(HeaderID), h.Get(HeaderTimestamp), h.Get(HeaderSignature)
	switch {
	case id == "":
		return fmt.Errorf("%w: no %s", ErrHeaders, HeaderID)
	case signatures == "":
		return fmt.Errorf("%w: no %s", ErrHeaders, HeaderSignature)
	}
	if err := checkTime(timestamp, now); err != nil {
		return err
	}
	if !v.signed(id, timestamp, body, strings.Fields(signatures)) {
		return ErrSignature
	}
	return nil
}

// checkTime reads the timestamp header. Twelve digits reach beyond the year
// 30000 and keep the arithmetic from overflowing.
func checkTime(timestamp string, now time.Time) error {
	seconds, err := strconv.ParseUint(timestamp, 10, 64)
	if err != nil || len(timestamp) > 12 {
		return fmt.Errorf("%w: %s is no Unix time", ErrHeaders, HeaderTimestamp)
	}
	switch age := now.Sub(time.Unix(int64(seconds), 0)); {
	case age > Tolerance:
		return ErrTooOld
	case age < -Tolerance:
		return ErrTooNew
	}
	return nil
}

// signed compares every signature with every key, so that the time it takes
// does not tell which one matched.
func (v *Verifier) signed(id, timestamp string, body []byte, signatures []string) bool {
	want, ok := newChecking(v.keys, id, timestamp, body), false
	for _, s := range signatures[:min(len(signatures), maxSignatures)] {
		ok = want.accepts(s) || ok
	}
	return ok
}
