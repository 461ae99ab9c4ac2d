package poller_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/orderwire/orderwire/schema"
)

// delta is what an event must say of the step between two states of an order.
type delta struct {
	paths      []string // sorted
	status     bool
	regression bool
}

// between works out the step from one state to the next, from the rules in the
// documentation of schema.Change and of the event types.
func between(a, b facts) delta {
	var d delta
	d.fields("", a.fields, b.fields)
	switch idsA, idsB := lineIDs(a.lines), lineIDs(b.lines); {
	case slices.Equal(idsA, idsB):
		for i := range a.lines {
			d.fields(fmt.Sprintf("/Details/%d", i), a.lines[i], b.lines[i])
		}
	case !sameLines(a.lines, b.lines):
		d.matched(a.lines, b.lines)
		d.paths = append(d.paths, "/Details")
	}
	slices.Sort(d.paths)
	return d
}

// fields compares two sets of members that belong together.
func (d *delta) fields(at string, a, b map[string]string) {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for name := range all {
		if a[name] == b[name] {
			continue
		}
		d.paths = append(d.paths, at+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
		d.step(name, a[name], b[name])
	}
}

// matched takes from lines that came, went or moved what their statuses say.
func (d *delta) matched(a, b []map[string]string) {
	idsA, idsB := lineIDs(a), lineIDs(b)
	for i, id := range idsA {
		if j := slices.Index(idsB, id); j >= 0 {
			d.step("LbOrderStatus", a[i]["LbOrderStatus"], b[j]["LbOrderStatus"])
		}
	}
}

// parcel is the life of a parcel, by line status; 9 (refund) stands outside.
const parcel = "12345"

func (d *delta) step(name, from, to string) {
	if from == to {
		return
	}
	switch name {
	case "Status":
		d.status = true
		d.regression = d.regression || to != "-1" && (from == "-1" || to < from)
	case "LbOrderStatus":
		d.status = true
		d.regression = d.regression || strings.Contains(parcel, from) && strings.Contains(parcel, to) && to < from
	}
}

// eventType is the type of an event with this step.
func (d *delta) eventType() schema.EventType {
	if d.status {
		return schema.StatusChanged
	}
	return schema.OrderUpdated
}

// lineIDs names each line by product and by which of that product's it is.
func lineIDs(lines []map[string]string) []string {
	var ids []string
	count := make(map[string]int)
	for _, l := range lines {
		count[l["ItemId"]]++
		ids = append(ids, fmt.Sprint(l["ItemId"], "#", count[l["ItemId"]]))
	}
	return ids
}

// sameLines reports whether the lines are the same but for their places.
func sameLines(a, b []map[string]string) bool {
	return reflect.DeepEqual(inOrder(a), inOrder(b))
}

func inOrder(lines []map[string]string) []map[string]string {
	lines = slices.Clone(lines)
	slices.SortStableFunc(lines, func(a, b map[string]string) int { return strings.Compare(a["ItemId"], b["ItemId"]) })
	return lines
}

// same reports whether two states are equal but for the places of lines.
func (f facts) same(o facts) bool {
	return maps.Equal(f.fields, o.fields) && sameLines(f.lines, o.lines)
}

// undone returns the state before an event, from its changes alone. It fails
// when a change's To is not what the state after the event holds.
func (f facts) undone(changes []schema.Change) (facts, error) {
	before := facts{fields: maps.Clone(f.fields)}
	for _, l := range f.lines {
		before.lines = append(before.lines, maps.Clone(l))
	}
	for _, c := range changes {
		if err := before.undo(c); err != nil {
			return facts{}, err
		}
	}
	return before, nil
}

func (f *facts) undo(c schema.Change) error {
	tokens := strings.Split(strings.TrimPrefix(c.Path, "/"), "/")
	if c.Path == "/Details" {
		return f.undoLines(c)
	}
	members, at := f.fields, 0
	if len(tokens) == 3 && tokens[0] == "Details" {
		if _, err := fmt.Sscan(tokens[1], &at); err != nil || at >= len(f.lines) {
			return fmt.Errorf("change of %s names no line", c.Path)
		}
		members = f.lines[at]
	}
	name := strings.NewReplacer("~1", "/", "~0", "~").Replace(tokens[len(tokens)-1])
	if to := readValue(name, c.To); to != members[name] {
		return fmt.Errorf("change of %s leads to %q, the order has %q", c.Path, to, members[name])
	}
	delete(members, name)
	if from := readValue(name, c.From); from != "" {
		members[name] = from
	}
	return nil
}

func (f *facts) undoLines(c schema.Change) error {
	to, err := readLines(c.To)
	if err != nil || !reflect.DeepEqual(to, f.lines) {
		return fmt.Errorf("change of %s does not lead to the order's lines (%w)", c.Path, err)
	}
	f.lines, err = readLines(c.From)
	return err
}
