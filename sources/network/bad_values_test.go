package network_test

import (
	"strings"
	"testing"

	"github.com/orderwire/orderwire/sources/network"
)

// badNumbers are values of an integer, signed as they stand.
func (f *fixture) badNumbers() []bad {
	parameter := func(value string) bad {
		return bad{name: "Page " + value, body: f.listBody(`,"Page":` + value), status: network.StatusParameter, says: "parameter Page: want "}
	}
	broken := func(value string) bad { // JSON knows no such number, so nothing is there to be signed
		body := strings.Replace(f.listBody(`,"Page":7`), `"Page":7`, `"Page":`+value, 1)
		return bad{name: "Page " + value, body: body, status: network.StatusBody, says: "broken at byte"}
	}
	return []bad{
		parameter("0"), parameter("-0"), parameter("-1"), parameter("1e5"), parameter("1E0"), parameter("1.0"), parameter("1.5"), parameter("1e-400"),
		parameter("1e999999999"), parameter("12345678901234567"), parameter("0.00000000000000000000001"), parameter(strings.Repeat("9", 300)),
		parameter(`"0"`), parameter(`"-0"`), parameter(`"+1"`), parameter(`"1 "`), parameter(`" 1"`), parameter(`"0x1"`), parameter(`"1_0"`), parameter(`"1,0"`),
		parameter(`"１"`), parameter(`"٣"`), parameter(`"1e5"`), parameter(`"NaN"`), parameter(`"-"`), parameter(`"--1"`), parameter(`"1\u0000"`),
		parameter("true"), parameter("null"), parameter("[]"), parameter("[1]"), parameter(`{"a":1}`),
		broken("01"), broken("-01"), broken("+1"), broken("1."), broken(".5"), broken("1e"), broken("1e+-5"), broken("-"), broken("-+1"),
		broken("NaN"), broken("Infinity"), broken("0x10"), broken("1_000"), broken("undefined"), broken("True"),
	}
}

func (f *fixture) badValues() []bad {
	now := f.clock.unix.Load()
	call := func(name, service string, p params, status network.Status, says string) bad {
		return bad{name: name, path: "/" + appKey + "/" + service, body: string(f.signed(appKey, appSecret, service, p)), status: status, says: says}
	}
	list := func(name string, more params, status network.Status, says string) bad {
		p := params{"Stime": now - 86400, "Etime": now}
		for name, value := range more {
			p[name] = value
		}
		return call(name, ordersQuery, p, status, says)
	}
	order := func(name, sn string, status network.Status, says string) bad {
		return call(name, ordersDetail, params{"ProgramId": "1042", "OrderSn": sn}, status, says)
	}
	const parameter = network.StatusParameter
	return []bad{
		list("PageSize 201", params{"PageSize": 201}, parameter, "PageSize: want an integer between 1 and 200"),
		list("Etime before Stime", params{"Etime": now - 86401}, parameter, "Etime: want not before Stime"),
		list("a second more than a day", params{"Etime": now + 1}, network.StatusSpan, "Etime"),
		list("Status by name", params{"Status": secretValue}, parameter, "Status: want -1, 0, 1 or 2"),
		list("OrderField is SQL", params{"OrderField": "updated_at; DROP TABLE orders; -- " + secretValue}, parameter, "OrderField"),
		list("SubId of 256 characters", params{"SubId": secretValue + strings.Repeat("x", 250)}, parameter, "SubId: want at most 255 characters (the value has 256 bytes)"),
		list("SubId with NUL", params{"SubId": secretValue + "\x00"}, parameter, "SubId: want a string without NUL characters (the value has 7 bytes)"),
		order("256 characters", strings.Repeat("單", 256), parameter, "OrderSn: want at most 255 characters (the value has 768 bytes)"),
		order("255 characters of four bytes, no such order", strings.Repeat("😀", 255), network.StatusNotFound, "no such order"),
		order("NUL", "\x00", parameter, "OrderSn"), order("empty", "", parameter, "OrderSn"),
		order("SQL", "' OR '1'='1' -- "+secretValue, network.StatusNotFound, ""), order("SQL, stacked", `"; DELETE FROM orders; --`, network.StatusNotFound, ""),
		order("placeholders", "? $1 :a @a %s {} \\", network.StatusNotFound, ""), order("control characters", "\x01\x1f\x7f\u0085\u2028", network.StatusNotFound, ""),
		call("Url of 256 characters", linksPost, params{"Url": "https://e.com/" + strings.Repeat("x", 242), "WebsiteId": website}, parameter, "Url: want at most 255 characters"),
		call("Url is a script", linksPost, params{"Url": "javascript:" + secretValue, "WebsiteId": website}, parameter, "Url"),
		call("WebsiteId is an object", linksPost, params{"Url": "https://e.com", "WebsiteId": params{}}, parameter, "WebsiteId"),
	}
}

// The orders are still there after all the SQL.
func TestSQLInValuesIsAValue(t *testing.T) {
	f := start(t, nil)
	f.simulator(network.SimulatorConfig{Seed: 1}, 20)
	before := f.number(`SELECT COUNT(*) FROM orders`)
	for _, b := range append(f.badValues(), f.badPaths()...) {
		b.send(f)
	}
	if after := f.number(`SELECT COUNT(*) FROM orders`); before != 20 || after != before {
		t.Errorf("%d orders before, %d after", before, after)
	}
}
