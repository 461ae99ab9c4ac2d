package wire

import (
	"bytes"
	"mime/multipart"
	"net/url"
	"testing"

	"github.com/orderwire/orderwire/sources/openapi"
)

const (
	fuzzPath   = "/2312521/svc.service.links.post"
	fuzzSecret = "s3cr3t"
)

// FuzzSigned signs what can be signed, in the type in which it came. The
// signature holds, signing again changes nothing, and with any byte of it
// changed the body is refused or signs the same text.
func FuzzSigned(f *testing.F) {
	addSeeds(f, func(kind uint8, body []byte) { f.Add(kind, body, uint16(len(body)/2), byte('1'), false) })
	f.Add(uint8(0), []byte(`{"a&b":"&"}`), uint16(2), byte('&'), true)
	f.Add(uint8(1), []byte(`a%26b=%26`), uint16(2), byte('+'), true)
	f.Fuzz(func(t *testing.T, kind uint8, body []byte, at uint16, with byte, hexAmp bool) {
		kind %= 3
		b, err := Parse(contentTypes[kind], body)
		if err != nil {
			return
		}
		amp := openapi.Ampersand(hexAmp)
		signed, ok := signAs(t, kind, b, amp)
		if !ok {
			return
		}
		first := check(t, kind, signed)
		if first == nil {
			t.Fatalf("own signature refused: %q", signed)
		}
		b, _ = Parse(contentTypes[kind], signed)
		again, _ := signAs(t, kind, b, amp)
		if !bytes.Equal(again, signed) {
			t.Fatalf("signed %q and then %q", signed, again)
		}
		changed := bytes.Clone(signed)
		i := int(at) % len(changed)
		changed[i] = with
		if text := check(t, kind, changed); text != nil && !bytes.Equal(text, first) {
			t.Fatalf("byte %d changed to %q: taken as %s, signed was %s", i, with, text, first)
		}
	})
}

// check returns the text that a body has signed, nil when the body is refused.
func check(t *testing.T, kind uint8, body []byte) []byte {
	b, err := Parse(contentTypes[kind], body)
	if err != nil {
		return nil
	}
	sign, _ := b.Params.Get(openapi.SignField)
	ok, err := b.SignedBy(fuzzPath, sign.Text, []string{"another", fuzzSecret, ""})
	if err != nil || !ok {
		return nil
	}
	if ok, _ := b.SignedBy(fuzzPath, sign.Text, []string{"another", ""}); ok {
		t.Fatalf("taken with another secret: %q", body)
	}
	if ok, _ := b.SignedBy(fuzzPath, sign.Text, nil); ok {
		t.Fatalf("taken with no secret: %q", body)
	}
	text, err := b.signed.Canonical(openapi.PlainAmpersand)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// signAs writes a body of a type with its signature; ok is false when the type
// cannot hold it.
func signAs(t *testing.T, kind uint8, b Body, amp openapi.Ampersand) (body []byte, ok bool) {
	canonical, err := b.signed.Canonical(amp)
	if err != nil {
		t.Fatal(err)
	}
	if kind == 0 {
		body, err = openapi.SignBody(fuzzSecret, fuzzPath, canonical, amp)
		return body, err == nil
	}
	sign, err := openapi.Sign(fuzzSecret, fuzzPath, canonical, amp)
	if err != nil {
		t.Fatal(err)
	}
	var parts bytes.Buffer
	w := multipart.NewWriter(&parts)
	if err := w.SetBoundary(fuzzBoundary); err != nil {
		t.Fatal(err)
	}
	form := url.Values{"sign": {sign}}
	for _, m := range b.signed {
		value, err := unquote(m.Value)
		if err != nil || bytes.ContainsAny([]byte(m.Name), "\r\n\x00\x7f") || bytes.Contains([]byte(value), []byte("--"+fuzzBoundary)) {
			return nil, false
		}
		form.Set(m.Name, value)
		if err := w.WriteField(m.Name, value); err != nil {
			t.Fatal(err)
		}
	}
	if kind == 1 {
		return []byte(form.Encode()), true
	}
	if err := w.WriteField("sign", sign); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return parts.Bytes(), true
}
