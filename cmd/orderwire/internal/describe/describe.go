// Package describe puts events into words for people.
package describe

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/orderwire/orderwire/schema"
)

// Line tells an event of the log in one line.
func Line(e schema.Entry) string {
	d := &e.Event.Data
	return fmt.Sprintf("%8d  %s  %-14s  %s/%s v%d  %s", e.Sequence, d.ObservedAt.Format(time.DateTime), e.Event.Type,
		d.Account, clean(d.Order.OrderSn.String()), d.Version, Event(&e.Event))
}

// Event tells what an event says in a few words.
func Event(e *schema.Event) string {
	o := &e.Data.Order
	if e.Type == schema.OrderCreated {
		return fmt.Sprintf("%s, commission %s %s", clean(settlementName(o.Status.String())), OrNone(o.SiterCommission.String()), clean(o.Currency.String()))
	}
	var parts []string
	for _, c := range important(e.Data.Changes) {
		parts = append(parts, change(c))
	}
	if more := len(parts) - mostChanges; more > 0 {
		parts = append(parts[:mostChanges], fmt.Sprintf("and %d more", more))
	}
	if e.Data.Regression {
		parts = append(parts, "(backwards)")
	}
	return strings.Join(parts, ", ")
}

// mostChanges is the number of changes that a line names.
const mostChanges = 3

// important puts the settlement status first, then the line statuses, and
// leaves out the merchant's own status text where the translated one changed.
func important(changes []schema.Change) []schema.Change {
	translated := slices.ContainsFunc(changes, func(c schema.Change) bool { return strings.HasSuffix(c.Path, "/LbOrderStatus") })
	kept := slices.DeleteFunc(slices.Clone(changes), func(c schema.Change) bool {
		return translated && strings.HasSuffix(c.Path, "/OrderStatus")
	})
	slices.SortStableFunc(kept, func(a, b schema.Change) int { return cmp.Compare(rank(a), rank(b)) })
	return kept
}

func rank(c schema.Change) int {
	switch {
	case c.Path == "/Status":
		return 0
	case strings.HasSuffix(c.Path, "/LbOrderStatus"):
		return 1
	default:
		return 2
	}
}

func change(c schema.Change) string {
	from, to := plain(c.From), plain(c.To)
	name := clean(strings.TrimPrefix(c.Path, "/"))
	switch {
	case c.Path == "/Details":
		return "order lines changed"
	case c.Path == "/Status":
		from, to = settlementName(from), settlementName(to)
	case strings.HasSuffix(c.Path, "/LbOrderStatus"):
		from, to = lineName(from), lineName(to)
	}
	if line, field, ok := lineField(name); ok {
		name = fmt.Sprintf("line %d %s", line, field)
	}
	return fmt.Sprintf("%s %s → %s", strings.TrimSuffix(name, " LbOrderStatus"), OrNone(from), OrNone(to))
}

// lineField takes "Details/0/ItemName" apart; lines count from 1 for people.
func lineField(path string) (line int, field string, ok bool) {
	rest, ok := strings.CutPrefix(path, "Details/")
	index, field, found := strings.Cut(rest, "/")
	n, err := strconv.Atoi(index)
	return n + 1, field, ok && found && err == nil
}

// plain returns the text of a JSON string, or the JSON itself, cut to a length
// that fits a line.
func plain(v jsontext.Value) string {
	var s string
	if v == nil {
		return ""
	}
	if json.Unmarshal(v, &s) != nil {
		s = string(v)
	}
	return clean(s)
}

// clean cuts a text to a length that fits a line, and takes out what a
// terminal would act on.
func clean(s string) string {
	const most = 32
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strings.Map(printable, s)
}

// printable keeps control characters, which order data may hold, from a
// terminal.
func printable(r rune) rune {
	if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
		return '·'
	}
	return r
}

func settlementName(s string) string {
	if status, err := schema.ParseSettlementStatus(s); err == nil {
		return status.String()
	}
	return s
}

func lineName(s string) string {
	if status, err := schema.ParseLineStatus(s); err == nil {
		return status.String()
	}
	return s
}

// OrNone returns a dash for an empty text.
func OrNone(s string) string {
	if s == "" {
		return "–"
	}
	return s
}
