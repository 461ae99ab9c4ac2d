package network_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/sources/network"
)

func TestLinks(t *testing.T) {
	f := startBrand(t)
	target := "https://shop.example/商品?a=1&b=2"
	link := f.link(params{"Url": target, "WebsiteId": website})
	if link.Url != f.server.URL+"/c/"+link.LinkId || link.LinkId == "" || link.ProgramId != shop {
		t.Errorf("%+v", link)
	}
	if again := f.link(params{"Url": target, "WebsiteId": website, "SubId": ""}); again != link {
		t.Errorf("the same again gives %+v, not %+v", again, link)
	}
	seen := map[string]bool{link.LinkId: true}
	for _, p := range []params{
		{"Url": target, "WebsiteId": "1027"}, {"Url": target + "3", "WebsiteId": website},
		{"Url": target, "WebsiteId": website, "SubId": "s1"}, {"Url": target, "WebsiteId": website, "SubId": "s2"},
	} {
		if other := f.link(p); seen[other.LinkId] {
			t.Errorf("%v gets link %s, which is another one's", p, other.LinkId)
		} else if again := f.link(p); again != other {
			t.Errorf("%v: again %+v, not %+v", p, again, other)
		} else {
			seen[other.LinkId] = true
		}
	}
	if got := f.query(`SELECT url FROM links WHERE id = ?`, link.LinkId)[0][0]; got != target {
		t.Errorf("stored %q", got)
	}
}

// A domain stands for itself and its subdomains, label by label.
func TestLinkDomains(t *testing.T) {
	f := startBrand(t)
	f.putProgram(network.TestProgram{ID: "5002", Brand: brand, Domains: []string{"xn--fiq228c.example", "203.0.113.7"}})
	for _, tt := range []struct{ target, program string }{ // "" for refused
		{"https://shop.example", shop},
		{"https://shop.example/", shop},
		{"http://shop.example:8443/a?b#c", shop},
		{"https://SHOP.Example/a", shop},
		{"https://shop.example./a", shop},
		{"https://a.b.c.shop.example/a", shop},
		{"https://中文.example/a", "5002"},
		{"https://www.中文.example:81", "5002"},
		{"https://中文。example/a", "5002"},
		{"https://XN--FIQ228C.example/", "5002"},
		{"https://%E4%B8%AD%E6%96%87.example/", "5002"},
		{"https://203.0.113.7/", "5002"},
		{"https://evilshop.example/", ""},
		{"https://shop.example.evil.example/", ""},
		{"https://example/", ""},
		{"https://evil.example/shop.example", ""},
		{"https://evil.example?.shop.example", ""},
		{"https://evil.example#.shop.example", ""},
		{"https://evil.example:443#@shop.example", ""},
		{"https://shop.example../", ""},
		{"https://.shop.example/", ""},
		{"https://evil.example<.shop.example/", ""},
		{"https://[2001:db8::1]/", ""},
		{"https://3.203.0.113.77/", ""},
		{"https://ｅvil.example/", ""},
	} {
		a := f.call(linksPost, params{"Url": tt.target, "WebsiteId": website})
		switch {
		case tt.program == "":
			if a.Status != network.StatusNotAllowed || !strings.HasPrefix(a.Message, "Url: ") {
				t.Errorf("%s: Status %d: %s", tt.target, a.Status, a.Message)
			}
		case a.Status != network.StatusSuccess:
			t.Errorf("%s: Status %d: %s", tt.target, a.Status, a.Message)
		default:
			if l := decode[linkData](t, a); l.ProgramId != tt.program {
				t.Errorf("%s: program %s, want %s", tt.target, l.ProgramId, tt.program)
			}
		}
	}
	if n := f.number(`SELECT COUNT(*) FROM links WHERE program_id = ''`); n != 0 {
		t.Errorf("%d links without a program", n)
	}
	for _, target := range []string{`https://shop.example\@evil.example/`, `https://evil.example\.shop.example/`, "https://shop.example@evil.example/", "https:///shop.example"} {
		if a := f.call(linksPost, params{"Url": target, "WebsiteId": website}); a.Status != network.StatusParameter {
			t.Errorf("%s: Status %d: %s", target, a.Status, a.Message)
		}
	}
}

// Which of several programs a link belongs to.
func TestLinkPrograms(t *testing.T) {
	f := startBrand(t)
	f.putProgram(network.TestProgram{ID: "600", Domains: []string{"eu.shop.example"}})
	f.putProgram(network.TestProgram{ID: "10000", Domains: []string{"shop.example", "other.example"}})
	link := func(target, program string) answer {
		return f.call(linksPost, params{"Url": target, "WebsiteId": website, "ProgramId": program})
	}
	for _, tt := range []struct{ target, program, want string }{
		{"https://shop.example/1", "", shop},         // the lowest id, as a number
		{"https://shop.example/2", "10000", "10000"}, // the one asked for
		{"https://eu.shop.example/3", "", "600"},     // the longest domain
		{"https://eu.shop.example/4", shop, shop},
		{"https://other.example/5", "", "10000"},
	} {
		if l := decode[linkData](t, link(tt.target, tt.program)); l.ProgramId != tt.want {
			t.Errorf("%s for %q: program %s, want %s", tt.target, tt.program, l.ProgramId, tt.want)
		}
		if l := decode[linkData](t, link(tt.target, "")); l.ProgramId != tt.want {
			t.Errorf("%s again: program %s, want %s", tt.target, l.ProgramId, tt.want)
		}
	}
	for _, program := range []string{"600", "9"} {
		if a := link("https://other.example/x", program); a.Status != network.StatusNotAllowed {
			t.Errorf("program %s: Status %d: %s", program, a.Status, a.Message)
		}
	}
	if a := link("https://shop.example/1", "10000"); a.Status != network.StatusNotAllowed || !strings.HasPrefix(a.Message, "ProgramId: ") {
		t.Errorf("the link of another program: Status %d: %s", a.Status, a.Message)
	}
	before := decode[linkData](t, link("https://shop.example/1", ""))
	f.putProgram(network.TestProgram{ID: shop, Status: "closed", Domains: []string{"shop.example"}})
	after := decode[linkData](t, link("https://shop.example/1", ""))
	if after.LinkId != before.LinkId || after.ProgramId != "10000" {
		t.Errorf("after its program has closed: %+v", after)
	}
	if a := link("https://shop.example/9", shop); a.Status != network.StatusNotAllowed {
		t.Errorf("a closed program: Status %d: %s", a.Status, a.Message)
	}
}

// The programs of the simulation have domains too.
func TestLinkToSimulatedProgram(t *testing.T) {
	f := start(t, nil)
	f.simulator(network.SimulatorConfig{Seed: 1}, 20)
	if l := f.link(params{"Url": "https://www.kettle.example/x", "WebsiteId": website}); l.ProgramId != "1042" {
		t.Errorf("%+v", l)
	}
	want := f.number(`SELECT COUNT(*) FROM programs`)
	if n := f.number(`SELECT COUNT(*) FROM programs p JOIN program_domains d ON d.program_id = p.id AND d.domain = p.domain
		JOIN commission_rates r ON r.program_id = p.id AND r.category = '' AND r.kind = 'percent' AND r.value = p.commission_rate`); n != want || n != 6 {
		t.Errorf("%d of %d programs have a domain and a rate", n, want)
	}
	if n := f.number(`SELECT COUNT(*) FROM links WHERE program_id = ''`); n != 0 {
		t.Errorf("%d links without a program", n)
	}
}

// The simulation takes no brand's program for its own.
func TestSimulationWithoutItsPrograms(t *testing.T) {
	f := startBrand(t)
	f.putProgram(network.TestProgram{ID: "1042", Brand: brand})
	sim, err := f.svc.Simulator(network.SimulatorConfig{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.Seed(t.Context(), 5); !errors.Is(err, network.ErrTaken) {
		t.Errorf("err = %v", err)
	}
	if n := f.number(`SELECT COUNT(*) FROM programs`); n != 2 {
		t.Errorf("%d programs, want 2", n)
	}
}

func TestRedirect(t *testing.T) {
	f := startBrand(t)
	for _, tt := range []struct{ target, before, after string }{
		{"https://shop.example", "https://shop.example?click_id=", ""},
		{"https://shop.example/?", "https://shop.example/?click_id=", ""},
		{"https://shop.example/p?b=2&a=%20+x&&=&c#f?g&h", "https://shop.example/p?b=2&a=%20+x&&=&c&click_id=", "#f?g&h"},
		{"https://shop.example/p?a=1&click_id=old&b=2", "https://shop.example/p?a=1&click_id=", "&b=2"},
		{"https://shop.example/p?clic%6b_id=old&b&click_id#click_id=x", "https://shop.example/p?click_id=", "&b#click_id=x"},
		{"https://shop.example/p?xclick_id=1&click_id2=2", "https://shop.example/p?xclick_id=1&click_id2=2&click_id=", ""},
		{"https://shop.example/商品?q=茶", "https://shop.example/%e5%95%86%e5%93%81?q=%e8%8c%b6&click_id=", ""},
	} {
		path := "/c/" + f.link(params{"Url": tt.target, "WebsiteId": website}).LinkId
		got := f.follow(path)
		id, found := strings.CutPrefix(got, tt.before)
		id, ended := strings.CutSuffix(id, tt.after)
		if !found || !ended || len(id) != 26 {
			t.Errorf("%s leads to %s", tt.target, got)
		}
		if n := f.number(`SELECT COUNT(*) FROM clicks WHERE id = ?`, id); n != 1 {
			t.Errorf("%s: %d clicks with the id %q", tt.target, n, id)
		}
	}
}

// The host of a target goes out in ASCII.
func TestRedirectToIDN(t *testing.T) {
	f := startBrand(t)
	f.putProgram(network.TestProgram{ID: "5002", Domains: []string{"xn--fiq228c.example"}})
	path := "/c/" + f.link(params{"Url": "https://www.中文.example:81?x=y", "WebsiteId": website}).LinkId
	if got := f.follow(path); !strings.HasPrefix(got, "https://www.xn--fiq228c.example:81?x=y&click_id=") {
		t.Errorf("leads to %s", got)
	}
}

func TestClicks(t *testing.T) {
	f := startBrand(t)
	link := f.link(params{"Url": shopURL, "WebsiteId": website, "SubId": "news"})
	path := "/c/" + link.LinkId
	row := func(id string) []any {
		return f.query(`SELECT CAST(link_id AS TEXT), website_id, program_id, sub_id, at FROM clicks WHERE id = ?`, id)[0]
	}
	own := row(f.click(path))
	if own[0] != link.LinkId || own[1] != website || own[2] != shop || own[3] != "news" || own[4] != epoch.Unix() {
		t.Errorf("click %v", own)
	}
	if got := row(f.click(path + "?sub_id=" + url.QueryEscape("落地页 a/b")))[3]; got != "落地页 a/b" {
		t.Errorf("sub_id %q", got)
	}
	for _, sub := range []string{"", strings.Repeat("x", 256), "%ff", "a%00b"} {
		if got := row(f.click(path + "?sub_id=" + sub))[3]; got != "news" {
			t.Errorf("sub_id %.20s gives %q", sub, got)
		}
	}
	count := f.number(`SELECT COUNT(*) FROM clicks`)
	a := f.do(http.MethodHead, path, nil, "")
	if a.HTTP != http.StatusFound || a.header.Get("Location") != shopURL {
		t.Errorf("HEAD: HTTP %d to %q", a.HTTP, a.header.Get("Location"))
	}
	f.putProgram(network.TestProgram{ID: shop, Status: "closed"})
	if got := f.follow(path); got != shopURL {
		t.Errorf("the program is closed: to %q", got)
	}
	for _, id := range []string{"999999", "x", "-1"} {
		if a := f.do(http.MethodGet, "/c/"+id, nil, ""); a.HTTP != http.StatusNotFound || a.Status != network.StatusNoRoute {
			t.Errorf("link %s: HTTP %d, Status %d", id, a.HTTP, a.Status)
		}
	}
	if n := f.number(`SELECT COUNT(*) FROM clicks`); n != count || count != 6 {
		t.Errorf("%d clicks, then %d, want 6", count, n)
	}
	f.checkStatistics(t, shanghai)
}
