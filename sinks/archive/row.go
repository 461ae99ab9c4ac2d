package archive

import "time"

// SchemaVersion counts the changes of the columns of [Row]. A change only adds
// columns, so that every reader can read the files of every version. Each file
// names its version under the metadata key orderwire.schema_version.
const SchemaVersion = 1

// Row is one event of the log, as it stands in a file. A nil pointer is a
// Parquet null: the network did not send the field, or sent a text that the
// column's type cannot hold. Such a text stands in Untyped, so that nothing is
// lost. Times are in UTC, cut to the microsecond.
type Row struct {
	// Account is the account whose credentials saw the order. It stands in the
	// path of the file (account=…) and not in the file; the readers of this
	// package fill it in.
	Account string `parquet:"-"`

	// Sequence is the event's place in the log, from 1; unique in the archive.
	Sequence int64 `parquet:"sequence"`
	// StoredAt is when the log stored the event (broker time).
	StoredAt time.Time `parquet:"stored_at,timestamp(microsecond)"`
	// EventID is the id of the event, 32 hexadecimal digits.
	EventID string `parquet:"event_id"`
	// EventType is "order.created", "status.changed", "order.updated" or
	// "order.vanished".
	EventType string `parquet:"event_type,dict"`
	// Version counts the events of the order: 1, 2, 3 … without a gap.
	Version int64 `parquet:"version"`
	// PreviousID is the id of the order's event before this one, nil at version 1.
	PreviousID *string `parquet:"previous_id"`
	// ObservedAt is when the network answered with this state. Its UTC date is
	// the event_date in the path of the file.
	ObservedAt time.Time `parquet:"observed_at,timestamp(microsecond)"`
	// Regression marks a status that went backwards.
	Regression bool `parquet:"regression"`
	// TimeZone is the IANA zone in which the network wrote OrderTime and
	// ChargeTime. The columns order_time and charge_time are converted to UTC.
	TimeZone string `parquet:"time_zone,dict"`

	OrderID       *string    `parquet:"order_id"`                          // Id of the order resource
	ProgramID     *string    `parquet:"program_id,dict"`                   // ProgramId
	ProgramName   *string    `parquet:"program_name,dict"`                 // ProgramName
	WebsiteID     *string    `parquet:"website_id,dict"`                   // WebsiteId
	LinkID        *string    `parquet:"link_id,dict"`                      // LinkId
	SubID         *string    `parquet:"sub_id,dict"`                       // SubId
	OrderSn       string     `parquet:"order_sn,delta"`                    // OrderSn, never empty
	ParentOrderSn *string    `parquet:"parent_order_sn"`                   // ParentOrderSn
	OrderTime     *time.Time `parquet:"order_time,timestamp(microsecond)"` // OrderTime, placement

	OrdersPrice     *int64  `parquet:"orders_price,decimal(2:10)"`     // estimated amount, hundredths of Currency
	SiterCommission *int64  `parquet:"siter_commission,decimal(2:10)"` // estimated commission, hundredths of Currency
	Currency        *string `parquet:"currency,dict"`                  // currency of the estimate

	Status     *int32  `parquet:"status"`           // settlement status, specification 3.1
	StatusName *string `parquet:"status_name,dict"` // its name in the specification, nil when Status is

	ConfirmPrice           *int64     `parquet:"confirm_price,decimal(2:10)"`            // confirmed amount, hundredths of ChargeCurrency
	ConfirmSiterCommission *int64     `parquet:"confirm_siter_commission,decimal(2:10)"` // confirmed commission, hundredths of ChargeCurrency
	ChargeCurrency         *string    `parquet:"charge_currency,dict"`                   // currency of the confirmed amounts
	ChargeTime             *time.Time `parquet:"charge_time,timestamp(microsecond)"`     // ChargeTime, settlement

	// Lines are the order's lines in the network's order. Nil means that the
	// network sent no Details; empty means that it sent none.
	Lines []Line `parquet:"lines,optional,list"`
	// Changes tell the state before this event; empty at version 1.
	Changes []Change `parquet:"changes,list"`

	// Extra holds the order's fields that the specification does not know, a
	// JSON object.
	Extra *string `parquet:"extra"`
	// Untyped holds the texts that the typed columns do not give back letter by
	// letter, a JSON object of field name to text: {"OrderTime":"soon"} where
	// order_time is null, {"OrdersPrice":"12.5"} where orders_price is 12.50.
	// A line's field is called "Details/0/LbOrderStatus".
	Untyped *string `parquet:"untyped"`
	// Extensions holds the attributes of the event document that Orderwire does
	// not know, a JSON object.
	Extensions *string `parquet:"extensions"`
}

// Line is one element of Details.
type Line struct {
	GoodsCate         *string `parquet:"goods_cate,dict"`                // GoodsCate
	ItemCate          *string `parquet:"item_cate,dict"`                 // ItemCate
	ItemCateName      *string `parquet:"item_cate_name,dict"`            // ItemCateName
	ItemID            *string `parquet:"item_id,dict"`                   // ItemId
	ItemName          *string `parquet:"item_name,dict"`                 // ItemName
	ItemPrice         *string `parquet:"item_price,dict"`                // ItemPrice, yuan; a string by the specification
	ItemCount         *string `parquet:"item_count,dict"`                // ItemCount
	OrdersPrice       *int64  `parquet:"orders_price,decimal(2:10)"`     // estimated amount, hundredths of the order's Currency
	OrderStatus       *string `parquet:"order_status,dict"`              // the merchant platform's own status text
	OrderCommission   *int64  `parquet:"order_commission,decimal(2:10)"` // estimated commission, hundredths of the order's Currency
	OrderSn           *string `parquet:"order_sn"`                       // OrderSn
	ParentOrderSn     *string `parquet:"parent_order_sn"`                // ParentOrderSn
	ItemImg           *string `parquet:"item_img,dict"`                  // ItemImg
	ShopTitle         *string `parquet:"shop_title,dict"`                // ShopTitle
	LbOrderStatus     *int32  `parquet:"lb_order_status"`                // translated status, specification 3.2
	LbOrderStatusName *string `parquet:"lb_order_status_name,dict"`      // its name in the specification, nil when LbOrderStatus is
	Extra             *string `parquet:"extra"`                          // fields that the specification does not know, a JSON object
}

// Change is one difference to the state before the event.
type Change struct {
	Path string  `parquet:"path,dict"` // JSON Pointer into the order, "/Status"
	From *string `parquet:"from"`      // JSON value before, nil when the field was absent
	To   *string `parquet:"to"`        // JSON value after, nil when the field is absent now
}
