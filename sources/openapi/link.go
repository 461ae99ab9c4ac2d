package openapi

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

var errLink = errors.New("no link in Data")

// LinkRequest asks for an affiliate link (specification 4: links.post).
type LinkRequest struct {
	URL       string // target address, at most 255 characters; required
	WebsiteID string // promotion site that the link is for; required
}

// Link is an affiliate link.
type Link struct {
	URL string         // the link, never empty
	Raw jsontext.Value // Data as it was sent; other forms of the link may stand in it
}

// linkNames are the members that may hold the link, the best first. Url comes
// late, because a network may repeat the target address in it.
var linkNames = []string{
	"Link", "LinkUrl", "PromotionUrl", "TrackingUrl", "TrackUrl", "ClickUrl", "Url", "ShortUrl", "ShortLink",
}

// Link returns the affiliate link for a target address. The specification does
// not show the shape of Data: a string is the link, an object holds it in a
// member with a name like Link, LinkUrl, Url or ShortUrl, in upper or lower
// case. Anything else is a [*BodyError]. For other errors see [Client].
func (c *Client) Link(ctx context.Context, r LinkRequest) (Link, error) {
	op := call{service: c.service(ServiceLinks)}
	op.params.required("Url", r.URL)
	op.params.required("WebsiteId", r.WebsiteID)
	a, err := c.do(ctx, op)
	if err != nil {
		return Link{}, err
	}
	link := findLink(a.Data, r.URL)
	if link == "" {
		return Link{}, &BodyError{Service: op.service, Attempts: a.attempts, Kind: BodyShape, Err: errLink}
	}
	return Link{URL: link, Raw: a.Data}, nil
}

// findLink looks for a link in a checked value; target is not one.
func findLink(data jsontext.Value, target string) string {
	s := scanner{b: data}
	switch s.peek() {
	case '"':
		return strings.TrimSpace(string(unquote(data)))
	case '{':
	default:
		return ""
	}
	var link string
	best := len(linkNames)
	s.members(maxDepth, func(name []byte) bool {
		rank := slices.IndexFunc(linkNames, func(n string) bool { return strings.EqualFold(n, string(name)) })
		raw, ok := s.span(maxDepth - 1)
		if !ok || rank < 0 || rank >= best || raw[0] != '"' {
			return ok
		}
		if found := strings.TrimSpace(string(unquote(raw))); found != "" && found != target {
			link, best = found, rank
		}
		return true
	})
	return link
}
