package console

import (
	"net/http"
	"strconv"
)

// pager leads to the neighbouring pages.
type pager struct {
	Text       string
	Prev, Next string // addresses, "" for none
}

// mostPages bounds how far a person turns the pages.
const mostPages = 1_000_000

func pageNumber(r *http.Request) int { return numberOf(r, "page") }

// numberOf returns the page that a parameter asks for, the first for nonsense.
func numberOf(r *http.Request, param string) int {
	n, err := strconv.Atoi(r.URL.Query().Get(param))
	if err != nil || n < 1 {
		return 1
	}
	return min(n, mostPages)
}

// pagerOf leads through total things, so many to a page.
func pagerOf(r *http.Request, param string, total, aPage int, what string) pager {
	if total == 0 {
		return pager{}
	}
	number, last := numberOf(r, param), (total+aPage-1)/aPage
	p := pager{Text: plural(uint64(total), what)}
	if last > 1 || number > 1 {
		p.Text += ", page " + strconv.Itoa(number) + " of " + strconv.Itoa(last)
	}
	if number > 1 {
		p.Prev = with(r, param, strconv.Itoa(min(number-1, last)))
	}
	if number < last {
		p.Next = with(r, param, strconv.Itoa(number+1))
	}
	return p
}

// rowsAPage is how many rows of a long table a page shows.
const rowsAPage = 50

// paged leaves the rows of the page that a request asks for.
func (t *table) paged(r *http.Request, what string) pager {
	p := pagerOf(r, t.pageParam(), len(t.Rows), rowsAPage, what)
	for _, to := range []*string{&p.Prev, &p.Next} {
		if *to != "" {
			*to += t.anchor()
		}
	}
	from := min((numberOf(r, t.pageParam())-1)*rowsAPage, len(t.Rows))
	t.Rows = t.Rows[from:min(from+rowsAPage, len(t.Rows))]
	return p
}

// with returns the address of the same page with another value of a parameter.
func with(r *http.Request, name, value string) string {
	q := r.URL.Query()
	q.Set(name, value)
	return r.URL.EscapedPath() + "?" + q.Encode()
}
