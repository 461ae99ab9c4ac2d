package webhook

import (
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func TestWeVerifyTheReferenceLibrary(t *testing.T) {
	t.Parallel()
	body, now := []byte(`{"type":"t"}`), time.Now()
	library, err := standardwebhooks.NewWebhook(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := library.Sign("id-1", now, body)
	if err != nil {
		t.Fatal(err)
	}
	h := headers("id-1", strconv.FormatInt(now.Unix(), 10), signature)
	if err := verifier(t, testSecret).Verify(h, body, now); err != nil {
		t.Error(err)
	}
}

func headers(id, timestamp, signature string) http.Header {
	h := http.Header{}
	for name, value := range map[string]string{HeaderID: id, HeaderTimestamp: timestamp, HeaderSignature: signature} {
		if value != "" {
			h.Set(name, value)
		}
	}
	return h
}

func verifier(t testing.TB, secrets ...string) *Verifier {
	t.Helper()
	v, err := NewVerifier(secrets...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVerify(t *testing.T) {
	t.Parallel()
	now := time.Unix(1772352000, 0)
	body := []byte(`{"type":"t"}`)
	unix := func(d time.Duration) string { return strconv.FormatInt(now.Add(d).Unix(), 10) }
	signed := func(timestamp string, secrets ...string) string {
		return signer{verifier(t, secrets...).keys}.sign("id-1", timestamp, body)
	}
	good, other := signed(unix(0), testSecret), signed(unix(0), secretOf(24))
	tests := []struct {
		name string
		h    http.Header
		want error
	}{
		{"good", headers("id-1", unix(0), good), nil},
		{"second of two", headers("id-1", unix(0), other+" "+good), nil},
		{"unknown version beside it", headers("id-1", unix(0), "v1a,AAAA "+good), nil},
		{"just young enough", headers("id-1", unix(-Tolerance), signed(unix(-Tolerance), testSecret)), nil},
		{"just old enough", headers("id-1", unix(Tolerance), signed(unix(Tolerance), testSecret)), nil},
		{"too old", headers("id-1", unix(-Tolerance-time.Second), signed(unix(-Tolerance-time.Second), testSecret)), ErrTooOld},
		{"too new", headers("id-1", unix(Tolerance+time.Second), signed(unix(Tolerance+time.Second), testSecret)), ErrTooNew},
		{"other secret", headers("id-1", unix(0), other), ErrSignature},
		{"other id", headers("id-2", unix(0), good), ErrSignature},
		{"other time", headers("id-1", unix(time.Second), good), ErrSignature},
		{"other version", headers("id-1", unix(0), "v2"+good[2:]), ErrSignature},
		{"no version", headers("id-1", unix(0), good[3:]), ErrSignature},
		{"cut", headers("id-1", unix(0), good[:len(good)-4]), ErrSignature},
		{"no base64", headers("id-1", unix(0), "v1,###"), ErrSignature},
		{"empty signature", headers("id-1", unix(0), "v1,"), ErrSignature},
		{"named as the other kind", headers("id-1", unix(0), "v1a"+good[2:]), ErrSignature},
		{"beyond the bound", headers("id-1", unix(0), strings.Repeat(other+" ", maxSignatures)+good), ErrSignature},
		{"no id", headers("", unix(0), good), ErrHeaders},
		{"no time", headers("id-1", "", good), ErrHeaders},
		{"no signature", headers("id-1", unix(0), ""), ErrHeaders},
		{"time is text", headers("id-1", "now", good), ErrHeaders},
		{"time is signed", headers("id-1", "+"+unix(0), good), ErrHeaders},
		{"time is huge", headers("id-1", "9223372036854775808", good), ErrHeaders},
	}
	for _, tt := range tests {
		if err := verifier(t, testSecret).Verify(tt.h, body, now); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
	}
	if err := verifier(t, testSecret).Verify(tests[0].h, append(body, ' '), now); !errors.Is(err, ErrSignature) {
		t.Errorf("changed body: got %v", err)
	}
	private, public := NewKeyPair()
	k, err := parseSecret(private)
	if err != nil {
		t.Fatal(err)
	}
	asymmetric := k.sign("id-1", unix(0), body)
	if err := verifier(t, public).Verify(headers("id-1", unix(0), asymmetric), body, now); err != nil {
		t.Errorf("ed25519: %v", err)
	}
	for name, signature := range map[string]string{"other version": "v2" + asymmetric[3:], "named as the other kind": "v1" + asymmetric[3:], "cut": asymmetric[:len(asymmetric)-4]} {
		if err := verifier(t, public, testSecret).Verify(headers("id-1", unix(0), signature), body, now); !errors.Is(err, ErrSignature) {
			t.Errorf("ed25519, %s: got %v", name, err)
		}
	}
	if err := verifier(t, secretOf(40), testSecret).Verify(tests[0].h, body, now); err != nil {
		t.Errorf("second secret: %v", err)
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	private, public := NewKeyPair()
	seed, _ := base64.StdEncoding.DecodeString(private[5:])
	half, _ := base64.StdEncoding.DecodeString(public[5:])
	whole, mixed := encode(append(seed, half...)), encode(append(seed, seed...))
	for name, secret := range map[string]string{
		"whsk_ short": "whsk_" + encode(seed[1:]), "whsk_ empty": "whsk_", "whsk_ no base64": "whsk_%%%", "whsk_ halves of two keys": "whsk_" + mixed,
		"whpk_ short": "whpk_" + encode(half[1:]), "whpk_ empty": "whpk_", "whpk_ line break": public + "\n", "whpk_ long": "whpk_" + whole,
		"empty": "", "prefix alone": "whsec_", "no prefix": testSecret[6:], "short": secretOf(23), "long": secretOf(65),
		"no base64": "whsec_%%%", "line break": testSecret + "\n", "url alphabet": "whsec_" + strings.Repeat("-_", 20), "no padding": strings.TrimRight(testSecret, "="),
	} {
		if _, err := NewVerifier(secret); !errors.Is(err, ErrSecret) {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := New(Config{Name: "a", URL: "https://example.com", Secret: secret}); !errors.Is(err, ErrSecret) {
			t.Errorf("%s to sign with: got %v", name, err)
		}
	}
	for _, secret := range []string{secretOf(24), secretOf(64), NewSecret(), public} {
		verifier(t, secret)
	}
	if _, err := NewVerifier(private); !errors.Is(err, ErrSecret) || !strings.Contains(err.Error(), "whpk_") {
		t.Errorf("the private key to verify with: got %v", err)
	}
	if _, err := New(Config{Name: "a", URL: "https://example.com", Secret: public}); !errors.Is(err, ErrSecret) || !strings.Contains(err.Error(), "cannot sign") {
		t.Errorf("the public key to sign with: got %v", err)
	}
	for _, secret := range []string{private, "whsk_" + whole} {
		e := endpoint(t, "https://example.com", func(c *Config) { c.Secret = secret })
		if half, err := PublicKey(secret); err != nil || half != public || !slices.Equal(e.PublicKeys(), []string{public}) {
			t.Errorf("the public half is %q, %v; the endpoint says %q; want %q", half, err, e.PublicKeys(), public)
		}
	}
	if half, err := PublicKey(testSecret); err != nil || half != "" {
		t.Errorf("a symmetric secret has the public half %q, %v", half, err)
	}
	if _, err := NewVerifier(); !errors.Is(err, ErrSecret) {
		t.Errorf("no secret: got %v", err)
	}
	if first := NewSecret(); first == NewSecret() {
		t.Error("two secrets are the same")
	}
	if again, _ := NewKeyPair(); again == private {
		t.Error("two keys are the same")
	}
}

func FuzzVerify(f *testing.F) {
	now := time.Unix(1772352000, 0)
	v := verifier(f, testSecret)
	body := []byte(`{"type":"t"}`)
	good := signer{v.keys}.sign("id-1", "1772352000", body)
	f.Add("id-1", "1772352000", good, body)
	f.Add("id-1", "1772352000", "v1,"+" "+good, body)
	f.Add("", "-1", "v1", []byte(nil))
	f.Add("id.1", "177235200000000000000", "v1,,,", []byte("{}"))
	f.Fuzz(func(t *testing.T, id, timestamp, signature string, got []byte) {
		err := v.Verify(headers(id, timestamp, signature), got, now)
		if err == nil && !strings.Contains(signature, signer{v.keys}.sign(id, timestamp, got)) {
			t.Error("verified without a signature of the secret")
		}
		if err != nil && !errors.Is(err, ErrHeaders) && !errors.Is(err, ErrTooOld) && !errors.Is(err, ErrTooNew) && !errors.Is(err, ErrSignature) {
			t.Errorf("untyped error %v", err)
		}
	})
}
