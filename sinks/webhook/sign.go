package webhook

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"strings"
)

// The names of the signatures in the signature header.
const (
	versionHMAC    = "v1"  // HMAC-SHA256
	versionEd25519 = "v1a" // ed25519
)

// key is one secret, or what a receiver knows of it. Either symmetric is set,
// or public, and private as well on the sender's side.
type key struct {
	symmetric []byte
	private   ed25519.PrivateKey
	public    ed25519.PublicKey
}

func (k key) signs() bool { return k.public == nil || k.private != nil }

// sign returns the signature of a delivery, with its version before it.
func (k key) sign(id, timestamp string, body []byte) string {
	if k.private != nil {
		return versionEd25519 + "," + encode(ed25519.Sign(k.private, content(id, timestamp, body)))
	}
	return versionHMAC + "," + encode(mac(k.symmetric, id, timestamp, body))
}

// signer signs with one key, or with several while a secret rotates.
type signer struct {
	keys []key
}

// sign returns the value of the signature header.
func (s signer) sign(id, timestamp string, body []byte) string {
	signatures := make([]string, len(s.keys))
	for i, k := range s.keys {
		signatures[i] = k.sign(id, timestamp, body)
	}
	return strings.Join(signatures, " ")
}

// content returns what is signed, "id.timestamp.body".
func content(id, timestamp string, body []byte) []byte {
	b := make([]byte, 0, len(id)+len(timestamp)+len(body)+2)
	b = append(append(b, id...), '.')
	b = append(append(b, timestamp...), '.')
	return append(b, body...)
}

// mac computes the HMAC-SHA256 of the content, without a copy of it.
func mac(symmetric []byte, id, timestamp string, body []byte) []byte {
	h := hmac.New(sha256.New, symmetric)
	io.WriteString(h, id+"."+timestamp+".")
	h.Write(body)
	return h.Sum(nil)
}

// checking is what a delivery's signatures are compared with.
type checking struct {
	content []byte              // for public keys, nil when there is none
	macs    [][]byte            // of the symmetric keys
	publics []ed25519.PublicKey // the other keys
}

func newChecking(keys []key, id, timestamp string, body []byte) checking {
	var c checking
	for _, k := range keys {
		if k.public == nil {
			c.macs = append(c.macs, mac(k.symmetric, id, timestamp, body))
		} else {
			c.publics = append(c.publics, k.public)
		}
	}
	if c.publics != nil {
		c.content = content(id, timestamp, body)
	}
	return c
}

// accepts reports whether one of the keys made the signature. It compares with
// every key, so that the time does not tell which; a signature of one kind is
// never taken for one of the other.
func (c checking) accepts(signature string) bool {
	version, encoded, _ := strings.Cut(signature, ",")
	got, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return false
	}
	ok := false
	switch version {
	case versionHMAC:
		for _, want := range c.macs {
			ok = hmac.Equal(got, want) || ok
		}
	case versionEd25519:
		for _, public := range c.publics {
			ok = ed25519.Verify(public, c.content, got) || ok
		}
	}
	return ok
}
