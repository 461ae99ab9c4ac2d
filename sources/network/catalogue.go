package network

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/orderwire/orderwire/schema"
)

// program is an advertising program of the simulation.
type program struct {
	id, name, domain string
	category         string
	currency         string // of the estimates
	chargeCurrency   string // of the confirmed amounts
	rate             int64  // commission, hundredths of a percent
	serial           string // format of its order numbers
	words            map[schema.LineStatus]string
}

var catalogue = []program{
	{"1042", "Kettle World", "kettle.example", "Home", "CNY", "CNY", 500, "SN%010d", english},
	{"1043", "北方书店", "books.example", "图书", "CNY", "CNY", 800, "书%09d", chinese},
	{"1051", "Trail & Tent", "trail.example", "Outdoor", "USD", "USD", 650, "T-%09d/A&B", english},
	{"1052", `Lumen "Home" Lighting`, "lumen.example", "Lighting", "USD", "CNY", 725, "SN%010d", numbers},
	{"1060", "Silk Road Tea", "tea.example", "Tea", "CNY", "CNY", 1000, "SN%010d", chinese},
	{"1077", "Byte Parts", "parts.example", "Electronics", "USD", "USD", 250, "%012d", english},
}

// words of merchant platforms for the state of a line (specification 2.3,
// OrderStatus: English, Chinese, numbers).
var (
	english = map[schema.LineStatus]string{
		schema.LineToBePaid: "AWAITING_PAYMENT", schema.LinePaid: "PAID", schema.LineInProgress: "PROCESSING",
		schema.LineShipped: "SHIPPED", schema.LineInDelivery: "OUT_FOR_DELIVERY", schema.LineRejected: "REFUSED_BY_BUYER",
		schema.LineReceived: "DELIVERED", schema.LineSettling: "SETTLING", schema.LineSettled: "SETTLED",
		schema.LineInvalid: "CANCELLED", schema.LineCompleted: "COMPLETE", schema.LineInDispute: "DISPUTE_OPEN",
		schema.LineDisputeResolved: "DISPUTE_WON_BY_BUYER", schema.LineDisputeFailed: "DISPUTE_CLOSED",
		schema.LineRefund: "REFUNDED", schema.LineReturn: "RETURNING", schema.LineSystemLocked: "ON_HOLD",
		schema.LineUnknown: "REVIEW_QUEUE_7",
	}
	chinese = map[schema.LineStatus]string{
		schema.LineToBePaid: "待付款", schema.LinePaid: "已付款", schema.LineInProgress: "处理中",
		schema.LineShipped: "已发货", schema.LineInDelivery: "派送中", schema.LineRejected: "拒收",
		schema.LineReceived: "已签收", schema.LineSettling: "结算中", schema.LineSettled: "已结算",
		schema.LineInvalid: "已取消", schema.LineCompleted: "交易完成", schema.LineInDispute: "纠纷中",
		schema.LineDisputeResolved: "纠纷已解决", schema.LineDisputeFailed: "纠纷失败",
		schema.LineRefund: "已退款", schema.LineReturn: "退货中", schema.LineSystemLocked: "系统锁定",
		schema.LineUnknown: "待核实",
	}
	numbers = statusNumbers()
)

// statusNumbers are the words of a platform that writes numbers of its own.
func statusNumbers() map[schema.LineStatus]string {
	words := map[schema.LineStatus]string{}
	for i, s := range schema.LineStatuses() {
		words[s] = string(rune('0'+i/10)) + string(rune('0'+i%10))
	}
	return words
}

// programOf returns the program with an id, nil when the simulation has none.
func programOf(id string) *program {
	i := slices.IndexFunc(catalogue, func(p program) bool { return p.id == id })
	if i < 0 {
		return nil
	}
	return &catalogue[i]
}

// good is an article that orders contain.
type good struct {
	category, categoryID, categoryName string
	id, name, shop                     string
	price                              cents // in yuan
}

var goods = []good{
	{"Home", "1024", "Kitchen", "10020030040", "Stainless steel kettle 1.7 l", "Kettle Shop", 129_00},
	{"Home", "1024", "Kitchen", "10020030041", `Tea pot "Dragon", 0.6 l`, "Kettle Shop", 259_90},
	{"图书", "88", "文学", "978702000872", "红楼梦（全四册）", "北方书店旗舰店", 59_70},
	{"图书", "91", "91", "978711554466", "Go 语言程序设计 & 实践", "北方书店旗舰店", 79_00},
	{"Outdoor", "3310", "Tents", "TT-2P-GREEN", "Two-person tent <ultralight>", "Trail & Tent", 1899_00},
	{"Outdoor", "3312", "Stoves", "TT-STOVE/01", "Gas stove", "Trail & Tent", 349_50},
	{"Lighting", "", "LED", "L-0007", "Desk lamp, dimmable", "Lumen", 418_88},
	{"Tea", "505", "乌龙茶", "TEA505", "铁观音 250g", "Silk Road", 168_00},
	{"Tea", "506", "普洱茶", "TEA506", "普洱熟茶饼 357g", "Silk Road", 499_99},
	{"Electronics", "7001", "Cables", "BP-CAB-2M", "USB-C cable, 2 m", "Byte Parts", 9_90},
	{"Electronics", "7002", "Storage", "BP-SSD-2T", "SSD 2 TB", "Byte Parts", 1099_00},
	{"Electronics", "7002", "Storage", "BP-SD-64", "Memory card 64 GB", "Byte Parts", 45_60},
}

var subIDs = []string{"", "", "newsletter", "app", "blog-7", "video_2026", "落地页", "a/b&c"}

// yuanPerDollar is the rate of exchange of the simulation.
var yuanPerDollar = decimal.RequireFromString("7.1")

// exchange converts an amount between the two currencies of specification 2.3,
// rounded half up.
func exchange(amount cents, from, to string) cents {
	switch {
	case from == to:
		return amount
	case to == "USD":
		return cents(amount.decimal().Div(yuanPerDollar).Shift(schema.MoneyScale).Round(0).IntPart())
	default:
		return amount.times(yuanPerDollar)
	}
}

// commissionOf returns the commission on an amount, rounded half up.
func (p *program) commissionOf(amount cents) cents { return amount.times(decimal.New(p.rate, -4)) }

// addPrograms makes sure that the programs of the simulation are there, with
// their domains and rates, so that publishers see them too. The error wraps
// [ErrTaken] when a brand has a program with the id of one of them.
func (c *change) addPrograms(ctx context.Context) error {
	for i := range catalogue {
		p := &catalogue[i]
		var advertiser sql.Null[int64]
		known, err := c.found(ctx, `SELECT advertiser_id FROM programs WHERE id = ?`, []any{p.id}, &advertiser)
		switch {
		case err != nil:
			return fmt.Errorf("programs of the simulation: %w", err)
		case advertiser.Valid:
			return fmt.Errorf("program %s of the simulation: %w; give the simulation a database of its own", p.id, ErrTaken)
		case known:
			continue
		}
		if err := c.addProgram(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (c *change) addProgram(ctx context.Context, p *program) error {
	err := c.exec(ctx, `INSERT INTO programs (id, name, domain, currency, charge_currency, commission_rate, category,
		description, exchange_rate, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		p.id, p.name, p.domain, p.currency, p.chargeCurrency, p.rate, p.category,
		p.name+", a program of the simulation", p.exchangeRate().String(), c.now, c.now)
	if err != nil {
		return err
	}
	err = c.exec(ctx, `INSERT INTO program_domains (program_id, domain) VALUES (?, ?)`, p.id, p.domain)
	if err != nil {
		return err
	}
	return c.exec(ctx, `INSERT INTO commission_rates (program_id, category, kind, value) VALUES (?, '', 'percent', ?)`, p.id, p.rate)
}

// exchangeRate is how much of its charge currency the program gives for one of
// its currency.
func (p *program) exchangeRate() decimal.Decimal {
	switch p.currency {
	case p.chargeCurrency:
		return decimal.NewFromInt(1)
	case "USD":
		return yuanPerDollar
	default:
		return decimal.NewFromInt(1).DivRound(yuanPerDollar, 4)
	}
}
