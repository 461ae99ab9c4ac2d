package openapi

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/orderwire/orderwire/schema"
)

// ServiceStatistics is the operation that gives publishers their clicks. The
// specification names the capability (sections 1 and 4) and shows no operation:
// name, parameters and answer are those of our own network service.
const ServiceStatistics = "open-service.statistics.get"

// MaxStatisticsDays is how many days statistics can be asked for at once.
const MaxStatisticsDays = 366

// StatisticsQuery asks for a publisher's statistics.
type StatisticsQuery struct {
	// From and To are days, YYYY-MM-DD, in the network's zone, both included, and at
	// most [MaxStatisticsDays].
	From, To string
	// Group holds some of Day, ProgramId, WebsiteId and SubId; none leaves it to the
	// network, which takes Day.
	Group []string

	ProgramID string // only this program
	WebsiteID string // only this promotion site
	SubID     string // only this feedback label
}

// Statistic is a row: what agrees in the texts that it is grouped by, and in its
// currencies. A text that it is not grouped by is "".
type Statistic struct {
	Day       string // YYYY-MM-DD
	ProgramID string
	WebsiteID string
	SubID     string
	Currency  string // of the estimates
	Charge    string // currency of the confirmed amounts, "" before the first
	Clicks    int64  // on their day
	Orders    int64  // by their OrderTime, in any status
}

// statisticsPage is how many rows are asked for at once, and statisticsPages bounds
// how often.
const (
	statisticsPage  = 200
	statisticsPages = 10_000
)

func (q StatisticsQuery) params(page int) params {
	var p params
	for name, day := range map[string]string{"Stime": q.From, "Etime": q.To} {
		if _, err := time.Parse(time.DateOnly, day); err != nil {
			p.refuse(&schema.ParamError{Name: name, Rule: "a day as YYYY-MM-DD", Length: len(day)})
		}
	}
	p.required("Stime", q.From)
	p.required("Etime", q.To)
	p.optional("GroupBy", strings.Join(q.Group, ","))
	p.optional("ProgramId", q.ProgramID)
	p.optional("WebsiteId", q.WebsiteID)
	p.optional("SubId", q.SubID)
	p.integer("Page", int64(page))
	p.integer("PageSize", statisticsPage)
	return p
}

var errStatistics = errors.New("statistics: the network gives a page after the other and no end")

// Statistics returns all rows of a query, page by page. For errors see [Client]; a
// network without this operation refuses it with a [*RefusedError].
func (c *Client) Statistics(ctx context.Context, q StatisticsQuery) ([]Statistic, error) {
	all := []Statistic{}
	for page := 1; page <= statisticsPages; page++ {
		op := call{service: c.service(ServiceStatistics), params: q.params(page), list: true}
		a, err := c.do(ctx, op)
		if err != nil {
			return nil, err
		}
		got := a.list.page()
		for _, raw := range got.Records {
			row, err := statisticOf(raw)
			if err != nil {
				return nil, &BodyError{Service: op.service, Attempts: a.attempts, Kind: BodyShape, Err: err}
			}
			all = append(all, row)
		}
		if ended := len(got.Records) == 0 || len(got.Records) < statisticsPage && len(all) >= got.Total; ended {
			return all, nil
		}
	}
	return nil, errStatistics
}

func statisticOf(raw []byte) (Statistic, error) {
	var r struct {
		Day            schema.Text
		ProgramID      schema.Text `json:"ProgramId"`
		WebsiteID      schema.Text `json:"WebsiteId"`
		SubID          schema.Text `json:"SubId"`
		Currency       schema.Text
		ChargeCurrency schema.Text
		Clicks         schema.Text
		Orders         schema.Text
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return Statistic{}, errors.New("a row of statistics is of another shape")
	}
	s := Statistic{
		Day: r.Day.String(), ProgramID: r.ProgramID.String(), WebsiteID: r.WebsiteID.String(), SubID: r.SubID.String(),
		Currency: r.Currency.String(), Charge: r.ChargeCurrency.String(),
	}
	for name, v := range map[string]struct {
		text schema.Text
		to   *int64
	}{"Clicks": {r.Clicks, &s.Clicks}, "Orders": {r.Orders, &s.Orders}} {
		n, err := strconv.ParseInt(v.text.String(), 10, 64)
		if err != nil || n < 0 {
			return Statistic{}, fmt.Errorf("%s is no count", name)
		}
		*v.to = n
	}
	return s, nil
}
