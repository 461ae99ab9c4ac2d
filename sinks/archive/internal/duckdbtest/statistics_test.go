package duckdbtest

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/orderwire/orderwire/sources/openapi"
)

// statistics is a row of the network's answer, by program.
type statistics struct {
	ProgramID              string `json:"ProgramId"`
	Currency               string
	ChargeCurrency         string
	Orders                 string
	InvalidOrders          string
	ConfirmedOrders        string
	ApprovedOrders         string
	OrdersPrice            string
	SiterCommission        string
	ConfirmPrice           string
	ConfirmSiterCommission string
}

// askStatistics asks the network, as a publisher does.
func askStatistics(tb testing.TB, url string) []statistics {
	tb.Helper()
	const path = "/" + appKey + "/svc.open-service.statistics.get"
	now := time.Now()
	body, err := json.Marshal(map[string]any{
		"GroupBy": "ProgramId", "Stime": now.AddDate(0, 0, -60).Format(time.DateOnly), "Etime": now.AddDate(0, 0, 1).Format(time.DateOnly),
		"Timestamp": now.Unix(), "PageSize": 200,
	})
	if err != nil {
		tb.Fatal(err)
	}
	if body, err = openapi.SignBody(appSecret, path, body, false); err != nil {
		tb.Fatal(err)
	}
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, url+path, bytes.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Status  int
		Message string
		Data    struct{ List []statistics }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.Status != 0 || len(answer.Data.List) == 0 {
		tb.Fatalf("statistics: status %d %s, %v", answer.Status, answer.Message, err)
	}
	return answer.Data.List
}

// checkStatistics holds the network's own statistics to the report, and what the
// report does not add up, the estimates of all orders, to DuckDB.
func checkStatistics(tb testing.TB, url string, l *lake, settled map[string]decimal.Decimal, report figures) {
	tb.Helper()
	got, want, lakeWants := map[string]string{}, map[string]string{}, []string(nil)
	for _, s := range askStatistics(tb, url) {
		got[s.ProgramID] = key(s.Orders, s.InvalidOrders, s.ConfirmedOrders, s.ApprovedOrders, s.OrdersPrice, s.ConfirmPrice, s.ConfirmSiterCommission)
		of := func(status, currency string) figure { return report[key("main", s.ProgramID, status, currency)] }
		pending, lost := of("0", s.Currency), of("-1", s.Currency)
		confirmed, approved := of("1", s.ChargeCurrency), of("2", s.ChargeCurrency)
		estimated := pending.amount.Add(lost.amount).Add(settled[s.ProgramID])
		want[s.ProgramID] = key(pending.orders+lost.orders+confirmed.orders+approved.orders, lost.orders, confirmed.orders, approved.orders,
			estimated.StringFixed(2), confirmed.amount.Add(approved.amount).StringFixed(2), confirmed.commission.Add(approved.commission).StringFixed(2))
		lakeWants = append(lakeWants, key(s.ProgramID, s.Currency, s.Orders, s.OrdersPrice, s.SiterCommission, s.ConfirmPrice, s.ConfirmSiterCommission))
	}
	sameSums(tb, "the network's statistics", got, want)
	if len(got) != 6 {
		tb.Errorf("the network has statistics of %d programs", len(got))
	}
	l.answers(tb, `SELECT program_id, currency, count(*), sum(orders_price), sum(siter_commission), sum(confirm_price), sum(confirm_siter_commission)
		FROM `+latest+" GROUP BY ALL", lakeWants)
}

// settledEstimates reads what the books say was estimated of the confirmed and
// approved orders, by program.
func settledEstimates(tb testing.TB, orderwire, config string) map[string]decimal.Decimal {
	tb.Helper()
	rows, err := csv.NewReader(strings.NewReader(output(tb, orderwire, "report", "estimated-vs-confirmed", "-o", "csv", "-c", config))).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	amounts := map[string]decimal.Decimal{}
	for _, row := range rows[1:] { // account, program, two currencies, orders, amount, …
		amounts[row[1]] = amounts[row[1]].Add(parse(tb, row[5]))
	}
	return amounts
}
