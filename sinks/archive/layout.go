package archive

import "github.com/orderwire/orderwire/schema"

// field fills one column. The tables below are the whole way from an event to
// the columns of [Row]; a new column is a line here and a field there.
type field struct {
	name string // of the column in its table, as in [Row], [Line] or [Change]
	put  func(*column, *source)
}

// eventFields come once for each event.
var eventFields = []field{
	{"sequence", func(c *column, s *source) { c.number(int64(s.entry.Sequence)) }},
	{"stored_at", func(c *column, s *source) { c.number(s.entry.Stored.UnixMicro()) }},
	{"event_id", func(c *column, s *source) { c.string(s.event.ID) }},
	{"event_type", func(c *column, s *source) { c.string(string(s.event.Type)) }},
	{"version", func(c *column, s *source) { c.number(int64(s.event.Data.Version)) }},
	{"previous_id", func(c *column, s *source) { c.stringOrNull(s.event.Data.PreviousID) }},
	{"observed_at", func(c *column, s *source) { c.number(s.event.Data.ObservedAt.UnixMicro()) }},
	{"regression", func(c *column, s *source) { c.bool(s.event.Data.Regression) }},
	{"time_zone", func(c *column, s *source) { c.string(s.event.Data.TimeZone) }},
	{"extensions", func(c *column, s *source) { c.json(s.event.Extensions) }},
}

// orderFields come once for each event, too.
var orderFields = []field{
	{"order_id", text(func(o *schema.Order) schema.Text { return o.ID })},
	{"program_id", text(func(o *schema.Order) schema.Text { return o.ProgramID })},
	{"program_name", text(func(o *schema.Order) schema.Text { return o.ProgramName })},
	{"website_id", text(func(o *schema.Order) schema.Text { return o.WebsiteID })},
	{"link_id", text(func(o *schema.Order) schema.Text { return o.LinkID })},
	{"sub_id", text(func(o *schema.Order) schema.Text { return o.SubID })},
	{"order_sn", func(c *column, s *source) { c.string(s.order.OrderSn.String()) }},
	{"parent_order_sn", text(func(o *schema.Order) schema.Text { return o.ParentOrderSn })},
	{"order_time", func(c *column, s *source) { s.time(c, "OrderTime", s.order.OrderTime) }},
	{"orders_price", func(c *column, s *source) { s.amount(c, "OrdersPrice", s.order.OrdersPrice) }},
	{"siter_commission", func(c *column, s *source) { s.amount(c, "SiterCommission", s.order.SiterCommission) }},
	{"currency", text(func(o *schema.Order) schema.Text { return o.Currency })},
	{"status", func(c *column, s *source) { s.status.putValue(c) }},
	{"status_name", func(c *column, s *source) { s.status.putName(c) }},
	{"confirm_price", func(c *column, s *source) { s.amount(c, "ConfirmPrice", s.order.ConfirmPrice) }},
	{"confirm_siter_commission", func(c *column, s *source) {
		s.amount(c, "ConfirmSiterCommission", s.order.ConfirmSiterCommission)
	}},
	{"charge_currency", text(func(o *schema.Order) schema.Text { return o.ChargeCurrency })},
	{"charge_time", func(c *column, s *source) { s.time(c, "ChargeTime", s.order.ChargeTime) }},
	{"extra", func(c *column, s *source) { c.json(s.order.Extra) }},
}

// lineFields come once for each line of the order.
var lineFields = []field{
	{"goods_cate", lineText(func(l *schema.OrderLine) schema.Text { return l.GoodsCate })},
	{"item_cate", lineText(func(l *schema.OrderLine) schema.Text { return l.ItemCate })},
	{"item_cate_name", lineText(func(l *schema.OrderLine) schema.Text { return l.ItemCateName })},
	{"item_id", lineText(func(l *schema.OrderLine) schema.Text { return l.ItemID })},
	{"item_name", lineText(func(l *schema.OrderLine) schema.Text { return l.ItemName })},
	{"item_price", lineText(func(l *schema.OrderLine) schema.Text { return l.ItemPrice })},
	{"item_count", lineText(func(l *schema.OrderLine) schema.Text { return l.ItemCount })},
	{"orders_price", func(c *column, s *source) { s.amount(c, "OrdersPrice", s.line.OrdersPrice) }},
	{"order_status", lineText(func(l *schema.OrderLine) schema.Text { return l.OrderStatus })},
	{"order_commission", func(c *column, s *source) { s.amount(c, "OrderCommission", s.line.OrderCommission) }},
	{"order_sn", lineText(func(l *schema.OrderLine) schema.Text { return l.OrderSn })},
	{"parent_order_sn", lineText(func(l *schema.OrderLine) schema.Text { return l.ParentOrderSn })},
	{"item_img", lineText(func(l *schema.OrderLine) schema.Text { return l.ItemImg })},
	{"shop_title", lineText(func(l *schema.OrderLine) schema.Text { return l.ShopTitle })},
	{"lb_order_status", func(c *column, s *source) { s.status.putValue(c) }},
	{"lb_order_status_name", func(c *column, s *source) { s.status.putName(c) }},
	{"extra", func(c *column, s *source) { c.json(s.line.Extra) }},
}

// changeFields come once for each change of the event.
var changeFields = []field{
	{"path", func(c *column, s *source) { c.string(s.change.Path) }},
	{"from", func(c *column, s *source) { c.json(s.change.From) }},
	{"to", func(c *column, s *source) { c.json(s.change.To) }},
}

// lastFields come once for each event when all others have been filled, because
// those add to them.
var lastFields = []field{
	{"untyped", func(c *column, s *source) { s.putUntyped(c) }},
}

func text(of func(*schema.Order) schema.Text) func(*column, *source) {
	return func(c *column, s *source) { c.text(of(s.order)) }
}

func lineText(of func(*schema.OrderLine) schema.Text) func(*column, *source) {
	return func(c *column, s *source) { c.text(of(s.line)) }
}
