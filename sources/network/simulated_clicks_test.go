package network_test

import (
	"testing"

	"github.com/orderwire/orderwire/sources/network"
)

// Clicks of the simulation are in the statistics, take no rows, and convert as clicks
// do: differently by website, program and sub id, and never less than once an order.
func TestSimulatedClicks(t *testing.T) {
	f := start(t, nil)
	sim := f.simulator(network.SimulatorConfig{Seed: 7}, 400)
	count := func(query string) int64 { return f.query(query)[0][0].(int64) }
	clicks := count(`SELECT CAST(SUM(clicks) AS BIGINT) FROM statistics WHERE by_sub = 0`)
	if clicks < 400*12 || clicks > 400*90 || clicks != count(`SELECT CAST(SUM(clicks) AS BIGINT) FROM statistics WHERE by_sub = 1`) {
		t.Errorf("%d clicks for 400 orders", clicks)
	}
	if rows := count(`SELECT COUNT(*) FROM clicks`); rows != 0 {
		t.Errorf("%d rows of clicks", rows)
	}
	if none := count(`SELECT COUNT(*) FROM orders WHERE simulated_clicks < 1`); none != 0 {
		t.Errorf("%d orders came without a click", none)
	}
	rates := f.query(`SELECT CAST(SUM(clicks) / SUM(orders) AS BIGINT) FROM statistics WHERE by_sub = 1 GROUP BY program_id, website_id, sub_id HAVING SUM(orders) > 4 ORDER BY 1`)
	if n := len(rates); n < 5 || rates[n-1][0].(int64) < 2*rates[0][0].(int64) {
		t.Errorf("clicks for an order: %v", rates)
	}
	step(t, sim, 200)
	if after := count(`SELECT CAST(SUM(clicks) AS BIGINT) FROM statistics WHERE by_sub = 0`); after != clicks {
		t.Errorf("%d clicks after changes of orders, %d before", after, clicks)
	}
}
