package diff

import (
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/orderwire/orderwire/schema"
)

// lineID tells the lines of an order apart: the (sub-)order number, the
// product, and a count for the second and further lines of the same product.
type lineID struct {
	orderSn, itemID string
	nth             int
}

func lineIDs(lines []schema.OrderLine) []lineID {
	ids := make([]lineID, len(lines))
	seen := make(map[lineID]int, len(lines))
	for i := range lines {
		id := lineID{orderSn: lines[i].OrderSn.String(), itemID: lines[i].ItemID.String()}
		id.nth = seen[id]
		seen[lineID{id.orderSn, id.itemID, 0}]++
		ids[i] = id
	}
	return ids
}

// lines compares the order lines: field by field when the same lines stand in
// the same places, as whole lists when lines came, went, or moved and changed.
func (c *comparison) lines(a, b []schema.OrderLine) {
	if len(a) == 0 && len(b) == 0 {
		return
	}
	idsA, idsB := lineIDs(a), lineIDs(b)
	if sameIDs(idsA, idsB) {
		for i := range a {
			c.line("/Details/"+strconv.Itoa(i), &a[i], &b[i])
		}
		return
	}
	c.movedLines(a, b, idsA, idsB)
}

// movedLines matches lines by identity. When all have a match and none
// changed, only their places differ, which is no change.
func (c *comparison) movedLines(a, b []schema.OrderLine, idsA, idsB []lineID) {
	at := make(map[lineID]int, len(a))
	for i, id := range idsA {
		at[id] = i
	}
	var inner comparison
	same := len(a) == len(b)
	for i, id := range idsB {
		j, known := at[id]
		if !known {
			same = false
			continue
		}
		inner.line("", &a[j], &b[i])
	}
	if same && len(inner.changes) == 0 {
		return
	}
	c.add("/Details", lineList(a), lineList(b))
	c.status = c.status || inner.status
	c.regression = c.regression || inner.regression
}

func (c *comparison) line(path string, a, b *schema.OrderLine) {
	for _, f := range lineTexts {
		c.text(path+"/"+f.name, *f.get(a), *f.get(b))
	}
	for _, f := range lineAmounts {
		c.money(path+"/"+f.name, *f.get(a), *f.get(b))
	}
	c.lineStatus(a.LbOrderStatus, b.LbOrderStatus)
	c.extra(path, a.Extra, b.Extra)
}

func sameIDs(a, b []lineID) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// lineList encodes whole lines, nil when the order had no list at all.
func lineList(lines []schema.OrderLine) []byte {
	if lines == nil {
		return nil
	}
	b, err := json.Marshal(lines)
	if err != nil { // only for invalid UTF-8, which no decoder lets in
		return nil
	}
	return b
}
