package postback

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/openapi"
)

// maxBody bounds a push, in bytes. An order without its lines has about 500.
const maxBody = 64 << 10

// The answers to a push (network facts).
const (
	taken    = "1"
	notTaken = "-1"
)

// ServeHTTP answers POST {path}/{account} with HTTP 200 and "1" or "-1". Only
// what is no push at all gets another HTTP status: 404, 405, and 413 for a body
// of more than 64 KiB.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	in, known := r.route(req)
	switch {
	case !known:
		http.Error(w, notTaken, http.StatusNotFound)
		return
	case req.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, notTaken, http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, maxBody+1))
	if len(body) > maxBody {
		http.Error(w, notTaken, http.StatusRequestEntityTooLarge)
		return
	}
	answer := notTaken
	if err == nil && in.take(req.URL.EscapedPath(), body) {
		answer = taken
	}
	_, _ = io.WriteString(w, answer)
}

// route finds the account of a path, which is not cleaned up before.
func (r *Receiver) route(req *http.Request) (*inbox, bool) {
	name, ok := strings.CutPrefix(req.URL.EscapedPath(), r.config.Path+"/")
	in, known := r.accounts[name]
	return in, ok && known
}

// push is what is read of a push; everything else is left to the API.
type push struct {
	sign, appKey string
	timestamp    int64
	order        Order
}

// take reports whether a push is to be answered with "1": one that gives notice
// of an order and was taken in, or one that gives notice of none, which is how
// networks test an address.
func (in *inbox) take(path string, body []byte) bool {
	p, ok := parsePush(body)
	if !ok {
		return false
	}
	signed, err := openapi.Verify(in.AppSecret, path, body, p.sign)
	if err != nil || !signed || p.appKey != "" && p.appKey != in.AppKey || !in.near(p.timestamp) {
		return false
	}
	if p.order.OrderSn == "" {
		return true
	}
	return p.order.ProgramID != "" && in.hint(p.order)
}

// near reports whether a time is within the clock window.
func (in *inbox) near(timestamp int64) bool {
	window := in.config.ClockWindow
	return window < 0 || in.config.Now().Sub(time.Unix(timestamp, 0)).Abs() <= window
}

// parsePush reads a push. It reports false for anything that cannot be one.
func parsePush(body []byte) (push, bool) {
	var members struct {
		Sign, AppKey, Timestamp schema.Text
		ProgramID               schema.Text `json:"ProgramId"`
		OrderSn                 schema.Text
	}
	if json.Unmarshal(body, &members) != nil || members.Sign.IsZero() {
		return push{}, false
	}
	p := push{
		sign: members.Sign.String(), appKey: members.AppKey.String(),
		order: Order{ProgramID: members.ProgramID.String(), OrderSn: members.OrderSn.String()},
	}
	if schema.ValidateInteger("Timestamp", members.Timestamp.String()) != nil ||
		schema.ValidateString("ProgramId", p.order.ProgramID) != nil || schema.ValidateString("OrderSn", p.order.OrderSn) != nil {
		return push{}, false
	}
	var err error
	p.timestamp, err = strconv.ParseInt(members.Timestamp.String(), 10, 64)
	return p, err == nil
}
