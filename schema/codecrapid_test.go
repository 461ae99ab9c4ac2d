package schema

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawer draws the parts of an event; sound ones can be written.
type drawer struct {
	*rapid.T
	sound bool
}

var soundTexts = rapid.OneOf(rapid.StringMatching(`[ -~]{0,20}`), rapid.StringMatching(`[一-龠\n\t"\\/é😀<&>]{0,12}`), rapid.String())

var anyTexts = rapid.OneOf(soundTexts, rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 10), func(b []byte) string { return string(b) }))

func (t drawer) any() string {
	if t.sound {
		return soundTexts.Draw(t.T, "text")
	}
	return anyTexts.Draw(t.T, "text")
}

var amounts = rapid.OneOf(rapid.Just(""), rapid.StringMatching(`-?[0-9]{1,8}(\.[0-9]{1,2})?`), rapid.StringMatching(`[-+]?[0-9]{1,12}(\.[0-9]{1,3})?([eE][-+]{0,2}[0-9]{1,3})?`))

func (t drawer) text() Text {
	if rapid.IntRange(0, 2).Draw(t.T, "present") == 0 {
		return Text{}
	}
	return NewText(t.any())
}

func (t drawer) amount() Money {
	m, err := ParseMoney(amounts.Draw(t.T, "amount"))
	if err != nil {
		return Money{}
	}
	return m
}

var soundScalars = rapid.OneOf(
	rapid.StringMatching(`-?(0|[1-9][0-9]{0,18})(\.[0-9]{1,4})?([eE][-+]?[0-9]{1,3})?`),
	rapid.SampledFrom([]string{"null", "true", "false", `"\u00e9\/"`, `"plain"`, `"\u001f\n"`, `"\ud83d\ude00é"`, `""`, "{}", "[ ]"}),
)

// value draws a JSON value with white space; when nothing has to be sound, also
// what is none.
func (t drawer) value(depth int) string {
	space := func() string { return rapid.SampledFrom([]string{"", "", "", " ", "\n\t"}).Draw(t.T, "space") }
	kind := rapid.IntRange(0, 7).Draw(t.T, "kind")
	switch {
	case kind >= 6 && depth > 0:
		return t.object(depth)
	case kind >= 4 && depth > 0:
		return "[" + t.list(func(int) string { return space() + t.value(depth-1) + space() }) + "]"
	case t.sound || kind > 0:
		return soundScalars.Draw(t.T, "scalar")
	default:
		return rapid.OneOf(rapid.SampledFrom(rawTexts), rapid.Map(anyTexts, strconv.Quote)).Draw(t.T, "scalar")
	}
}

func (t drawer) object(depth int) string {
	names := rapid.SampledFrom([]string{"a", "b", "Id", "SubId", "Details", "ItemId", "data", "account", "\\u0061", "é", "\\/", "long name of a member"})
	return "{" + t.list(func(i int) string {
		name := names.Draw(t.T, "name")
		if t.sound {
			name += strconv.Itoa(i)
		}
		return `"` + name + `": ` + t.value(depth-1)
	}) + "}"
}

func (t drawer) list(element func(int) string) string {
	s := ""
	for i := range rapid.IntRange(0, 4).Draw(t.T, "length") {
		if i > 0 {
			s += ","
		}
		s += element(i)
	}
	return s
}

func (t drawer) order() Order {
	var o Order
	for i := range orderDetails {
		if orderAmounts>>i&1 != 0 {
			*o.field(i) = t.amount().text
		} else {
			*o.field(i) = t.text()
		}
	}
	if rapid.Bool().Draw(t.T, "extra") {
		o.Extra = []byte(t.object(2))
	}
	if rapid.Bool().Draw(t.T, "lines") {
		o.Details = make([]OrderLine, rapid.IntRange(0, 6).Draw(t.T, "count"))
	}
	for n := range o.Details {
		l := &o.Details[n]
		for i := range lineFields.names {
			if lineAmounts>>i&1 != 0 {
				*l.field(i) = t.amount().text
			} else {
				*l.field(i) = t.text()
			}
		}
		if rapid.IntRange(0, 3).Draw(t.T, "line's extra") == 0 {
			l.Extra = []byte(t.object(2))
		}
	}
	return o
}

func (t drawer) event() Event {
	d := Data{
		Account: t.any(), TimeZone: "Asia/Shanghai", Version: rapid.Uint64().Draw(t.T, "version"), Order: t.order(),
		ObservedAt: time.Unix(rapid.Int64Range(-1<<36, 1<<38).Draw(t.T, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t.T, "nanoseconds")),
		Regression: rapid.Bool().Draw(t.T, "regression"),
	}
	for range rapid.IntRange(0, 5).Draw(t.T, "changes") {
		c := Change{Path: t.any()}
		if rapid.Bool().Draw(t.T, "from") {
			c.From = []byte(t.value(2))
		}
		if rapid.Bool().Draw(t.T, "to") {
			c.To = []byte(t.value(2))
		}
		d.Changes = append(d.Changes, c)
	}
	e := NewEvent(rapid.SampledFrom([]EventType{OrderCreated, StatusChanged, "other"}).Draw(t.T, "type"), d)
	if rapid.IntRange(0, 3).Draw(t.T, "zone") == 0 {
		e.Time = e.Time.In(time.FixedZone("", rapid.IntRange(-1430, 1430).Draw(t.T, "offset")*60))
	}
	if rapid.IntRange(0, 3).Draw(t.T, "extensions") == 0 {
		e.Extensions = []byte(t.object(2))
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
		d := drawer{rt, rapid.Bool().Draw(rt, "sound")}
		e := d.event()
		compareWriting(rt, &e)
		compareOrder(rt, []byte(d.object(3)))
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
