package network

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"
)

// linkFolder is the path segment of the links that the service hands out.
const linkFolder = "c"

// linkData is the Data of links.post.
type linkData struct {
	URL    string `json:"Url"`
	LinkID string `json:"LinkId"`
}

// postLink answers links.post: a link of this service that leads to Url. The
// same website and address give the same link.
func (s *Service) postLink(ctx context.Context, by caller, f *form, b []byte) ([]byte, error) {
	target, website := f.required("Url"), f.required("WebsiteId")
	if !webAddress(target) {
		f.breaks("Url", "an absolute http or https address")
	}
	if f.err != nil {
		return nil, f.err
	}
	var id int64
	err := s.store.change(ctx, func(c *change) (err error) {
		id, err = c.link(ctx, by.publisher, website, target)
		return err
	})
	if err != nil {
		return nil, err
	}
	number := strconv.FormatInt(id, 10)
	data, err := json.Marshal(linkData{URL: by.origin + "/" + linkFolder + "/" + number, LinkID: number})
	return append(b, data...), err
}

func webAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil
}

// link returns the number of a website's link to a target, a new one if there
// is none yet.
func (c *change) link(ctx context.Context, publisher int64, website, target string) (int64, error) {
	owned, err := c.found(ctx, `SELECT 1 FROM websites WHERE id = ? AND publisher_id = ?`,
		[]any{website, publisher}, new(int))
	if err != nil {
		return 0, fmt.Errorf("look a website up: %w", err)
	}
	if !owned {
		return 0, refuse(StatusNotFound, "WebsiteId: the publisher has no such website")
	}
	var id int64
	known, err := c.found(ctx, `SELECT id FROM links WHERE website_id = ? AND url = ?`, []any{website, target}, &id)
	if known || err != nil {
		return id, err
	}
	c.counters.link++
	return c.counters.link, c.exec(ctx, `INSERT INTO links (id, publisher_id, website_id, url, created_at)
		VALUES (?, ?, ?, ?, ?)`, c.counters.link, publisher, website, target, c.now)
}

// followLink sends a browser on to the target of a link.
func (s *Service) followLink(w http.ResponseWriter, r *http.Request, id string) {
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil || number <= 0 {
		s.writeRefusal(w, refuse(StatusNoRoute, "no such link"))
		return
	}
	var target string
	err = s.store.row(r.Context(), `SELECT url FROM links WHERE id = ?`, []any{number}, &target)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		s.writeRefusal(w, refuse(StatusNoRoute, "no such link"))
	case err != nil:
		s.writeRefusal(w, fmt.Errorf("look a link up: %w", err))
	default:
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, target, http.StatusFound)
	}
}
