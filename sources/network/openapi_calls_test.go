package network_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sources/network"
)

// openapiCall is a call and what it has to come to.
type openapiCall struct {
	name    string
	service string
	params  params
	// described is whether the document takes the request. What it does not
	// take the service refuses too.
	described bool
	status    network.Status
	holds     string // part of the answer
}

// hold sends a call, and compares it and its answer with the document.
func (c *contract) hold(t *testing.T, f *fixture, call openapiCall, req *http.Request) {
	t.Helper()
	if err := c.request(t, req); (err == nil) != call.described {
		t.Errorf("the document says of the request: %v; want that it takes it: %v", err, call.described)
	}
	a := f.send(req)
	if a.Status != call.status {
		t.Errorf("Status %d: %s; want %d", a.Status, a.Message, call.status)
	}
	if !strings.Contains(string(a.body), call.holds) {
		t.Errorf("no %s in %.500s", call.holds, a.body)
	}
	if err := c.response(t, req, a); err != nil {
		t.Errorf("the document says of the answer: %v\n%.500s", err, a.body)
	}
}

// and returns the parameters with more of them.
func (p params) and(more params) params {
	all := maps.Clone(p)
	maps.Copy(all, more)
	return all
}

// Orders of the simulation, of all programs and states, follow the document.
func TestSimulatedOrdersFollowTheDocument(t *testing.T) {
	c, f := loadContract(t), start(t, nil)
	f.simulator(network.SimulatorConfig{Seed: 1, History: 24 * time.Hour}, 200)
	for _, field := range []string{"UpdateTime", "OrderDatatime"} {
		now := f.clock.unix.Load()
		p := params{"Stime": now - 86400, "Etime": now, "OrderField": field, "PageSize": 200}
		c.hold(t, f, openapiCall{"", ordersQuery, p, true, network.StatusSuccess, `"Total":200`}, encodings[0].publisher(f, ordersQuery, p))
	}
}

// A call whose signature the document takes and the service does not, and one
// without.
func TestSignaturesFollowTheDocument(t *testing.T) {
	c, f := loadContract(t), start(t, nil)
	p := params{"ProgramId": "1", "OrderSn": "1"}
	tests := []struct {
		body      string
		described bool
		status    network.Status
	}{
		{string(f.signed(appKey, "another", ordersDetail, p)), true, network.StatusSignature},
		{string(f.signed(appKey, appSecret, ordersDetail, p.and(params{"Timestamp": f.clock.unix.Load() - 301}))), true, network.StatusTimestamp},
		{strings.Replace(string(f.signed(appKey, appSecret, linksPost, p)), `"Sign":`, `"Mark":`, 1), false, network.StatusParameter},
		{`[]`, false, network.StatusBody},
	}
	for _, tt := range tests {
		service := ordersDetail
		if !tt.described {
			service = linksPost
		}
		c.hold(t, f, openapiCall{"", service, nil, tt.described, tt.status, ""}, f.request(appKey, service, "application/json", []byte(tt.body)))
	}
}
