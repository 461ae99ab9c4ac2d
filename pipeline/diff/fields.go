package diff

import "github.com/orderwire/orderwire/schema"

// field names a member of R and finds its value.
type field[R, V any] struct {
	name string
	get  func(*R) *V
}

// orderTexts holds the text fields of an order, all but Status.
var orderTexts = []field[schema.Order, schema.Text]{
	{"Id", func(o *schema.Order) *schema.Text { return &o.ID }},
	{"ProgramId", func(o *schema.Order) *schema.Text { return &o.ProgramID }},
	{"ProgramName", func(o *schema.Order) *schema.Text { return &o.ProgramName }},
	{"WebsiteId", func(o *schema.Order) *schema.Text { return &o.WebsiteID }},
	{"LinkId", func(o *schema.Order) *schema.Text { return &o.LinkID }},
	{"SubId", func(o *schema.Order) *schema.Text { return &o.SubID }},
	{"OrderSn", func(o *schema.Order) *schema.Text { return &o.OrderSn }},
	{"ParentOrderSn", func(o *schema.Order) *schema.Text { return &o.ParentOrderSn }},
	{"OrderTime", func(o *schema.Order) *schema.Text { return &o.OrderTime }},
	{"Currency", func(o *schema.Order) *schema.Text { return &o.Currency }},
	{"ChargeCurrency", func(o *schema.Order) *schema.Text { return &o.ChargeCurrency }},
	{"ChargeTime", func(o *schema.Order) *schema.Text { return &o.ChargeTime }},
}

var orderAmounts = []field[schema.Order, schema.Money]{
	{"OrdersPrice", func(o *schema.Order) *schema.Money { return &o.OrdersPrice }},
	{"SiterCommission", func(o *schema.Order) *schema.Money { return &o.SiterCommission }},
	{"ConfirmPrice", func(o *schema.Order) *schema.Money { return &o.ConfirmPrice }},
	{"ConfirmSiterCommission", func(o *schema.Order) *schema.Money { return &o.ConfirmSiterCommission }},
}

// lineTexts holds the text fields of a line, LbOrderStatus among them.
var lineTexts = []field[schema.OrderLine, schema.Text]{
	{"GoodsCate", func(l *schema.OrderLine) *schema.Text { return &l.GoodsCate }},
	{"ItemCate", func(l *schema.OrderLine) *schema.Text { return &l.ItemCate }},
	{"ItemCateName", func(l *schema.OrderLine) *schema.Text { return &l.ItemCateName }},
	{"ItemId", func(l *schema.OrderLine) *schema.Text { return &l.ItemID }},
	{"ItemName", func(l *schema.OrderLine) *schema.Text { return &l.ItemName }},
	{"ItemPrice", func(l *schema.OrderLine) *schema.Text { return &l.ItemPrice }},
	{"ItemCount", func(l *schema.OrderLine) *schema.Text { return &l.ItemCount }},
	{"OrderStatus", func(l *schema.OrderLine) *schema.Text { return &l.OrderStatus }},
	{"OrderSn", func(l *schema.OrderLine) *schema.Text { return &l.OrderSn }},
	{"ParentOrderSn", func(l *schema.OrderLine) *schema.Text { return &l.ParentOrderSn }},
	{"ItemImg", func(l *schema.OrderLine) *schema.Text { return &l.ItemImg }},
	{"ShopTitle", func(l *schema.OrderLine) *schema.Text { return &l.ShopTitle }},
	{"LbOrderStatus", func(l *schema.OrderLine) *schema.Text { return &l.LbOrderStatus }},
}

var lineAmounts = []field[schema.OrderLine, schema.Money]{
	{"OrdersPrice", func(l *schema.OrderLine) *schema.Money { return &l.OrdersPrice }},
	{"OrderCommission", func(l *schema.OrderLine) *schema.Money { return &l.OrderCommission }},
}
