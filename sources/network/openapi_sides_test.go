package network_test

import (
	"maps"
	"net/http"
	"testing"

	"github.com/orderwire/orderwire/sources/network"
)

// Requests and answers of each operation follow the document, in each content
// type: what the document does not take the service refuses, and every answer
// is one of the document's.
func TestCallsFollowTheDocument(t *testing.T) {
	c := loadContract(t)
	for _, encoding := range encodings {
		t.Run(encoding.name, func(t *testing.T) {
			m := startMarket(t)
			for _, call := range m.brandCalls() {
				t.Run(call.service+"/"+call.name, func(t *testing.T) {
					c.hold(t, m.fixture, call, encoding.brand(m.fixture, marketKey, call.service, call.params))
				})
			}
			for _, call := range m.publisherCalls() {
				t.Run(call.service+"/"+call.name, func(t *testing.T) {
					c.hold(t, m.fixture, call, encoding.publisher(m.fixture, call.service, call.params))
				})
			}
		})
	}
}

// spoil makes calls that the document does not take out of a good one, by one
// parameter each; nil leaves it out.
func spoil(service string, good params, with params) []openapiCall {
	var calls []openapiCall
	for name, value := range with {
		p := maps.Clone(good)
		if p[name] = value; value == nil {
			delete(p, name)
		}
		calls = append(calls, openapiCall{"bad " + name, service, p, false, network.StatusParameter, ""})
	}
	return calls
}

// A click is answered as the document says, and so is one on a link that is
// not there.
func TestClicksFollowTheDocument(t *testing.T) {
	c, m := loadContract(t), startMarket(t)
	for path, code := range map[string]int{
		"/c/" + m.linkID: http.StatusFound, "/c/" + m.linkID + "?sub_id=other": http.StatusFound, "/c/1": http.StatusNotFound,
	} {
		req, err := http.NewRequest(http.MethodGet, m.server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.request(t, req); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		a := m.send(req)
		if a.HTTP != code {
			t.Errorf("%s: HTTP %d; want %d", path, a.HTTP, code)
		}
		if err := c.response(t, req, a); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// Each side has the operations of the table, and no operation of the other side.
func TestOperationsAnswerTheirSides(t *testing.T) {
	m := startMarket(t)
	has := map[sided]bool{}
	for _, o := range network.Operations() {
		has[sided{o.Service, o.Side}] = true
	}
	for _, o := range network.Operations() {
		service := network.DefaultServicePrefix + "." + o.Service
		for side, a := range map[network.Side]answer{
			network.PublisherSide:  m.call(service, params{}),
			network.AdvertiserSide: m.send(encodings[0].brand(m.fixture, marketKey, service, params{})),
		} {
			if key := (sided{o.Service, side}); (a.Status != network.StatusNoService) != has[key] {
				t.Errorf("%v: Status %d: %s", key, a.Status, a.Message)
			}
		}
	}
}
