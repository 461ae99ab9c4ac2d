package openapi

import (
	"bytes"
	"crypto/md5" //nolint:gosec // the algorithm is the network's (specification 5.1), not ours to choose
	"crypto/subtle"
)

// SignField is the parameter that carries the signature; it is no part of
// what is signed (specification 5.1, step 1).
const SignField = "Sign"

// Sign computes the signature of a body: MD5, in upper case hexadecimal, of
// secret + path + canonical body + secret (specification 5.1, steps 3 and 4).
// The path is "/{APP_KEY}/{SERVICE_NAME}". A Sign that the body already holds
// is ignored. The error wraps [ErrBody].
func Sign(secret, path string, body []byte, amp Ampersand) (string, error) {
	canonical, err := Canonical(body, amp)
	if err != nil {
		return "", err
	}
	return digest(secret, path, canonical), nil
}

// Verify reports whether sign is the signature of the body in either form of
// the ampersand. It compares in constant time. The error wraps [ErrBody].
func Verify(secret, path string, body []byte, sign string) (bool, error) {
	members, err := SplitBody(body)
	if err != nil {
		return false, err
	}
	return members.SignedBy(path, sign, secret)
}

// SignedBy reports whether sign is the signature of the members under one of
// the secrets, in either form of the ampersand. It compares with all of them,
// each in constant time, so the time it takes does not tell which one it was.
// The error wraps [ErrBody].
func (m Members) SignedBy(path, sign string, secrets ...string) (bool, error) {
	plain, err := m.Canonical(PlainAmpersand)
	if err != nil {
		return false, err
	}
	texts := [][]byte{plain}
	if bytes.IndexByte(plain, '&') >= 0 {
		hexed, err := m.Canonical(HexAmpersand)
		if err != nil {
			return false, err
		}
		texts = append(texts, hexed)
	}
	same := 0
	for _, secret := range secrets {
		for _, text := range texts {
			right := md5Hex(secret, path, text)
			same |= subtle.ConstantTimeCompare(right[:], []byte(sign))
		}
	}
	return same == 1, nil
}

func digest(secret, path string, canonical []byte) string {
	text := md5Hex(secret, path, canonical)
	return string(text[:])
}

// md5Hex is the signature of a canonical body.
func md5Hex(secret, path string, canonical []byte) (text [2 * md5.Size]byte) {
	all := make([]byte, 0, 2*len(secret)+len(path)+len(canonical))
	all = append(append(append(append(all, secret...), path...), canonical...), secret...)
	sum := md5.Sum(all) //nolint:gosec // see the import
	const digits = "0123456789ABCDEF"
	for i, b := range sum {
		text[2*i], text[2*i+1] = digits[b>>4], digits[b&15]
	}
	return text
}
