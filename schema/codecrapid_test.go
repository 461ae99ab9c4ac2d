package schema

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// texts draws the text of a field: mostly plain, at times anything.
var texts = rapid.OneOf(
	rapid.StringMatching(`[ -~]{0,20}`), rapid.StringMatching(`[一-龠\n\t"\\/é😀<&>]{0,12}`), rapid.String(),
	rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 10), func(b []byte) string { return string(b) }),
)

var amounts = rapid.OneOf(rapid.Just(""), rapid.StringMatching(`-?[0-9]{1,8}(\.[0-9]{1,2})?`), rapid.StringMatching(`[-+]?[0-9]{1,12}(\.[0-9]{1,3})?([eE][-+]{0,2}[0-9]{1,3})?`))

func drawText(t *rapid.T) Text {
	if rapid.IntRange(0, 2).Draw(t, "present") == 0 {
		return Text{}
	}
	return NewText(texts.Draw(t, "text"))
}

func drawAmount(t *rapid.T) Money {
	m, err := ParseMoney(amounts.Draw(t, "amount"))
	if err != nil {
		return Money{}
	}
	return m
}

// drawValue draws a JSON value, not always a sound one, with white space.
func drawValue(t *rapid.T, depth int) string {
	space := func() string { return rapid.SampledFrom([]string{"", "", "", " ", "\n\t"}).Draw(t, "space") }
	kind := rapid.IntRange(0, 7).Draw(t, "kind")
	if depth == 0 {
		kind %= 6
	}
	switch kind {
	case 6:
		return "[" + list(t, func(int) string { return space() + drawValue(t, depth-1) + space() }) + "]"
	case 7:
		return drawObject(t, depth)
	default:
		return rapid.OneOf(rapid.SampledFrom(rawTexts), rapid.StringMatching(`-?(0|[1-9][0-9]{0,18})(\.[0-9]{1,4})?([eE][-+]?[0-9]{1,3})?`),
			rapid.Map(texts, strconv.Quote), rapid.SampledFrom([]string{"null", "true", "false", `"\u00e9\/"`, `"plain"`})).Draw(t, "scalar")
	}
}

func drawObject(t *rapid.T, depth int) string {
	names := rapid.SampledFrom([]string{"a", "b", "Id", "SubId", "Details", "ItemId", "data", "account", "\\u0061", "é", "\\/", "long name of a member"})
	return "{" + list(t, func(int) string { return `"` + names.Draw(t, "name") + `": ` + drawValue(t, depth-1) }) + "}"
}

func list(t *rapid.T, element func(int) string) string {
	s := ""
	for i := range rapid.IntRange(0, 4).Draw(t, "length") {
		if i > 0 {
			s += ","
		}
		s += element(i)
	}
	return s
}

func drawOrder(t *rapid.T) Order {
	var o Order
	for i := range orderDetails {
		if orderAmounts>>i&1 != 0 {
			*o.field(i) = drawAmount(t).text
		} else {
			*o.field(i) = drawText(t)
		}
	}
	if rapid.Bool().Draw(t, "extra") {
		o.Extra = []byte(drawObject(t, 2))
	}
	if rapid.Bool().Draw(t, "lines") {
		o.Details = make([]OrderLine, rapid.IntRange(0, 6).Draw(t, "count"))
	}
	for n := range o.Details {
		l := &o.Details[n]
		for i := range lineFields.names {
			if lineAmounts>>i&1 != 0 {
				*l.field(i) = drawAmount(t).text
			} else {
				*l.field(i) = drawText(t)
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "line's extra") == 0 {
			l.Extra = []byte(drawObject(t, 2))
		}
	}
	return o
}

func drawEvent(t *rapid.T) Event {
	d := Data{
		Account: texts.Draw(t, "account"), TimeZone: "Asia/Shanghai", Version: rapid.Uint64().Draw(t, "version"), Order: drawOrder(t),
		ObservedAt: time.Unix(rapid.Int64Range(-1<<36, 1<<38).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")),
		Regression: rapid.Bool().Draw(t, "regression"),
	}
	for range rapid.IntRange(0, 5).Draw(t, "changes") {
		c := Change{Path: texts.Draw(t, "path")}
		if rapid.Bool().Draw(t, "from") {
			c.From = []byte(drawValue(t, 2))
		}
		if rapid.Bool().Draw(t, "to") {
			c.To = []byte(drawValue(t, 2))
		}
		d.Changes = append(d.Changes, c)
	}
	e := NewEvent(rapid.SampledFrom([]EventType{OrderCreated, StatusChanged, "other"}).Draw(t, "type"), d)
	if rapid.IntRange(0, 3).Draw(t, "zone") == 0 {
		e.Time = e.Time.In(time.FixedZone("", rapid.IntRange(-90000, 90000).Draw(t, "offset")))
	}
	if rapid.IntRange(0, 3).Draw(t, "extensions") == 0 {
		e.Extensions = []byte(drawObject(t, 2))
	}
	return e
}

// mutate changes some bytes of a document.
func mutate(t *rapid.T, raw []byte) []byte {
	pieces := []string{"", " ", ",", ":", "{", "}", "[", "]", `"`, `\`, "0", "-", "1.", "e", "null", "tru", `"Id":1,`, `"a":{"b":[1,]},`, `\u0049`, `\ud800`, "\xff", "\x01", `"OrdersPrice":"x",`, "\n"}
	for range rapid.IntRange(1, 4).Draw(t, "mutations") {
		if len(raw) == 0 {
			break
		}
		at := rapid.IntRange(0, len(raw)-1).Draw(t, "at")
		end := min(len(raw), at+rapid.IntRange(0, 3).Draw(t, "cut"))
		raw = slices.Replace(slices.Clone(raw), at, end, []byte(rapid.SampledFrom(pieces).Draw(t, "piece"))...)
	}
	return raw
}

// Whatever an event holds, the codec and the reference write the same; whatever
// becomes of the document, they read the same or report the same.
func TestCodecLikeReference(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		e := drawEvent(rt)
		compareWriting(rt, &e)
		compareOrder(rt, []byte(drawObject(rt, 3)))
		if raw, err := referenceAppendEvent(&e); err == nil {
			compareEvent(rt, raw)
			compareEvent(rt, mutate(rt, raw))
		}
		if raw, err := referenceAppendOrder(&e.Data.Order); err == nil {
			compareOrder(rt, raw)
			compareOrder(rt, mutate(rt, raw))
		}
	})
}
