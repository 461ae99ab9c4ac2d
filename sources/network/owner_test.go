package network_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/network"
)

func TestPublishersSeeTheirOwnOrders(t *testing.T) {
	f := start(t, nil)
	f.publisher(network.Publisher{AppKey: "other", AppSecret: "o-secret", Websites: []string{"2001"}})
	f.simulator(network.SimulatorConfig{Seed: 1}, 101)
	mine := f.walk(30, nil)
	if len(mine) != 51 {
		t.Errorf("the first of two publishers has %d of 101 orders", len(mine))
	}
	foreign := f.query(`SELECT program_id, order_sn FROM orders WHERE website_id = '2001' LIMIT 1`)[0]
	p := params{"ProgramId": foreign[0], "OrderSn": foreign[1]}
	if a := f.call(ordersDetail, p); a.Status != network.StatusNotFound {
		t.Errorf("a foreign order: Status %d", a.Status)
	}
	if a := f.callAs("other", "o-secret", ordersDetail, p); a.Status != network.StatusSuccess {
		t.Errorf("its own order: Status %d: %s", a.Status, a.Message)
	}
	if a := f.callAs("other", appSecret, ordersDetail, p); a.Status != network.StatusSignature {
		t.Errorf("with the other's secret: Status %d", a.Status)
	}
	if a := f.call(ordersQuery, params{"Stime": 1, "Etime": 2, "WebsiteId": "2001"}); a.Status != network.StatusSuccess {
		t.Errorf("foreign website as filter: Status %d", a.Status)
	}
	if a := f.call(linksPost, params{"Url": "https://e.com", "WebsiteId": "2001"}); a.Status != network.StatusNotFound {
		t.Errorf("link for a foreign website: Status %d", a.Status)
	}
}

func TestAddPublisherAgain(t *testing.T) {
	f := start(t, nil)
	now := f.clock.unix.Load()
	works := func(key, secret string) bool {
		return f.callAs(key, secret, ordersQuery, params{"Stime": now, "Etime": now}).Status == network.StatusSuccess
	}
	f.publisher(network.Publisher{AppKey: appKey, AppSecret: "new", Websites: []string{website, "1028"}})
	if works(appKey, appSecret) || !works(appKey, "new") {
		t.Error("the secret was not replaced")
	}
	f.publisher(network.Publisher{Name: appKey, AppKey: "second", AppSecret: "s2"})
	if !works("second", "s2") || !works(appKey, "new") {
		t.Error("a second key does not work beside the first")
	}
	if n := f.number(`SELECT COUNT(*) FROM publishers`); n != 1 {
		t.Errorf("%d publishers, want 1", n)
	}
	if n := f.number(`SELECT COUNT(*) FROM websites`); n != 3 {
		t.Errorf("%d websites, want 3", n)
	}
}

func TestAddRefuses(t *testing.T) {
	f := open(t, nil)
	ctx := t.Context()
	if err := f.svc.AddAdvertiser(ctx, network.Advertiser{AdsKey: "ads"}); err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]network.Publisher{
		"key of an advertiser": {AppKey: "ads", AppSecret: "x"},
		"website of another":   {AppKey: "b", AppSecret: "x", Websites: []string{website}},
		"key of another name":  {Name: "somebody", AppKey: appKey, AppSecret: "x"},
	} {
		if err := f.svc.AddPublisher(ctx, p); !errors.Is(err, network.ErrTaken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := f.svc.AddAdvertiser(ctx, network.Advertiser{AdsKey: appKey}); !errors.Is(err, network.ErrTaken) {
		t.Errorf("key of a publisher: %v", err)
	}
	var config *network.ConfigError
	var param *schema.ParamError
	for name, p := range map[string]network.Publisher{
		"slash in the key": {AppKey: "a/b", AppSecret: "x"}, "no key": {AppSecret: "x"}, "dots": {AppKey: "..", AppSecret: "x"},
		"no secret": {AppKey: "a"}, "empty website": {AppKey: "a", AppSecret: "x", Websites: []string{""}},
	} {
		if err := f.svc.AddPublisher(ctx, p); !errors.As(err, &config) {
			t.Errorf("%s: %v", name, err)
		}
	}
	secret := strings.Repeat("k", 256)
	if err := f.svc.AddPublisher(ctx, network.Publisher{AppKey: "a", AppSecret: secret}); !errors.As(err, &param) || strings.Contains(err.Error(), secret) {
		t.Errorf("secret too long: %v", err)
	}
	if n := f.number(`SELECT COUNT(*) FROM publishers`); n != 1 {
		t.Errorf("%d publishers after refusals, want 1", n)
	}
}
