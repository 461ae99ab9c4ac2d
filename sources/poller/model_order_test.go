package poller_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// oddName is a field that the specification does not know, with a name that a
// JSON Pointer must escape.
const oddName = "x/y~z"

// modelOrder is an order as the model's network holds it: values, not bytes.
type modelOrder struct {
	modelKey
	status string // settlement status
	cents  int    // OrdersPrice; 0 for an amount that is not known yet
	label  string // SubId; "" for none
	odd    int    // the unknown field; 0 for none
	lines  []modelLine
}

// modelKey tells the orders of the model apart.
type modelKey struct{ program, sn string }

func (k modelKey) String() string { return k.program + "/" + k.sn }

type modelLine struct {
	item, status string
	cents        int
}

// modelKeys are all orders that a case can have: two share a number, one has
// characters that a subject cannot hold.
var modelKeys = []modelKey{{"7", "A1"}, {"8", "A1"}, {"7", "A2"}, {"7", "B.3 *"}, {"8", "C4"}, {"", "D5"}}

var (
	drawSettlement = rapid.SampledFrom([]string{"-1", "0", "1", "2"})
	drawLineStatus = rapid.SampledFrom([]string{"1", "2", "3", "4", "5", "9"})
	drawCents      = rapid.SampledFrom([]int{0, 100, 1250, 1251, -300})
)

func drawLine(t *rapid.T) modelLine {
	return modelLine{
		item: rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "item"), status: drawLineStatus.Draw(t, "line status"), cents: drawCents.Draw(t, "line cents"),
	}
}

func drawOrder(t *rapid.T, k modelKey) modelOrder {
	return modelOrder{
		modelKey: k, status: drawSettlement.Draw(t, "status"), cents: drawCents.Draw(t, "cents"),
		lines: rapid.SliceOfN(rapid.Custom(drawLine), 0, 3).Draw(t, "lines"),
	}
}

// changed draws an order that differs from o in one respect, or in nothing.
func (o modelOrder) changed(t *rapid.T) modelOrder {
	o.lines = slices.Clone(o.lines)
	switch rapid.SampledFrom([]string{"status", "cents", "label", "odd", "line status", "line cents", "lines", "moved lines"}).Draw(t, "change") {
	case "status":
		o.status = drawSettlement.Draw(t, "status")
	case "cents":
		o.cents = drawCents.Draw(t, "cents")
	case "label":
		o.label = rapid.SampledFrom([]string{"", "a", "中"}).Draw(t, "label")
	case "odd":
		o.odd = rapid.IntRange(0, 2).Draw(t, "odd")
	case "lines":
		o.lines = rapid.SliceOfN(rapid.Custom(drawLine), 0, 3).Draw(t, "lines")
	case "moved lines":
		slices.Reverse(o.lines)
	case "line status":
		o.eachLine(func(l *modelLine) { l.status = drawLineStatus.Draw(t, "line status") })
	case "line cents":
		o.eachLine(func(l *modelLine) { l.cents = drawCents.Draw(t, "line cents") })
	}
	return o
}

func (o *modelOrder) eachLine(change func(*modelLine)) {
	for i := range o.lines {
		change(&o.lines[i])
	}
}

// style is how the network writes an order; none of it is a change.
type style struct {
	numbers  bool // scalars as numbers where they can be
	reversed bool // members from last to first
	spaces   bool
	nulls    bool // absent texts and amounts as null and ""
}

func drawStyle(t *rapid.T) style {
	bits := rapid.IntRange(0, 15).Draw(t, "style")
	return style{bits&1 != 0, bits&2 != 0, bits&4 != 0, bits&8 != 0}
}

// write returns the order as JSON; bare leaves the lines out.
func (o modelOrder) write(s style, bare bool) jsontext.Value {
	m := []string{s.text("ProgramId", o.program), s.text("OrderSn", o.sn), s.text("Status", o.status), s.amount("OrdersPrice", o.cents), s.text("SubId", o.label)}
	if o.odd != 0 {
		m = append(m, fmt.Sprintf("%q:%s", oddName, s.object(fmt.Sprintf(`"n":%d`, o.odd), `"list":[1,2]`)))
	}
	if !bare {
		lines := make([]string, len(o.lines))
		for i, l := range o.lines {
			lines[i] = s.object(s.text("ItemId", l.item), s.text("LbOrderStatus", l.status), s.amount("OrderCommission", l.cents), `"Mark":{"a":1}`)
		}
		m = append(m, `"Details":[`+strings.Join(lines, ",")+`]`)
	}
	return jsontext.Value(s.object(m...))
}

func (s style) object(members ...string) string {
	members = slices.DeleteFunc(members, func(m string) bool { return m == "" })
	if s.reversed {
		slices.Reverse(members)
	}
	if s.spaces {
		return "{ " + strings.Join(members, " ,\n\t") + " }"
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (s style) text(name, value string) string {
	_, err := strconv.Atoi(value)
	switch {
	case value == "" && s.nulls:
		return fmt.Sprintf("%q:null", name)
	case value == "":
		return ""
	case err == nil && s.numbers:
		return fmt.Sprintf("%q:%s", name, value)
	}
	return fmt.Sprintf("%q:%q", name, value)
}

func (s style) amount(name string, cents int) string {
	switch {
	case cents == 0 && s.nulls:
		return fmt.Sprintf(`%q:""`, name)
	case cents == 0:
		return ""
	case s.numbers:
		return fmt.Sprintf("%q:%s", name, strings.TrimSuffix(decimalOf(cents), "0"))
	}
	return fmt.Sprintf("%q:%q", name, decimalOf(cents))
}

func decimalOf(cents int) string { return big.NewRat(int64(cents), 100).FloatString(2) }

// facts are the values of an order without regard to how they are written.
type facts struct {
	fields map[string]string
	lines  []map[string]string
}

// facts returns the order's values, from the model and not from any JSON.
func (o modelOrder) facts() facts {
	f := facts{fields: factsOf("ProgramId", o.program, "OrderSn", o.sn, "Status", o.status, "OrdersPrice", amountOf(o.cents), "SubId", o.label)}
	if o.odd != 0 {
		f.fields[oddName] = fmt.Sprintf(`{"list":[1,2],"n":%d}`, o.odd)
	}
	for _, l := range o.lines {
		f.lines = append(f.lines, factsOf("ItemId", l.item, "LbOrderStatus", l.status, "OrderCommission", amountOf(l.cents), "Mark", `{"a":1}`))
	}
	return f
}

func amountOf(cents int) string {
	if cents == 0 {
		return ""
	}
	return decimalOf(cents)
}

func factsOf(pairs ...string) map[string]string {
	m := make(map[string]string)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			m[pairs[i]] = pairs[i+1]
		}
	}
	return m
}

// readFacts reads an order's JSON with nothing but the standard library.
func readFacts(raw []byte) (facts, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return facts{}, err
	}
	lines, err := readLines(members["Details"])
	delete(members, "Details")
	return facts{fields: readMembers(members), lines: lines}, err
}

func readLines(raw []byte) ([]map[string]string, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	var lines []map[string]string
	for _, members := range list {
		lines = append(lines, readMembers(members))
	}
	return lines, nil
}

func readMembers(members map[string]json.RawMessage) map[string]string {
	m := make(map[string]string)
	for name, raw := range members {
		if v := readValue(name, raw); v != "" {
			m[name] = v
		}
	}
	return m
}

// readValue returns a member's value: null and "" are no value, amounts have
// two decimal places, members of objects are sorted.
func readValue(name string, raw []byte) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return ""
	}
	text := ""
	switch v := v.(type) {
	case nil:
	case string:
		text = v
	case json.Number:
		text = v.String()
	default:
		b, _ := json.Marshal(v)
		text = string(b)
	}
	if amount, ok := new(big.Rat).SetString(text); ok && (name == "OrdersPrice" || name == "OrderCommission") {
		return amount.FloatString(2)
	}
	return text
}
