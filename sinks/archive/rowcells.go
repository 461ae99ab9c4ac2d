package archive

import (
	"strings"
	"time"
)

// cell copies one column of a row, a line or a change that was read from a file.
// The tables below are the whole way from [Row] to the columns of a file; a new
// column is a line here, one in the tables of fields and a field of Row.
type cell[T any] struct {
	name string // of the column in its table
	put  func(*column, *T)
}

var rowCells = []cell[Row]{
	{"sequence", func(c *column, r *Row) { c.number(r.Sequence) }},
	{"stored_at", func(c *column, r *Row) { c.number(r.StoredAt.UnixMicro()) }},
	{"event_id", func(c *column, r *Row) { c.string(r.EventID) }},
	{"event_type", func(c *column, r *Row) { c.string(r.EventType) }},
	{"version", func(c *column, r *Row) { c.number(r.Version) }},
	{"previous_id", func(c *column, r *Row) { copyText(c, r.PreviousID) }},
	{"observed_at", func(c *column, r *Row) { c.number(r.ObservedAt.UnixMicro()) }},
	{"regression", func(c *column, r *Row) { c.bool(r.Regression) }},
	{"time_zone", func(c *column, r *Row) { c.string(r.TimeZone) }},
	{"order_id", func(c *column, r *Row) { copyText(c, r.OrderID) }},
	{"program_id", func(c *column, r *Row) { copyText(c, r.ProgramID) }},
	{"program_name", func(c *column, r *Row) { copyText(c, r.ProgramName) }},
	{"website_id", func(c *column, r *Row) { copyText(c, r.WebsiteID) }},
	{"link_id", func(c *column, r *Row) { copyText(c, r.LinkID) }},
	{"sub_id", func(c *column, r *Row) { copyText(c, r.SubID) }},
	{"order_sn", func(c *column, r *Row) { c.string(r.OrderSn) }},
	{"parent_order_sn", func(c *column, r *Row) { copyText(c, r.ParentOrderSn) }},
	{"order_time", func(c *column, r *Row) { copyTime(c, r.OrderTime) }},
	{"orders_price", func(c *column, r *Row) { copyNumber(c, r.OrdersPrice) }},
	{"siter_commission", func(c *column, r *Row) { copyNumber(c, r.SiterCommission) }},
	{"currency", func(c *column, r *Row) { copyText(c, r.Currency) }},
	{"status", func(c *column, r *Row) { copyNumber(c, r.Status) }},
	{"status_name", func(c *column, r *Row) { copyText(c, r.StatusName) }},
	{"confirm_price", func(c *column, r *Row) { copyNumber(c, r.ConfirmPrice) }},
	{"confirm_siter_commission", func(c *column, r *Row) { copyNumber(c, r.ConfirmSiterCommission) }},
	{"charge_currency", func(c *column, r *Row) { copyText(c, r.ChargeCurrency) }},
	{"charge_time", func(c *column, r *Row) { copyTime(c, r.ChargeTime) }},
	{"extra", func(c *column, r *Row) { copyText(c, r.Extra) }},
	{"untyped", func(c *column, r *Row) { copyText(c, r.Untyped) }},
	{"extensions", func(c *column, r *Row) { copyText(c, r.Extensions) }},
}

var lineCells = []cell[Line]{
	{"goods_cate", func(c *column, l *Line) { copyText(c, l.GoodsCate) }},
	{"item_cate", func(c *column, l *Line) { copyText(c, l.ItemCate) }},
	{"item_cate_name", func(c *column, l *Line) { copyText(c, l.ItemCateName) }},
	{"item_id", func(c *column, l *Line) { copyText(c, l.ItemID) }},
	{"item_name", func(c *column, l *Line) { copyText(c, l.ItemName) }},
	{"item_price", func(c *column, l *Line) { copyText(c, l.ItemPrice) }},
	{"item_count", func(c *column, l *Line) { copyText(c, l.ItemCount) }},
	{"orders_price", func(c *column, l *Line) { copyNumber(c, l.OrdersPrice) }},
	{"order_status", func(c *column, l *Line) { copyText(c, l.OrderStatus) }},
	{"order_commission", func(c *column, l *Line) { copyNumber(c, l.OrderCommission) }},
	{"order_sn", func(c *column, l *Line) { copyText(c, l.OrderSn) }},
	{"parent_order_sn", func(c *column, l *Line) { copyText(c, l.ParentOrderSn) }},
	{"item_img", func(c *column, l *Line) { copyText(c, l.ItemImg) }},
	{"shop_title", func(c *column, l *Line) { copyText(c, l.ShopTitle) }},
	{"lb_order_status", func(c *column, l *Line) { copyNumber(c, l.LbOrderStatus) }},
	{"lb_order_status_name", func(c *column, l *Line) { copyText(c, l.LbOrderStatusName) }},
	{"extra", func(c *column, l *Line) { copyText(c, l.Extra) }},
}

var changeCells = []cell[Change]{
	{"path", func(c *column, x *Change) { c.string(x.Path) }},
	{"from", func(c *column, x *Change) { copyText(c, x.From) }},
	{"to", func(c *column, x *Change) { copyText(c, x.To) }},
}

func copyText(c *column, s *string) {
	if s == nil {
		c.null()
		return
	}
	c.string(*s)
}

func copyNumber[N int32 | int64](c *column, n *N) {
	if n == nil {
		c.null()
		return
	}
	c.number(int64(*n))
}

func copyTime(c *column, t *time.Time) {
	if t == nil {
		c.null()
		return
	}
	c.number(t.UnixMicro())
}

// rowBuffer is a buffer that takes rows in place of entries. It has no parts.
type rowBuffer struct {
	*buffer
	ofRow    []filler[Row]
	ofLine   []filler[Line]
	ofChange []filler[Change]
}

// filler is a cell with the column that it fills.
type filler[T any] struct {
	cell[T]
	to *column
}

func newRowBuffer() *rowBuffer {
	b := newBuffer()
	return &rowBuffer{
		buffer: b, ofRow: fillers(b, "", rowCells),
		ofLine: fillers(b, linesPrefix, lineCells), ofChange: fillers(b, changesPrefix, changeCells),
	}
}

func fillers[T any](b *buffer, prefix string, cells []cell[T]) []filler[T] {
	all := make([]filler[T], len(cells))
	for i, c := range cells {
		found, exists := fileSchema.Lookup(strings.Split(prefix+c.name, ".")...)
		if !exists {
			panic("archive: Row has no column " + prefix + c.name)
		}
		all[i] = filler[T]{c, b.leaves[found.ColumnIndex].column}
	}
	return all
}

// add takes a row and keeps nothing of its memory.
func (b *rowBuffer) add(r *Row) {
	fill(b.ofRow, r)
	for i := range r.Lines {
		fill(b.ofLine, &r.Lines[i])
	}
	b.lines.end(r.Lines == nil)
	for i := range r.Changes {
		fill(b.ofChange, &r.Changes[i])
	}
	b.changes.end(false)
	b.rows++
}

func fill[T any](fillers []filler[T], from *T) {
	for i := range fillers {
		fillers[i].put(fillers[i].to, from)
	}
}
