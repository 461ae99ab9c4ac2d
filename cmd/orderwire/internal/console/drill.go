package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/orderwire/orderwire/sinks/commission"
)

// drill is the address of the orders behind a sum: the page of orders with the
// filters that choose exactly these.
type drill url.Values

// drillField is the name of a parameter's field in the books, where a sum may be
// that of the orders in which it is empty.
var drillField = map[string]string{
	"program": "program_id", "website": "website_id", "sub_id": "sub_id", "link": "link_id", "status": "status",
	"currency": "currency", "estimated": "estimated_currency",
}

// is chooses orders by the value of a parameter, which may be "".
func (d drill) is(name, value string) {
	if field := drillField[name]; value == "" && field != "" {
		url.Values(d).Add("without", field)
		return
	}
	url.Values(d).Set(name, value)
}

// given chooses orders by the value of a parameter if there is one.
func (d drill) given(name, value string) {
	if value != "" {
		url.Values(d).Set(name, value)
	}
}

// within narrows the days down.
func (d drill) within(from, to string) {
	v := url.Values(d)
	if have := v.Get("from"); from != "" && from > have {
		v.Set("from", from)
	}
	if have := v.Get("to"); to != "" && (have == "" || to < have) {
		v.Set("to", to)
	}
}

func (d drill) href() string { return "/orders?" + url.Values(d).Encode() }

// monthDays returns the first and the last day of a month, YYYY-MM.
func monthDays(month string) (from, to string) {
	first, err := time.Parse("2006-01", month)
	if err != nil {
		return "", ""
	}
	return first.Format(time.DateOnly), first.AddDate(0, 1, -1).Format(time.DateOnly)
}

// daysBefore returns the day so many days before another.
func daysBefore(day string, n int) string {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return ""
	}
	return t.AddDate(0, 0, -n).Format(time.DateOnly)
}

// absentError says why there are no books.
type absentError struct{ cause error }

// Error returns the cause's.
func (e *absentError) Error() string { return e.cause.Error() }

func (e *absentError) Unwrap() error { return e.cause }

// open returns the books; the error is an [*absentError] when there are none.
func (c *console) open(ctx context.Context) (Books, error) {
	books, err := c.Books(ctx)
	if err != nil {
		return nil, &absentError{err}
	}
	return books, nil
}

// booksPage shows a page of the books: what fill puts into body, or why there is
// nothing to see.
func (c *console) booksPage(w http.ResponseWriter, r *http.Request, name string, p page, fill func(ctx context.Context, books Books) error) error {
	books, err := c.open(r.Context())
	if err == nil {
		err = mistaken(fill(r.Context(), books))
	}
	if errors.Is(err, errSent) {
		return nil
	}
	var absent *absentError
	if errors.As(err, &absent) {
		p.Missing, err = absent.Error(), nil
	}
	if err != nil {
		return err
	}
	c.show(w, r, http.StatusOK, name, p)
	return nil
}

// errSent says that the answer has been sent as a file.
var errSent = errors.New("sent")

// mistaken makes what a visitor has asked wrongly an error for the visitor.
func mistaken(err error) error {
	var filter *commission.FilterError
	var month *commission.MonthError
	switch {
	case errors.As(err, &filter):
		return wrong(filter.Field + " " + filter.Problem)
	case errors.As(err, &month):
		return wrong(month.Error())
	default:
		return err
	}
}

// sentAs sends one of a page's tables if the request wants it as a file.
func sentAs(w http.ResponseWriter, r *http.Request, name string, t *table) error {
	t.sort(r)
	if !wants(r, t) {
		t.Export = exportOf(r, t.ID)
		return nil
	}
	if err := writeFile(w, r, name, t); err != nil {
		return err
	}
	return errSent
}
