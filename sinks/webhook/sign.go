package webhook

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"strings"
	"sync"
)

// The names of the signatures in the signature header.
const (
	versionHMAC    = "v1"  // HMAC-SHA256
	versionEd25519 = "v1a" // ed25519
)

// key is one secret, or what a receiver knows of it. Either symmetric is set,
// or public, and private as well on the sender's side.
type key struct {
	symmetric *macs
	private   ed25519.PrivateKey
	public    ed25519.PublicKey
}

// macs computes HMAC-SHA256 with one secret, in several goroutines.
type macs struct{ spare sync.Pool }

func newMacs(secret []byte) *macs {
	m := &macs{}
	m.spare.New = func() any { return &computing{hash: hmac.New(sha256.New, secret)} }
	return m
}

// computing is what one computation needs.
type computing struct {
	hash hash.Hash
	text []byte
}

// of passes the HMAC of the content, without a copy of the body, to use, which must
// not keep it.
func (m *macs) of(id, timestamp string, body []byte, use func(sum []byte)) {
	c := m.spare.Get().(*computing) //nolint:forcetypeassert // New makes no other
	defer m.spare.Put(c)
	c.hash.Reset()
	c.text = append(append(c.text[:0], id...), '.')
	c.text = append(append(c.text, timestamp...), '.')
	c.hash.Write(c.text)
	c.hash.Write(body)
	c.text = c.hash.Sum(c.text[:0])
	use(c.text)
}

func (k key) signs() bool { return k.public == nil || k.private != nil }

// sign returns the signature of a delivery, with its version before it.
func (k key) sign(id, timestamp string, body []byte) string {
	if k.private != nil {
		return versionEd25519 + "," + encode(ed25519.Sign(k.private, content(id, timestamp, body)))
	}
	var signature string
	k.symmetric.of(id, timestamp, body, func(sum []byte) {
		var room [len(versionHMAC) + 1 + (sha256.Size+2)/3*4]byte
		signature = string(base64.StdEncoding.AppendEncode(append(room[:0], versionHMAC+","...), sum))
	})
	return signature
}

// signer signs with one key, or with several while a secret rotates.
type signer struct {
	keys []key
}

// sign returns the value of the signature header.
func (s signer) sign(id, timestamp string, body []byte) string {
	if len(s.keys) == 1 {
		return s.keys[0].sign(id, timestamp, body)
	}
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
			k.symmetric.of(id, timestamp, body, func(sum []byte) { c.macs = append(c.macs, bytes.Clone(sum)) })
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
