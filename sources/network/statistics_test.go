package network_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sources/network"
)

const statisticsGet = "svc.open-service.statistics.get"

// figures are the numbers of a row of statistics: clicks, orders, their amounts
// and commissions, invalid, confirmed and approved ones, confirmed amounts and
// commissions.
type figures [9]int64

// sums are figures by the columns that they belong to.
type sums map[[7]string]figures

func (s sums) add(key [7]string, f figures) {
	sum := s[key]
	for i := range sum {
		sum[i] += f[i]
	}
	s[key] = sum
}

const plainOrders = `SELECT publisher_id, order_time, program_id, website_id, sub_id, currency, COALESCE(charge_currency, ''),
	CAST(SUM(simulated_clicks) AS BIGINT), COUNT(*), CAST(SUM(orders_cents) AS BIGINT), CAST(SUM(commission_cents) AS BIGINT),
	COUNT(CASE WHEN status = -1 THEN 1 END), COUNT(CASE WHEN status = 1 THEN 1 END), COUNT(CASE WHEN status = 2 THEN 1 END),
	CAST(SUM(COALESCE(confirm_cents, 0)) AS BIGINT), CAST(SUM(COALESCE(confirm_commission_cents, 0)) AS BIGINT)
	FROM orders GROUP BY 1, 2, 3, 4, 5, 6, 7`

const plainClicks = `SELECT publisher_id, at, program_id, website_id, sub_id, '', '', COUNT(*), 0, 0, 0, 0, 0, 0, 0, 0
	FROM clicks GROUP BY 1, 2, 3, 4, 5`

// recount sums orders and clicks up by publisher, day, program, website, sub
// id and both currencies, without the table of statistics.
func (f *fixture) recount(zone *time.Location) sums {
	f.tb.Helper()
	all := sums{}
	for _, query := range []string{plainOrders, plainClicks} {
		for _, row := range f.query(query) {
			row[1] = time.Unix(row[1].(int64), 0).In(zone).Format(time.DateOnly)
			all.add(rowOf(row))
		}
	}
	return all
}

func rowOf(row []any) (key [7]string, n figures) {
	for i := range key {
		key[i] = fmt.Sprint(row[i])
	}
	for i := range n {
		n[i] = row[7+i].(int64)
	}
	return key, n
}

// checkStatistics compares the table with what orders and clicks sum up to.
func (f *fixture) checkStatistics(t *testing.T, zone *time.Location) sums {
	t.Helper()
	bySub := f.recount(zone)
	together := sums{}
	for key, n := range bySub {
		key[4] = ""
		together.add(key, n)
	}
	for level, want := range []sums{together, bySub} {
		got := sums{}
		for _, row := range f.query(`SELECT publisher_id, day * 86400, program_id, website_id, sub_id, currency, charge_currency, clicks, orders, orders_cents,
			commission_cents, invalid_orders, confirmed_orders, approved_orders, confirm_cents, confirm_commission_cents
			FROM statistics WHERE by_sub = ` + fmt.Sprint(level)) {
			row[1] = time.Unix(row[1].(int64), 0).UTC().Format(time.DateOnly)
			got.add(rowOf(row))
		}
		if !maps.Equal(got, want) {
			t.Fatalf("by_sub %d: %s", level, difference(got, want))
		}
	}
	return bySub
}

func difference(got, want sums) string {
	for key, n := range want {
		if got[key] != n {
			return fmt.Sprintf("%d rows, want %d; %q has %d, want %d", len(got), len(want), key, got[key], n)
		}
	}
	for key, n := range got {
		if _, there := want[key]; !there {
			return fmt.Sprintf("%d rows, want %d; %q has %d and should not be there", len(got), len(want), key, n)
		}
	}
	return "no difference"
}

// Whatever happens to orders and clicks, the statistics are what they sum up to,
// and so is any answer.
func TestStatisticsAgreeWithOrdersAndClicks(t *testing.T) {
	f := start(t, nil)
	f.publisher(network.Publisher{AppKey: "other", AppSecret: "x", Websites: []string{"2001"}})
	sim := f.simulator(network.SimulatorConfig{Seed: 4, History: 40 * 24 * time.Hour}, 300)
	dice := rand.New(rand.NewPCG(3, 4))
	for round := range 10 {
		f.clicks(t, dice, 25)
		f.clock.advance(time.Duration(dice.IntN(40)) * time.Hour)
		step(t, sim, 1+dice.Int64N(90))
		f.simulator(network.SimulatorConfig{Seed: 4, History: 40 * 24 * time.Hour}, 300+30*int64(round))
		bySub := f.checkStatistics(t, shanghai)
		for range 4 {
			f.randomStatistics(t, dice, bySub)
		}
	}
}

var shanghai = time.FixedZone("", 8*60*60)

// clicks writes clicks of the last 40 days, most of them with a sub id of
// their own.
func (f *fixture) clicks(t *testing.T, dice *rand.Rand, n int) {
	t.Helper()
	links := f.query(`SELECT id, publisher_id, website_id FROM links ORDER BY id`)
	for range n {
		link := links[dice.IntN(len(links))]
		k := network.Click{
			ID: fmt.Sprintf("%016x", dice.Uint64()), Link: link[0].(int64), Publisher: link[1].(int64), Website: link[2].(string),
			Program: []string{"1042", "1051", "1052"}[dice.IntN(3)], At: f.clock.unix.Load() - dice.Int64N(40*86400),
			SubID: []string{"", "app", "落地页", fmt.Sprint(dice.IntN(1000)), fmt.Sprint(dice.IntN(1000))}[dice.IntN(5)],
		}
		if err := f.svc.Click(context.Background(), k); err != nil {
			t.Fatal(err)
		}
	}
}

var statisticsNames = []string{"Day", "ProgramId", "WebsiteId", "SubId"}

// randomStatistics compares an answer, page by page, with what it has to be.
func (f *fixture) randomStatistics(t *testing.T, dice *rand.Rand, all sums) {
	t.Helper()
	names := slices.DeleteFunc(slices.Clone(statisticsNames), func(string) bool { return dice.IntN(2) == 0 })
	to := time.Unix(f.clock.unix.Load(), 0).In(shanghai).AddDate(0, 0, -dice.IntN(3))
	from := to.AddDate(0, 0, -dice.IntN(60))
	p := params{"Stime": from.Format(time.DateOnly), "Etime": to.Unix(), "GroupBy": strings.Join(names, ", "), "PageSize": []int{3, 50, 200}[dice.IntN(3)]}
	if len(names) == 0 {
		names = []string{"Day"} // the default
	}
	for name, values := range map[string][]string{"ProgramId": {"1042", "1051", "none"}, "WebsiteId": {website, "1027"}, "SubId": {"app", "落地页", "7"}} {
		if dice.IntN(4) == 0 {
			p[name] = values[dice.IntN(len(values))]
		}
	}
	got, want := f.statistics(t, p), f.expect(all, p, names, from.Format(time.DateOnly), to.Format(time.DateOnly))
	if !maps.Equal(got, want) {
		t.Fatalf("%v: %s", p, difference(got, want))
	}
}

// expect is what an answer to the first publisher has to hold.
func (f *fixture) expect(all sums, p params, names []string, from, to string) sums {
	f.tb.Helper()
	programs := map[string][]any{}
	for _, row := range f.query(`SELECT id, currency, charge_currency FROM programs`) {
		programs[row[0].(string)] = row[1:]
	}
	want := sums{}
	for key, n := range all {
		if key[0] != "1" || key[1] < from || key[1] > to {
			continue
		}
		if slices.ContainsFunc(statisticsNames[1:], func(name string) bool {
			value, asked := p[name]
			return asked && value != key[1+slices.Index(statisticsNames, name)]
		}) {
			continue
		}
		for i, currency := range programs[key[2]] {
			if key[5+i] == "" {
				key[5+i] = currency.(string)
			}
		}
		key[0] = ""
		for i, name := range statisticsNames {
			if !slices.Contains(names, name) {
				key[1+i] = ""
			}
		}
		want.add(key, n)
	}
	return want
}

// statistics reads all pages of an answer.
func (f *fixture) statistics(t *testing.T, p params) sums {
	t.Helper()
	all, totals := sums{}, map[int64]bool{}
	for number := int64(1); ; number++ {
		p["Page"] = number
		var data page
		f.data(statisticsGet, p, &data)
		totals[data.Total] = true
		for _, raw := range data.List {
			key, n := parseStatistics(t, raw)
			if _, twice := all[key]; twice {
				t.Fatalf("%v: %q is there twice", p, key)
			}
			all[key] = n
		}
		if int64(len(data.List)) < data.PageSize {
			if len(totals) != 1 || data.Total != int64(len(all)) || data.Page != number {
				t.Fatalf("%v: %d rows, Totals %v, Page %d", p, len(all), totals, data.Page)
			}
			return all
		}
	}
}

func parseStatistics(t *testing.T, raw []byte) (key [7]string, n figures) {
	t.Helper()
	var d map[string]string
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"", "Day", "ProgramId", "WebsiteId", "SubId", "Currency", "ChargeCurrency"} {
		key[i] = d[name]
		if value, there := d[name]; there && value == "" {
			t.Errorf("%s is there without a value", name)
		}
		delete(d, name)
	}
	for i, name := range []string{
		"Clicks", "Orders", "OrdersPrice", "SiterCommission", "InvalidOrders", "ConfirmedOrders", "ApprovedOrders", "ConfirmPrice", "ConfirmSiterCommission",
	} {
		text := d[name]
		if strings.Contains(name, "Price") || strings.Contains(name, "Commission") {
			text = strings.Replace(text, ".", "", 1)
		}
		var err error
		if n[i], err = strconv.ParseInt(text, 10, 64); err != nil {
			t.Errorf("%s is %q", name, d[name])
		}
		delete(d, name)
	}
	if len(d) > 0 {
		t.Errorf("unknown fields %v", d)
	}
	return key, n
}

// data makes a signed call that has to succeed, and reads its Data.
func (f *fixture) data(service string, p params, dest any) {
	f.tb.Helper()
	a := f.call(service, p)
	if a.Status != network.StatusSuccess {
		f.tb.Fatalf("%s %v: Status %d: %s", service, p, a.Status, a.Message)
	}
	if err := json.Unmarshal(a.Data, dest); err != nil {
		f.tb.Fatal(err)
	}
}
