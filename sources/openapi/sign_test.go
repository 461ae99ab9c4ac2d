package openapi_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/sources/openapi"
	"github.com/orderwire/orderwire/sources/openapi/openapitest"
)

func TestSignVectors(t *testing.T) {
	for _, v := range openapitest.Vectors(t) {
		t.Run(v.Name+"/"+v.Variant, func(t *testing.T) {
			canonical, err := openapi.Canonical([]byte(v.Body), openapi.Ampersand(v.HexAmp()))
			if err != nil || string(canonical) != v.Canonical {
				t.Errorf("Canonical = %s, %v\nwant %s", canonical, err, v.Canonical)
			}
			sign, err := openapi.Sign(v.Secret, v.Path, []byte(v.Body), openapi.Ampersand(v.HexAmp()))
			if err != nil || sign != v.Sign {
				t.Errorf("Sign = %s, %v; want %s", sign, err, v.Sign)
			}
			ok, err := openapi.Verify(v.Secret, v.Path, []byte(v.Body), v.Sign)
			if err != nil || !ok {
				t.Errorf("Verify = %v, %v", ok, err)
			}
			if ok, _ := openapi.Verify(v.Secret+"x", v.Path, []byte(v.Body), v.Sign); ok {
				t.Error("Verify accepts a wrong secret")
			}
		})
	}
}

// The expectations of this table are what PHP 8.2's json_encode writes.
func TestCanonicalLikePHP(t *testing.T) {
	tests := []struct{ name, body, plain, hex string }{
		{"white space", " {\n\"B\" : [ 1 , 2 ] , \"A\" : { } }\t", `{"A":{},"B":[1,2]}`, ""},
		{"byte order of names", `{"a":1,"B":2,"_":3}`, `{"B":2,"_":3,"a":1}`, ""},
		{"only the top level is sorted", `{"A":{"b":1,"a":2}}`, `{"A":{"b":1,"a":2}}`, ""},
		{"escapes undone", `{"A":"\u4e2d\/\u0041\ud83d\ude00"}`, `{"A":"中/A😀"}`, ""},
		{"escapes kept", `{"A":"\u0000\b\f\n\r\t\u001f\u007f\"\\"}`, "{\"A\":\"\\u0000\\b\\f\\n\\r\\t\\u001f\x7f\\\"\\\\\"}", ""},
		{"angle brackets", `{"A":"<b>'"}`, `{"A":"<b>'"}`, ""},
		{"line separators", "{\"A\":\"\u2028\u2029\"}", `{"A":"\u2028\u2029"}`, ""},
		{"number text", `{"A":1.50,"B":-0,"C":1e3,"D":12345678901234567890}`, `{"A":1.50,"B":-0,"C":1e3,"D":12345678901234567890}`, ""},
		{"literals", `{"A":true,"B":null,"C":[false,[],{}]}`, `{"A":true,"B":null,"C":[false,[],{}]}`, ""},
		{"ampersand in name and value", `{"A&":{"b&":"&\u0026"}}`, `{"A&":{"b&":"&&"}}`, `{"A\u0026":{"b\u0026":"\u0026\u0026"}}`},
		{"nested strings", `{"A":{"b":"x","c":["y","z",{"d":"e"}]}}`, `{"A":{"b":"x","c":["y","z",{"d":"e"}]}}`, ""},
		{"empty", `{}`, `{}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.hex == "" {
				tt.hex = tt.plain
			}
			for amp, want := range map[openapi.Ampersand]string{openapi.PlainAmpersand: tt.plain, openapi.HexAmpersand: tt.hex} {
				got, err := openapi.Canonical([]byte(tt.body), amp)
				if err != nil || string(got) != want {
					t.Errorf("hex=%v: got %s, %v; want %s", amp, got, err, want)
				}
			}
		})
	}
}

func TestCanonicalRefuses(t *testing.T) {
	tests := map[string]string{
		"no object": `[1]`, "empty body": ``, "cut short": `{"A":1`, "trailing data": `{} {}`,
		"duplicate name": `{"A":1,"A":2}`, "nested duplicate": `{"A":{"b":1,"b":2}}`,
		"invalid UTF-8": "{\"A\":\"\xff\"}", "lone surrogate": `{"A":"\ud800"}`,
		"nested too deep": `{"A":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
	}
	for name, body := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := openapi.Canonical([]byte(body), openapi.PlainAmpersand)
			if !errors.Is(err, openapi.ErrBody) {
				t.Errorf("err = %v, want ErrBody", err)
			}
		})
	}
}

// The members are in the order in which they are signed, as many and as deep as
// they may be.
func TestSplitBody(t *testing.T) {
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"m%d":1`, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	nested := func(n int) string {
		return `{"A":` + strings.Repeat(`{"[":`, n) + `"]}"` + strings.Repeat("}", n) + `}`
	}
	for name, body := range map[string]string{"members": many(openapi.MaxMembers), "depth": nested(64)} {
		members, err := openapi.SplitBody([]byte(body))
		sorted := slices.IsSortedFunc(members, func(a, b openapi.Member) int { return strings.Compare(a.Name, b.Name) })
		if err != nil || len(members) == 0 || !sorted {
			t.Errorf("%s: %d members, sorted %v, %v", name, len(members), sorted, err)
		}
	}
	for name, body := range map[string]string{"members": many(openapi.MaxMembers + 1), "depth": nested(65)} {
		if _, err := openapi.SplitBody([]byte(body)); !errors.Is(err, openapi.ErrBody) {
			t.Errorf("too many %s: err = %v, want ErrBody", name, err)
		}
	}
}

// Any of several secrets may have signed, wherever it stands among them.
func TestSignedByOneOfSeveral(t *testing.T) {
	members, err := openapi.SplitBody([]byte(`{"A":"a&b","Sign":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, amp := range []openapi.Ampersand{openapi.PlainAmpersand, openapi.HexAmpersand} {
		sign, err := openapi.Sign("right", "/k/svc", []byte(`{"A":"a&b"}`), amp)
		if err != nil {
			t.Fatal(err)
		}
		for want, lists := range map[bool][][]string{
			true:  {{"right"}, {"right", "old", "older"}, {"new", "right", "older"}, {"new", "old", "right"}, {"right", "right"}},
			false: {nil, {"wrong"}, {"new", "old"}, {""}, {"Right"}},
		} {
			for _, secrets := range lists {
				if ok, err := members.SignedBy("/k/svc", sign, secrets...); ok != want || err != nil {
					t.Errorf("hex=%v, %q: %v, %v", amp, secrets, ok, err)
				}
			}
		}
		for _, wrong := range []string{"", sign[:31], sign + "0", strings.ToLower(sign), " " + sign[1:]} {
			if ok, _ := members.SignedBy("/k/svc", wrong, "right"); ok {
				t.Errorf("hex=%v: %q is taken", amp, wrong)
			}
		}
	}
}

// FuzzCanonical holds two properties for every input that can be signed: the
// canonical form is a fixed point, and a signature of it verifies.
func FuzzCanonical(f *testing.F) {
	for _, v := range openapitest.Vectors(f) {
		f.Add([]byte(v.Body), v.HexAmp())
	}
	f.Fuzz(func(t *testing.T, body []byte, hexAmp bool) {
		amp := openapi.Ampersand(hexAmp)
		once, err := openapi.Canonical(body, amp)
		if err != nil {
			return
		}
		twice, err := openapi.Canonical(once, amp)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("not a fixed point: %q then %q, %v", once, twice, err)
		}
		sign, err := openapi.Sign("s", "/k/svc", body, amp)
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := openapi.Verify("s", "/k/svc", body, sign); !ok || err != nil {
			t.Fatalf("own signature refused: %v", err)
		}
	})
}
