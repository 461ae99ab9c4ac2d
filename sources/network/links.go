package network

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"
)

// linkData is the Data of links.post.
type linkData struct {
	URL       string `json:"Url"`
	LinkID    string `json:"LinkId"`
	ProgramID string `json:"ProgramId"`
}

// linkRequest is what links.post asks for.
type linkRequest struct {
	publisher       int64
	website, target string
	subID, program  string // may be ""
}

// postLink answers links.post: a link of this service that leads to Url, which
// has to be in the domains of an open program. The same website, address and
// sub id give the same link.
func (s *Service) postLink(ctx context.Context, by caller, f *form, b []byte) ([]byte, error) {
	r := linkRequest{
		publisher: by.publisher, target: f.required("Url"), website: f.required("WebsiteId"),
		subID: f.text("SubId"), program: f.text("ProgramId"),
	}
	if !webAddress(r.target) {
		f.breaks("Url", "an absolute http or https address")
	}
	if f.err != nil {
		return nil, f.err
	}
	var l link
	err := s.store.change(ctx, func(c *change) (err error) {
		l, err = c.link(ctx, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	number := strconv.FormatInt(l.id, 10)
	data, err := json.Marshal(linkData{by.origin + "/" + linkFolder + "/" + number, number, l.program})
	return append(b, data...), err
}

func webAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil
}

// link is a link with its program, id 0 for none.
type link struct {
	id      int64
	program string
}

// link returns the link that a request asks for, a new one if there is none
// yet. A link stays with its program as long as that is open and has the
// target's domain, and then goes over to another one that has it.
func (c *change) link(ctx context.Context, r linkRequest) (link, error) {
	if err := c.ownWebsite(ctx, r.publisher, r.website); err != nil {
		return link{}, err
	}
	have, err := c.storedLink(ctx, r)
	if err != nil {
		return link{}, err
	}
	host, err := targetHost(r.target)
	if err != nil {
		return link{}, err
	}
	current := ""
	if have.program != "" {
		if current, err = c.openProgram(ctx, host, have.program); err != nil {
			return link{}, err
		}
	}
	switch {
	case current != "" && (r.program == "" || r.program == current):
		return have, nil
	case current != "":
		return link{}, refuse(StatusNotAllowed, "ProgramId: this website has a link of program %s to Url with this SubId; give another SubId", current)
	}
	if r.program, err = c.programFor(ctx, host, r.program); err != nil {
		return link{}, err
	}
	return c.saveLink(ctx, have, r)
}

func (c *change) ownWebsite(ctx context.Context, publisher int64, website string) error {
	owned, err := c.found(ctx, `SELECT 1 FROM websites WHERE id = ? AND publisher_id = ?`,
		[]any{website, publisher}, new(int))
	if err != nil {
		return fmt.Errorf("look a website up: %w", err)
	}
	if !owned {
		return refuse(StatusNotFound, "WebsiteId: the publisher has no such website")
	}
	return nil
}

// targetHost returns the name of a target's host.
func targetHost(target string) (string, error) {
	u, err := url.Parse(target)
	if err != nil {
		return "", refuse(StatusNotAllowed, "Url: no address")
	}
	host, err := domainName(u.Hostname())
	if err != nil {
		return "", refuse(StatusNotAllowed, "Url: the target is not in the domains of any open program")
	}
	return host, nil
}

// programFor is openProgram that refuses a host without one.
func (c *change) programFor(ctx context.Context, host, only string) (string, error) {
	id, err := c.openProgram(ctx, host, only)
	switch {
	case err != nil || id != "":
		return id, err
	case only != "":
		return "", refuse(StatusNotAllowed, "Url: the target is not in the domains of an open program with this ProgramId")
	default:
		return "", refuse(StatusNotAllowed, "Url: the target is not in the domains of any open program")
	}
}

func (c *change) storedLink(ctx context.Context, r linkRequest) (l link, err error) {
	_, err = c.found(ctx, `SELECT id, program_id FROM links WHERE website_id = ? AND url = ? AND sub_id = ?`,
		[]any{r.website, r.target, r.subID}, &l.id, &l.program)
	if err != nil {
		return link{}, fmt.Errorf("look a link up: %w", err)
	}
	return l, nil
}

// saveLink makes the link of a request, or gives the one that is there its
// program.
func (c *change) saveLink(ctx context.Context, have link, r linkRequest) (link, error) {
	switch {
	case have.id == 0:
		c.counters.link++
		return link{c.counters.link, r.program}, c.exec(ctx, `INSERT INTO links
			(id, publisher_id, website_id, program_id, sub_id, url, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			c.counters.link, r.publisher, r.website, r.program, r.subID, r.target, c.now)
	case have.program != r.program:
		return link{have.id, r.program}, c.exec(ctx, `UPDATE links SET program_id = ? WHERE id = ?`, r.program, have.id)
	default:
		return have, nil
	}
}
