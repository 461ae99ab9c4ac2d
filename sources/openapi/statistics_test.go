package openapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/openapi"
)

// All pages are read, and what is asked is what the caller says.
func TestStatistics(t *testing.T) {
	t.Parallel()
	var asked []map[string]any
	c, requests := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/2312521/svc.open-service.statistics.get" {
			t.Errorf("path %s", r.URL.Path)
		}
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		asked = append(asked, body)
		row := `{"Day":"2026-11-01","SubId":"a","Currency":"CNY","ChargeCurrency":"USD","Clicks":"7","Orders":1,"More":{"x":[1]}}`
		rows := strings.TrimSuffix(strings.Repeat(row+",", 200), ",")
		if body["Page"].(float64) == 2 {
			rows = row
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"Status":0,"Message":"","Data":{"List":[%s],"Total":201}}`, rows)
	}, nil)
	all, err := c.Statistics(t.Context(), openapi.StatisticsQuery{From: "2026-11-01", To: "2026-11-30", Group: []string{"Day", "SubId"}, ProgramID: "1042", WebsiteID: "w"})
	want := openapi.Statistic{Day: "2026-11-01", SubID: "a", Currency: "CNY", Charge: "USD", Clicks: 7, Orders: 1}
	if err != nil || len(all) != 201 || all[0] != want || all[200] != want || requests.Load() != 2 {
		t.Fatalf("%d rows, %v, %d requests", len(all), err, requests.Load())
	}
	for name, value := range map[string]any{"Stime": "2026-11-01", "Etime": "2026-11-30", "GroupBy": "Day,SubId", "ProgramId": "1042", "WebsiteId": "w", "SubId": nil, "PageSize": 200.0} {
		if asked[0][name] != value {
			t.Errorf("%s is %v, want %v", name, asked[0][name], value)
		}
	}
}

// What is no answer is an error, as is what cannot be asked.
func TestStatisticsErrors(t *testing.T) {
	t.Parallel()
	query := openapi.StatisticsQuery{From: "2026-11-01", To: "2026-11-01"}
	for answer, as := range map[string]any{
		`{"Status":40402,"Message":"no such service"}`:                            new(*openapi.RefusedError),
		`{"Status":0,"Data":{"List":[{"Clicks":"many","Orders":"1"}],"Total":1}}`: new(*openapi.BodyError),
		`{"Status":0,"Data":{"List":[{"Clicks":[],"Orders":"1"}],"Total":1}}`:     new(*openapi.BodyError),
		`{"Status":0,"Data":{"List":[{"Clicks":"-1","Orders":"1"}],"Total":1}}`:   new(*openapi.BodyError),
		`{"Status":0,"Data":{"List":[{"Clicks":"1"}],"Total":1}}`:                 new(*openapi.BodyError),
	} {
		c, _ := serve(t, answers(answer), nil)
		if all, err := c.Statistics(t.Context(), query); !errors.As(err, as) || all != nil {
			t.Errorf("%s: %v, %v", answer, all, err)
		}
	}
	c, requests := serve(t, answers(emptyPage), nil)
	if all, err := c.Statistics(t.Context(), query); err != nil || all == nil || len(all) > 0 {
		t.Errorf("nothing: %v, %v", all, err)
	}
	for _, q := range []openapi.StatisticsQuery{{}, {From: "2026-11-01"}, {From: "2026-11-01", To: "tomorrow"}} {
		if _, err := c.Statistics(t.Context(), q); !errors.As(err, new(*schema.ParamError)) {
			t.Errorf("%+v: %v", q, err)
		}
	}
	if requests.Load() != 1 {
		t.Errorf("%d requests", requests.Load())
	}
}
