package network

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// linkFolder is the path segment of the links that the service hands out.
const linkFolder = "c"

// clickParam is the name under which the id of a click stands in the query of
// the target.
const clickParam = "click_id"

// clickWait bounds how long a redirect waits until its click is written. It is
// written all the same; see [clickLog].
const clickWait = 50 * time.Millisecond

// followLink sends a browser on to the target of a link, with the id of the
// click that it records. HEAD records nothing, nor does a link whose program is
// closed: the target is then left as it is.
func (s *Service) followLink(w http.ResponseWriter, r *http.Request, id string) {
	v, err := s.visit(r.Context(), id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		s.writeRefusal(w, refuse(StatusNoRoute, "no such link"))
		return
	case err != nil:
		s.writeRefusal(w, fmt.Errorf("look a link up: %w", err))
		return
	}
	target := asciiHost(v.target)
	if v.open && r.Method == http.MethodGet {
		if sub := r.URL.Query().Get("sub_id"); plainText(sub) {
			v.click.subID = sub
		}
		if s.record(r.Context(), v.click) {
			target = withClick(target, v.click.id)
		}
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, target, http.StatusFound)
}

// visit is a link that is followed.
type visit struct {
	click  click
	target string
	open   bool // its program is
}

// visit reads a link. The error wraps [sql.ErrNoRows] when there is none.
func (s *Service) visit(ctx context.Context, id string) (visit, error) {
	v := visit{click: click{id: rand.Text(), at: s.unix()}} // 128 bits
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil || number <= 0 {
		return visit{}, sql.ErrNoRows
	}
	var status string
	c := &v.click
	err = s.store.row(ctx, `SELECT l.id, l.publisher_id, l.website_id, l.program_id, l.sub_id, l.url, COALESCE(p.status, '')
		FROM links l LEFT JOIN programs p ON p.id = l.program_id WHERE l.id = ?`, []any{number},
		&c.link, &c.publisher, &c.website, &c.program, &c.subID, &v.target, &status)
	v.open = status == ProgramOpen
	return v, err
}

// plainText reports whether a text from an address may be stored as a sub id.
func plainText(s string) bool {
	return s != "" && schema.ValidateString("", s) == nil && !strings.ContainsRune(s, 0)
}

// record hands a click over and waits a moment until it is written. It reports
// false when the click cannot be taken.
func (s *Service) record(ctx context.Context, c click) bool {
	written, err := s.clicks.add(c)
	if err != nil {
		s.config.Logger.Error("click not recorded", "error", err)
		return false
	}
	limit := time.NewTimer(clickWait)
	defer limit.Stop()
	select {
	case <-written:
	case <-limit.C:
	case <-ctx.Done():
	}
	return true
}

// withClick sets the id of a click in the query of an address. Everything else
// of the address stays byte for byte; further values of the same name go.
func withClick(address, id string) string {
	address, fragment, hasFragment := strings.Cut(address, "#")
	path, query, _ := strings.Cut(address, "?")
	var pairs []string
	set := false
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if queryName(name) != clickParam {
			pairs = append(pairs, pair)
		} else if !set {
			pairs, set = append(pairs, clickParam+"="+id), true
		}
	}
	query = strings.Join(pairs, "&")
	switch {
	case set:
	case query == "":
		query = clickParam + "=" + id
	default:
		query += "&" + clickParam + "=" + id
	}
	address = path + "?" + query
	if hasFragment {
		address += "#" + fragment
	}
	return address
}
