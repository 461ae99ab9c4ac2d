package network_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/orderwire/orderwire/sources/network"
)

// The brand of the tests, its key and its program.
const (
	adsKey  = "ADS-77"
	brand   = "Brand"
	shop    = "5001"
	shopURL = "https://www.shop.example/p?a=1"

	ordersPost = "svc.service.orders.post"
)

// putProgram writes a program, or writes it anew, whatever state it is in.
func (f *fixture) putProgram(p network.TestProgram) {
	f.tb.Helper()
	if err := f.svc.PutTestProgram(f.tb.Context(), p); err != nil {
		f.tb.Fatal(err)
	}
}

// brand adds an advertiser.
func (f *fixture) brand(name, key string) {
	f.tb.Helper()
	if err := f.svc.AddAdvertiser(f.tb.Context(), network.Advertiser{Name: name, AdsKey: key}); err != nil {
		f.tb.Fatal(err)
	}
}

// startBrand is start with a brand that has one program, which pays 5 %.
func startBrand(tb testing.TB) *fixture {
	tb.Helper()
	f := start(tb, nil)
	f.brand(brand, adsKey)
	f.putProgram(network.TestProgram{ID: shop, Brand: brand, Domains: []string{"shop.example"}, Rates: fivePercent})
	return f
}

var fivePercent = []network.TestRate{{Category: "", Kind: "percent", Value: 500}}

// linkData is the Data of links.post.
type linkData struct{ Url, LinkId, ProgramId string }

// link gets a link of the first publisher, which must succeed.
func (f *fixture) link(p params) linkData {
	f.tb.Helper()
	return decode[linkData](f.tb, f.call(linksPost, p))
}

// decode reads the Data of an answer, which must be a success.
func decode[T any](tb testing.TB, a answer) (data T) {
	tb.Helper()
	if a.Status != network.StatusSuccess {
		tb.Fatalf("Status %d: %s", a.Status, a.Message)
	}
	if err := json.Unmarshal(a.Data, &data); err != nil {
		tb.Fatal(err)
	}
	return data
}

// follow follows a link and returns where it leads.
func (f *fixture) follow(path string) string {
	f.tb.Helper()
	a := f.do(http.MethodGet, path, nil, "")
	if a.HTTP != http.StatusFound {
		f.tb.Fatalf("GET %s: HTTP %d", path, a.HTTP)
	}
	return a.header.Get("Location")
}

// click follows a link and returns the id of the click.
func (f *fixture) click(path string) string {
	f.tb.Helper()
	u, err := url.Parse(f.follow(path))
	if err != nil {
		f.tb.Fatal(err)
	}
	id := u.Query().Get("click_id")
	if id == "" {
		f.tb.Fatalf("no click in %s", u)
	}
	return id
}

// clicked is a click on a fresh link of the first publisher.
func (f *fixture) clicked() string {
	f.tb.Helper()
	return f.click("/c/" + f.link(params{"Url": shopURL, "WebsiteId": website, "SubId": "news"}).LinkId)
}

// ads makes a call with an ADS_KEY.
func (f *fixture) ads(key, service string, p params) answer {
	f.tb.Helper()
	body, err := json.Marshal(p)
	if err != nil {
		f.tb.Fatal(err)
	}
	return f.post("/"+key+"/"+service, body)
}

// reported is the Data of orders.post.
type reported struct{ Id, OrderSn, Status, SiterCommission, Created string }

// report reports an order as the first brand, which must succeed.
func (f *fixture) report(p params) reported {
	f.tb.Helper()
	return decode[reported](f.tb, f.ads(adsKey, ordersPost, p))
}
