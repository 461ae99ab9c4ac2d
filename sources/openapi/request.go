package openapi

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/orderwire/orderwire/schema"
)

// The operations (specification 4), to be put behind the service prefix and a
// dot.
const (
	ServiceLinks  = "service.links.post"             // get an affiliate link
	ServiceOrders = "open-service.orders.query.get"  // list orders
	ServiceOrder  = "open-service.orders.detail.get" // one order
)

// SignBody returns the body to send for the parameters of body: their
// canonical form with Sign behind them, so that what is signed is what is
// sent. The path is "/{APP_KEY}/{SERVICE_NAME}". A Sign that the body already
// holds is replaced. The error wraps [ErrBody].
func SignBody(secret, path string, body []byte, amp Ampersand) ([]byte, error) {
	canonical, err := Canonical(body, amp)
	if err != nil {
		return nil, err
	}
	sign := digest(secret, path, canonical)
	signed := canonical[:len(canonical)-1]
	if len(signed) > 1 {
		signed = append(signed, ',')
	}
	return append(signed, `"`+SignField+`":"`+sign+`"}`...), nil
}

// params is a JSON object of request parameters without its closing brace, in
// the types of specification 2.1 and 4. Its zero value has no parameters.
type params struct {
	body []byte
	err  error // first value that breaks the specification, a [*schema.ParamError]
}

func (p *params) name(name string) {
	if len(p.body) == 0 {
		p.body = append(p.body, '{')
	} else {
		p.body = append(p.body, ',')
	}
	p.body = append(append(append(p.body, '"'), name...), '"', ':')
}

func (p *params) refuse(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *params) integer(name string, n int64) {
	p.name(name)
	start := len(p.body)
	p.body = strconv.AppendInt(p.body, n, 10)
	p.refuse(schema.ValidateInteger(name, string(p.body[start:])))
}

// positive adds an integer unless it is 0, which leaves it to the network.
func (p *params) positive(name string, n int) {
	switch {
	case n < 0:
		p.refuse(&schema.ParamError{Name: name, Rule: "a positive integer", Length: len(strconv.Itoa(n))})
	case n > 0:
		p.integer(name, int64(n))
	}
}

func (p *params) required(name, value string) {
	if value == "" {
		p.refuse(&schema.ParamError{Name: name, Rule: "a value, it is required"})
	}
	p.optional(name, value)
}

// optional adds a string unless it is empty.
func (p *params) optional(name, value string) {
	if value == "" {
		return
	}
	p.refuse(schema.ValidateString(name, value))
	p.name(name)
	p.body, _ = jsontext.AppendQuote(p.body, value) // fails only for what ValidateString refuses
}

// call is one operation with its parameters.
type call struct {
	service string // whole service name
	params  params // all but Timestamp and Sign
	list    bool   // Data holds a list of orders
}

// request builds a freshly stamped and signed request.
func (c *Client) request(ctx context.Context, op call) (*http.Request, error) {
	p := params{body: bytes.Clone(op.params.body)}
	p.integer("Timestamp", c.cfg.Now().Unix())
	path := "/" + c.cfg.AppKey + "/" + op.service
	body, err := SignBody(c.cfg.AppSecret, path, append(p.body, '}'), c.cfg.Ampersand)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op.service, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.cfg.BaseURL+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op.service, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "orderwire")
	return req, nil
}
