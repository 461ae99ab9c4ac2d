package network

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/network/internal/wire"
)

// parsed is the form of a JSON body.
func parsed(t *testing.T, body string) *form {
	t.Helper()
	b, err := wire.Parse("", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return &form{params: b.Params}
}

// An array of objects comes as JSON, or as its text, which is how a form sends
// it.
func TestObjects(t *testing.T) {
	quoted := func(array string) string { return fmt.Sprintf("%q", array) }
	tests := []struct {
		name, value string
		want        []string // the A of each, nil for a refusal
	}{
		{"array", `[{"A":"x"},{"A":2}]`, []string{"x", "2"}},
		{"white space", " [ {\"A\" : \"x\"}\n, {} ] ", []string{"x", ""}},
		{"empty", `[]`, []string{}},
		{"text", quoted(`[{"A":"x"},{"A":2}]`), []string{"x", "2"}},
		{"escaped text", `"[{\u0022A\u0022:\"&\"}]"`, []string{"&"}},
		{"empty text", `""`, []string{}},
		{"three", `[{},{},{}]`, []string{"", "", ""}},
		{"one too many", `[{},{},{},{}]`, nil},
		{"object", `{"A":"x"}`, nil},
		{"number", `1`, nil},
		{"true", `true`, nil},
		{"null", `null`, nil},
		{"array of numbers", `[1]`, nil},
		{"array of arrays", `[[{}]]`, nil},
		{"array of null", `[null]`, nil},
		{"text that is none", quoted(`A=x`), nil},
		{"text cut short", quoted(`[{"A":"x"}`), nil},
		{"text with more behind it", quoted(`[{"A":"x"}]]`), nil},
		{"text with a name twice", quoted(`[{"A":"x","A":"y"}]`), nil},
		{"text nested too deep", quoted(`[{"A":` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + `}]`), nil},
		{"text with 257 members", quoted(`[{` + strings.TrimSuffix(manyMembers(257), ",") + `}]`), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := parsed(t, `{"Items":`+tt.value+`}`)
			got := []string{}
			for _, one := range f.objects("Items", 3) {
				got = append(got, one.text("A"))
				f.take(one)
			}
			var wrong *schema.ParamError
			if tt.want == nil {
				if !errors.As(f.err, &wrong) || wrong.Name != "Items" || wrong.Length == 0 {
					t.Errorf("err = %v, want a ParamError about Items", f.err)
				}
			} else if f.err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%q, %v; want %q", got, f.err, tt.want)
			}
		})
	}
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"m%d":1,`, i)
	}
	return b.String()
}

// What an element breaks is the form's error, the first of all.
func TestElementErrors(t *testing.T) {
	f := parsed(t, `{"Items":[{"A":"1"},{"A":"\u0000"},{"A":[]}]}`)
	for _, one := range f.objects("Items", 3) {
		one.text("A")
		f.take(one)
	}
	var wrong *schema.ParamError
	if !errors.As(f.err, &wrong) || wrong.Name != "A" || wrong.Length != 1 || !strings.Contains(wrong.Rule, "NUL") {
		t.Errorf("err = %v", f.err)
	}
}

// An absent parameter is no error, a given one may be empty.
func TestGiven(t *testing.T) {
	f := parsed(t, `{"Empty":"","Null":null,"Zero":0}`)
	for name, want := range map[string]bool{"Empty": true, "Null": true, "Zero": true, "Absent": false, "": false} {
		if f.given(name) != want {
			t.Errorf("%s given: %v", name, !want)
		}
	}
	if f.objects("Absent", 1) != nil || f.text("Absent") != "" || f.currency("Empty", "CNY") != "CNY" || f.flag("Zero") || f.err != nil {
		t.Errorf("err = %v", f.err)
	}
}
