package duckdbtest

import "testing"

const (
	lineType = "STRUCT(goods_cate VARCHAR, item_cate VARCHAR, item_cate_name VARCHAR, item_id VARCHAR, item_name VARCHAR, " +
		"item_price VARCHAR, item_count VARCHAR, orders_price DECIMAL(10,2), order_status VARCHAR, " +
		"order_commission DECIMAL(10,2), order_sn VARCHAR, parent_order_sn VARCHAR, item_img VARCHAR, shop_title VARCHAR, " +
		"lb_order_status INTEGER, lb_order_status_name VARCHAR, extra VARCHAR)[]"
	changeType = `STRUCT(path VARCHAR, "from" VARCHAR, "to" VARCHAR)[]`
)

// columnTypes are DuckDB's types of the columns of schema version 1. A column
// that comes later is added; none of these changes.
var columnTypes = []string{
	"sequence|BIGINT", "stored_at|TIMESTAMP WITH TIME ZONE", "event_id|VARCHAR", "event_type|VARCHAR", "version|BIGINT",
	"previous_id|VARCHAR", "observed_at|TIMESTAMP WITH TIME ZONE", "regression|BOOLEAN", "time_zone|VARCHAR",
	"order_id|VARCHAR", "program_id|VARCHAR", "program_name|VARCHAR", "website_id|VARCHAR", "link_id|VARCHAR",
	"sub_id|VARCHAR", "order_sn|VARCHAR", "parent_order_sn|VARCHAR", "order_time|TIMESTAMP WITH TIME ZONE",
	"orders_price|DECIMAL(10,2)", "siter_commission|DECIMAL(10,2)", "currency|VARCHAR", "status|INTEGER", "status_name|VARCHAR",
	"confirm_price|DECIMAL(10,2)", "confirm_siter_commission|DECIMAL(10,2)", "charge_currency|VARCHAR",
	"charge_time|TIMESTAMP WITH TIME ZONE", "lines|" + lineType, "changes|" + changeType,
	"extra|VARCHAR", "untyped|VARCHAR", "extensions|VARCHAR", "account|VARCHAR", "event_date|DATE",
}

// Every column has the type in DuckDB that the documentation promises, and the
// partitions are columns.
func TestColumnTypes(t *testing.T) {
	dir := t.TempDir()
	writeEvents(t, dir, 3)
	openLake(t, dir).answers(t, "SELECT column_name, column_type FROM (DESCRIBE events)", columnTypes)
}
