package openapi_test

import (
	"bytes"
	"errors"
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
