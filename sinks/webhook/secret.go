package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrSecret marks a signing secret that is not of the form "whsec_" and base64
// of 24 to 64 bytes.
var ErrSecret = errors.New("not a webhook secret")

// The form of a secret (Standard Webhooks, "Symmetric").
const (
	secretPrefix   = "whsec_"
	minSecretBytes = 24
	maxSecretBytes = 64
)

const secretHint = `make one with: echo "whsec_$(head -c 32 /dev/urandom | base64)"`

// NewSecret returns a new random secret of 32 bytes, in the form that [Config]
// and [NewVerifier] take.
func NewSecret() string {
	key := make([]byte, 32)
	rand.Read(key) // never fails, by its documentation
	return secretPrefix + base64.StdEncoding.EncodeToString(key)
}

// parseSecret returns the key of a secret. The error wraps [ErrSecret] and says
// what is wrong without quoting it.
func parseSecret(s string) ([]byte, error) {
	if s == "" {
		return nil, fmt.Errorf("%w: it is missing", ErrSecret)
	}
	encoded, ok := strings.CutPrefix(s, secretPrefix)
	if !ok {
		return nil, fmt.Errorf("%w: it does not begin with %q", ErrSecret, secretPrefix)
	}
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || strings.ContainsAny(encoded, "\r\n") {
		return nil, fmt.Errorf("%w: what follows %q is no base64", ErrSecret, secretPrefix)
	}
	if len(key) < minSecretBytes || len(key) > maxSecretBytes {
		return nil, fmt.Errorf("%w: it has %d bytes, want %d to %d", ErrSecret, len(key), minSecretBytes, maxSecretBytes)
	}
	return key, nil
}

// signatureVersion names HMAC-SHA256 in a signature.
const signatureVersion = "v1"

// signer signs with one key, or with several while a secret rotates.
type signer struct {
	keys [][]byte
}

// sign returns the value of the signature header.
func (s signer) sign(id, timestamp string, body []byte) string {
	signatures := make([]string, len(s.keys))
	for i, key := range s.keys {
		signatures[i] = signatureVersion + "," + base64.StdEncoding.EncodeToString(mac(key, id, timestamp, body))
	}
	return strings.Join(signatures, " ")
}

// mac computes the HMAC-SHA256 of "id.timestamp.body".
func mac(key []byte, id, timestamp string, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	io.WriteString(h, id+"."+timestamp+".")
	h.Write(body)
	return h.Sum(nil)
}
