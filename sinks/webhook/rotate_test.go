package webhook

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// judgement is a delivery, what a receiver knows of one secret, and whether the
// delivery is signed with that secret.
type judgement struct {
	name  string
	d     delivery
	known string
	want  bool
}

// privateOf returns the ed25519 key whose seed repeats one byte.
func privateOf(b byte) string { return "whsk_" + encode(bytes.Repeat([]byte{b}, 32)) }

// known returns what a receiver is given of a secret.
func known(t testing.TB, secret string) string {
	t.Helper()
	public, err := PublicKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	if public != "" {
		return public
	}
	return secret
}

// judgements returns a delivery at each stage of a rotation between secrets of
// the same and of different kinds, with each of the secrets and a third one.
func judgements(t *testing.T) []judgement {
	t.Helper()
	var all []judgement
	for _, secrets := range [][3]string{ // old, new, third
		{secretOf(24), secretOf(64), secretOf(32)},
		{privateOf(1), privateOf(2), privateOf(3)},
		{secretOf(24), privateOf(2), privateOf(3)},
		{privateOf(1), secretOf(64), secretOf(32)},
	} {
		for name, signs := range map[string][]int{
			"before": {0}, "during": {1, 0}, "during, other order": {0, 1}, "after": {1},
		} {
			r := newReceiver(t, status(http.StatusOK))
			deliver(t, endpoint(t, r.URL, func(c *Config) {
				c.Secret = secrets[signs[0]]
				for _, i := range signs[1:] {
					c.PreviousSecrets = append(c.PreviousSecrets, secrets[i])
				}
			}), entry(t, 1))
			for i, secret := range secrets {
				knows := known(t, secret)
				all = append(all, judgement{
					name: fmt.Sprintf("%s the change from %.5s to %.5s, a receiver with %.5s of %d", name, secrets[0], secrets[1], knows, i),
					d:    r.deliveries()[0], known: knows, want: slices.Contains(signs, i),
				})
			}
		}
	}
	return all
}

func TestRotation(t *testing.T) {
	t.Parallel()
	all := judgements(t)
	for i, j := range all {
		if err := verifier(t, j.known).Verify(j.d.header, j.d.body, time.Now()); (err == nil) != j.want {
			t.Errorf("%s: %v", j.name, err)
		}
		for other := range 3 { // a receiver that knows two, in both orders
			k := all[i/3*3+other]
			for _, both := range [][]string{{j.known, k.known}, {k.known, j.known}} {
				if err := verifier(t, both...).Verify(j.d.header, j.d.body, time.Now()); (err == nil) != (j.want || k.want) {
					t.Errorf("%s and %.5s of %d: %v", j.name, k.known, other, err)
				}
			}
		}
		if err := verifier(t, j.known).Verify(j.d.header, append(j.d.body, ' '), time.Now()); err == nil {
			t.Errorf("%s: verified with another body", j.name)
		}
	}
}

// The reference library, which knows symmetric secrets only.
func TestRotationAsTheReferenceLibrarySeesIt(t *testing.T) {
	t.Parallel()
	for _, j := range judgements(t) {
		if !strings.HasPrefix(j.known, secretPrefix) {
			continue
		}
		library, err := standardwebhooks.NewWebhook(j.known)
		if err != nil {
			t.Fatal(err)
		}
		if err := library.Verify(j.d.body, j.d.header); (err == nil) != j.want {
			t.Errorf("%s: %v", j.name, err)
		}
	}
}

// What the reference library takes for a secret, and this package does not.
func TestReferenceLibraryAcceptsAnEmptySecret(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"", secretPrefix, secretOf(1), secretOf(23)} {
		library, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatalf("%q: the library has learned to refuse it: %v", secret, err)
		}
		signature, err := library.Sign("id-1", time.Now(), []byte("{}"))
		if err != nil || !strings.HasPrefix(signature, "v1,") {
			t.Errorf("%q: got %q, %v", secret, signature, err)
		}
		if _, err := New(Config{Name: "a", URL: "https://example.com", Secret: secret}); err == nil {
			t.Errorf("%q signs", secret)
		}
		if _, err := NewVerifier(secret); err == nil {
			t.Errorf("%q verifies", secret)
		}
	}
}

const pythonVerifier = `
import base64, hashlib, hmac, json, sys
for d in json.load(sys.stdin):
    key = base64.b64decode(d["secret"].removeprefix("whsec_"))
    text = (d["id"] + "." + d["timestamp"] + ".").encode() + base64.b64decode(d["body"])
    want = "v1," + base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()
    print(any(hmac.compare_digest(want, s) for s in d["signatures"].split(" ")))
`

func TestRotationAsPythonSeesIt(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3 in the PATH, for an independent verdict")
	}
	var asked []judgement
	var questions []map[string]string
	for _, j := range judgements(t) {
		if strings.HasPrefix(j.known, secretPrefix) {
			asked = append(asked, j)
			questions = append(questions, map[string]string{
				"secret": j.known, "id": j.d.header.Get(HeaderID), "timestamp": j.d.header.Get(HeaderTimestamp),
				"signatures": j.d.header.Get(HeaderSignature), "body": base64.StdEncoding.EncodeToString(j.d.body),
			})
		}
	}
	input, err := json.Marshal(questions)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", pythonVerifier)
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.CombinedOutput()
	verdicts := strings.Fields(string(out))
	if err != nil || len(verdicts) != len(asked) {
		t.Fatalf("python3: %v: %s", err, out)
	}
	for i, j := range asked {
		if (verdicts[i] == "True") != j.want {
			t.Errorf("%s: Python says %s", j.name, verdicts[i])
		}
	}
}

func TestRotationAsOpenSSLSeesIt(t *testing.T) {
	t.Parallel()
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("needs openssl in the PATH, for an independent verdict")
	}
	if out, err := exec.CommandContext(t.Context(), openssl, "pkeyutl", "-help").CombinedOutput(); err != nil || !bytes.Contains(out, []byte("-rawin")) {
		t.Skip("needs openssl 3.0 or newer, which verifies ed25519")
	}
	for _, j := range judgements(t) {
		if !strings.HasPrefix(j.known, publicPrefix) {
			continue
		}
		ok := slices.ContainsFunc(strings.Fields(j.d.header.Get(HeaderSignature)), func(s string) bool {
			encoded, isEd25519 := strings.CutPrefix(s, "v1a,")
			return isEd25519 && opensslAccepts(t, openssl, j, encoded)
		})
		if ok != j.want {
			t.Errorf("%s: openssl says %t", j.name, ok)
		}
	}
}

func opensslAccepts(t *testing.T, openssl string, j judgement, signature string) bool {
	t.Helper()
	point, err := base64.StdEncoding.DecodeString(j.known[len(publicPrefix):])
	if err != nil {
		t.Fatal(err)
	}
	made, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		t.Fatal(err)
	}
	header := []byte{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00} // SubjectPublicKeyInfo of RFC 8410
	text := j.d.header.Get(HeaderID) + "." + j.d.header.Get(HeaderTimestamp) + "." + string(j.d.body)
	dir := t.TempDir()
	for name, content := range map[string][]byte{
		"key": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: append(header, point...)}), "signature": made, "text": []byte(text),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), openssl, "pkeyutl", "-verify", "-pubin", "-inkey", "key", "-rawin", "-in", "text", "-sigfile", "signature")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if accepted := bytes.Contains(out, []byte("Verified Successfully")); accepted == (err != nil) {
		t.Fatalf("openssl: %v: %s", err, out)
	} else if !accepted && !bytes.Contains(out, []byte("Verification Failure")) {
		t.Fatalf("openssl: %v: %s", err, out)
	}
	return err == nil
}
