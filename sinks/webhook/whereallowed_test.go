package webhook

import (
	"errors"
	"strings"
	"testing"
)

func TestBadWhere(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, problem, hint string }{
		{`stauts == "Approved"`, "line 1, character 1: unknown name stauts", "did you mean status?"},
		{"regression &&\n  subid == \"a\"", "line 2, character 3: unknown name subid", "did you mean sub_id?"},
		{`sub_id == "Ü" && amuont > 1`, "line 1, character 18: unknown name amuont", "did you mean amount?"},
		{`status == "approved"`, `line 1, character 11: no status is called "approved"`, "Pending, Confirmed, Approved"},
		{`"2" == status`, `no status is called "2"`, "Approved"},
		{`status in ["Approved", "Paid"]`, `character 24: no status is called "Paid"`, "Approved"},
		{`event == "created"`, `no event is called "created"`, "order.created"},
		{`event != "7"`, `no event is called "7"`, "order.created"},
		{`any(lines, .status == "refund")`, `no status of a line is called "refund"`, "Refund"},
		{`status ==`, "line 1, character 9: unexpected token EOF", "write it like"},
		{`status = "Approved"`, "line 1, character 8: ", "write it like"},
		{`amount`, "expected bool, but got amount", "write it like"},
		{`status`, "expected bool, but got string", "write it like"},
		{`amount == "100"`, "mismatched types amount and string", "write it like"},
		{`amount > version`, "mismatched types amount and int", "write it like"},
		{`amount > status`, "mismatched types amount and string", "write it like"},
		{`!amount`, "invalid operation: ! (mismatched type amount)", "write it like"},
		{`status > 1`, "mismatched types string and int", "write it like"},
		{`commission / amount >= 0.05`, "line 1, character 12: the operator / cannot be used", "multiply"},
		{`version % 2 == 0`, "the operator % cannot be used", ""},
		{`amount ** 99 > 1`, "the operator ** cannot be used", ""},
		{`version in 1..1000000`, "the operator .. cannot be used", ""},
		{`amount in [100, 200]`, "an amount cannot be looked for in a list", "=="},
		{`version in [1.5]`, "a list may hold only texts and whole numbers", ""},
		{`version > 1.5`, "line 1, character 11: this number is compared with no amount", "only amounts"},
		{`amount > 1e300`, "this number is compared with no amount, or is too long", ""},
		{`amount > 1.23456789012345678901234567890123456789`, "or is too long", ""},
		{`amount.Pow(3) > 1`, "line 1, character 8: a dot or an index", ""},
		{`amount.value == 1`, "a dot or an index", ""},
		{`changes[0] == "/Status"`, "a dot or an index", "in changes"},
		{`lines?.status == 1`, "a dot or an index", ""},
		{`status[0:1] == "A"`, "this cannot be used", ""},
		{`any(lines, any(changes, # == "a"))`, "a loop within a loop", "one list at a time"},
		{`any(lines, count(lines, .amount > 1) > 1)`, "a loop within a loop", ""},
		{`any(lines, #?.shop == "a")`, "this cannot be used", ""},
		{`changes == ["/Status"]`, "character 9: a list cannot stand beside ==", "in changes"},
		{`["a"] != changes`, "a list cannot stand beside !=", "in changes"},
		{`lines == lines`, "a list cannot stand beside ==", "any(lines"},
		{`"Status" in lines`, "cannot use string as type line in array", ""},
		{`"a" in sub_id`, "mismatched types string and string", ""},
		{`let x = sub_id + sub_id; x + x == "a"`, "this cannot be used", ""},
		{`regression ? true : false`, "this cannot be used", "&&"},
		{`if regression { true } else { false }`, "this cannot be used", ""},
		{`(sub_id ?? "") == "a"`, "the operator ?? cannot be used", ""},
		{`{"a": 1} == nil`, "this cannot be used", ""},
		{`status == nil`, "this cannot be used", ""},
		{`$env == nil`, "$env cannot be used", ""},
		{`true; false`, "this cannot be used", ""},
		{`any(lines, #index > 1)`, "#index cannot be used", ""},
		{`sub_id matches website`, "the right side of matches is no text", "quotes"},
		{`sub_id matches "["`, "line 1, character 8: error parsing regexp", ""},
		{`repeat("a", 1000000) == sub_id`, "character 1: there is no such function", ""},
		{`now() == now()`, "there is no such function", ""},
		{`filter(lines, true) == lines`, "character 1: there is no function filter", "any, all"},
		{`status.upper()`, "a dot or an index", ""},
		{`len(filter(lines, true)) > 1`, "there is no function filter", ""},
		{`sortBy(lines, .item) == lines`, "there is no function sortBy", ""},
		{`reduce(changes, # + #acc) == "a"`, "cannot be used", ""},
		{`fromJSON(sub_id)`, "there is no such function", ""},
		{`+version == 2`, "the operator + cannot be used", "leave it out"},
		{`count(lines) > 1`, "character 1: count of nothing", "len(lines)"},
		{strings.Repeat("regression && ", 130) + "true", "has more than 250 parts", "two endpoints"},
		{strings.Repeat("len(lower(sub_id) < ", 60) + "sub_id" + strings.Repeat(" < sub_id)", 60), "has more than 250 parts", ""}, // would take ages
		{strings.Repeat(" ", 2000) + "true", "has 2004 characters, more than 2000", "programs"},
		{" ", "unexpected token EOF", ""},
	}
	for _, tt := range tests {
		_, err := New(Config{Name: "a", URL: "https://example.com", Secret: testSecret, Where: tt.text})
		var bad *ConfigError
		if !errors.As(err, &bad) || bad.Field != "where" || bad.Endpoint != "a" || bad.Hint == "" {
			t.Errorf("%.60s: got %v", tt.text, err)
			continue
		}
		if !strings.Contains(bad.Problem, tt.problem) || !strings.Contains(bad.Hint, tt.hint) || strings.Contains(bad.Problem, "\n") {
			t.Errorf("%.60s: got problem %q, hint %q", tt.text, bad.Problem, bad.Hint)
		}
		if CheckWhere(tt.text) == nil {
			t.Errorf("%.60s: CheckWhere says nothing", tt.text)
		}
	}
	if err := CheckWhere(`regression`); err != nil {
		t.Error(err)
	}
}
