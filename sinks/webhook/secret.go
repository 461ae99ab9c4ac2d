package webhook

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// ErrSecret marks a signing secret of no form that this package knows.
var ErrSecret = errors.New("not a webhook secret")

// The forms of a secret (Standard Webhooks, "Signature scheme"): base64 behind
// a prefix that says which.
const (
	secretPrefix  = "whsec_" // 24 to 64 random bytes, which both sides know
	privatePrefix = "whsk_"  // an ed25519 seed of 32 bytes, alone or with its public key behind it
	publicPrefix  = "whpk_"  // an ed25519 public key of 32 bytes

	minSecretBytes = 24
	maxSecretBytes = 64
)

const secretHint = `make one with: echo "whsec_$(head -c 32 /dev/urandom | base64)", or with whsk_ for an ed25519 key`

// NewSecret returns a new random secret of 32 bytes, in the form that [Config]
// and [NewVerifier] take.
func NewSecret() string { return secretPrefix + encode(random()) }

// NewKeyPair returns a new ed25519 key: the private half for [Config], and the
// public half for the receiver, see [NewVerifier].
func NewKeyPair() (private, public string) {
	seed := random()
	return privatePrefix + encode(seed), publicPrefix + encode(publicHalf(ed25519.NewKeyFromSeed(seed)))
}

// PublicKey returns what a receiver needs to know of an ed25519 key, which is
// its public half, and "" for a symmetric secret, of which there is no such
// half. The error wraps [ErrSecret].
func PublicKey(secret string) (string, error) {
	k, err := parseSecret(secret)
	if err != nil || k.public == nil {
		return "", err
	}
	return publicPrefix + encode(k.public), nil
}

func random() []byte {
	b := make([]byte, 32)
	rand.Read(b) // never fails, by its documentation
	return b
}

func encode(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func publicHalf(private ed25519.PrivateKey) ed25519.PublicKey {
	return ed25519.PublicKey(private[ed25519.SeedSize:]) // by its documentation
}

// parseSecret returns the key of a secret that signs. The error wraps
// [ErrSecret] and says what is wrong without quoting it.
func parseSecret(s string) (key, error) {
	k, err := parseKey(s)
	if err == nil && !k.signs() {
		return key{}, fmt.Errorf("%w: it is a public key, which verifies but cannot sign", ErrSecret)
	}
	return k, err
}

// parseVerifying returns the key of what a receiver knows, with errors like
// those of parseSecret.
func parseVerifying(s string) (key, error) {
	k, err := parseKey(s)
	if err == nil && k.private != nil {
		return key{}, fmt.Errorf("%w: it is the sender's private key; a receiver takes the public one, which begins with %q", ErrSecret, publicPrefix)
	}
	return k, err
}

func parseKey(s string) (key, error) {
	if s == "" {
		return key{}, fmt.Errorf("%w: it is missing", ErrSecret)
	}
	for _, form := range []struct {
		prefix string
		read   func([]byte) (key, error)
	}{{secretPrefix, symmetricKey}, {privatePrefix, privateKey}, {publicPrefix, publicKey}} {
		encoded, ok := strings.CutPrefix(s, form.prefix)
		if !ok {
			continue
		}
		b, err := base64.StdEncoding.Strict().DecodeString(encoded)
		if err != nil || strings.ContainsAny(encoded, "\r\n") {
			return key{}, fmt.Errorf("%w: what follows %q is no base64", ErrSecret, form.prefix)
		}
		return form.read(b)
	}
	return key{}, fmt.Errorf("%w: it does not begin with %q, %q or %q", ErrSecret, secretPrefix, privatePrefix, publicPrefix)
}

func symmetricKey(b []byte) (key, error) {
	if len(b) < minSecretBytes || len(b) > maxSecretBytes {
		return key{}, fmt.Errorf("%w: it has %d bytes, want %d to %d", ErrSecret, len(b), minSecretBytes, maxSecretBytes)
	}
	return key{symmetric: newMacs(b)}, nil
}

// privateKey takes both writings of a private key that are in use: the seed,
// and the seed with its public key.
func privateKey(b []byte) (key, error) {
	if len(b) != ed25519.SeedSize && len(b) != ed25519.PrivateKeySize {
		return key{}, fmt.Errorf("%w: it has %d bytes, want %d or %d", ErrSecret, len(b), ed25519.SeedSize, ed25519.PrivateKeySize)
	}
	private := ed25519.NewKeyFromSeed(b[:ed25519.SeedSize])
	if len(b) == ed25519.PrivateKeySize && !private.Equal(ed25519.PrivateKey(b)) {
		return key{}, fmt.Errorf("%w: its private and its public half do not belong together", ErrSecret)
	}
	return key{private: private, public: publicHalf(private)}, nil
}

func publicKey(b []byte) (key, error) {
	if len(b) != ed25519.PublicKeySize {
		return key{}, fmt.Errorf("%w: it has %d bytes, want %d", ErrSecret, len(b), ed25519.PublicKeySize)
	}
	return key{public: b}, nil
}
