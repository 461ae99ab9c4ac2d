package network_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/orderwire/orderwire/sources/network"
)

// program is one of a brand of its own.
func (f *fixture) program(p network.Program) network.Program {
	f.tb.Helper()
	if _, err := f.svc.CreateBrand(context.Background(), p.Brand, ""); err != nil && !errors.Is(err, network.ErrTaken) {
		f.tb.Fatal(err)
	}
	made, err := f.svc.CreateProgram(context.Background(), p)
	if err != nil {
		f.tb.Fatal(err)
	}
	return made
}

func TestManagePublishers(t *testing.T) {
	f := open(t, nil)
	ctx := t.Context()
	if err := f.svc.CreatePublisher(ctx, "Blog 7", "b-1", "b-2"); err != nil {
		t.Fatal(err)
	}
	if err := f.svc.AddWebsites(ctx, "Blog 7", "b-2", "b-3"); err != nil {
		t.Fatal(err)
	}
	all, err := f.svc.Publishers(ctx)
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	if p := all[1]; p.Name != "Blog 7" || p.Websites != 3 || p.Keys != 0 || p.ID == 0 || !p.Created.Equal(epoch) {
		t.Errorf("%+v", p)
	}
	if p := all[0]; p.Name != appKey || p.Websites != 2 || p.Keys != 1 {
		t.Errorf("%+v", p)
	}
	for publisher, want := range map[string]string{"Blog 7": "b-1 b-2 b-3", "": "1026 1027 b-1 b-2 b-3"} {
		var ids []string
		websites, err := f.svc.Websites(ctx, publisher)
		for _, w := range websites {
			ids = append(ids, w.ID)
		}
		if got := strings.Join(ids, " "); got != want || err != nil {
			t.Errorf("websites of %q: %s, %v, want %s", publisher, got, err, want)
		}
	}
	_, unknown := f.svc.Websites(ctx, "nobody")
	f.wants(map[string]outcome{
		"name twice":           {f.svc.CreatePublisher(ctx, "Blog 7"), "", network.ErrTaken},
		"website of another":   {f.svc.AddWebsites(ctx, "Blog 7", website), "", network.ErrTaken},
		"unknown publisher":    {f.svc.AddWebsites(ctx, "nobody", "x"), "", network.ErrNotFound},
		"websites of nobody":   {unknown, "", network.ErrNotFound},
		"no name":              {f.svc.CreatePublisher(ctx, ""), "Name", nil},
		"long name":            {f.svc.CreatePublisher(ctx, strings.Repeat("名", 256)), "Name", nil},
		"name with U+0000":     {f.svc.CreatePublisher(ctx, "a\x00"), "Name", nil},
		"no website":           {f.svc.AddWebsites(ctx, "Blog 7"), "Websites", nil},
		"empty website":        {f.svc.AddWebsites(ctx, "Blog 7", ""), "Websites", nil},
		"website is no UTF-8":  {f.svc.AddWebsites(ctx, "Blog 7", "\xff"), "Websites", nil},
		"new, website refused": {f.svc.CreatePublisher(ctx, "new", website), "", network.ErrTaken},
	})
	if n := f.number(`SELECT COUNT(*) FROM publishers`); n != 2 {
		t.Errorf("%d publishers after refusals, want 2", n)
	}
}

// outcome is an error and what it should be: of a field, or one that is wrapped.
type outcome struct {
	err   error
	field string
	wraps error
}

func (f *fixture) wants(all map[string]outcome) {
	f.tb.Helper()
	for name, o := range all {
		var config *network.ConfigError
		switch {
		case o.wraps != nil && !errors.Is(o.err, o.wraps):
			f.tb.Errorf("%s: %v, want %v", name, o.err, o.wraps)
		case o.field != "" && (!errors.As(o.err, &config) || config.Field != o.field):
			f.tb.Errorf("%s: %v, want a *ConfigError of %s", name, o.err, o.field)
		}
	}
}

func TestManageBrands(t *testing.T) {
	f := start(t, nil)
	ctx := t.Context()
	key, err := f.svc.CreateBrand(ctx, "Kettle World", "")
	if err != nil || len(key) != 16 {
		t.Fatalf("key of %d characters, %v", len(key), err)
	}
	second, err := f.svc.CreateBrandKey(ctx, "Kettle World", "ads-2")
	if err != nil || second != "ads-2" {
		t.Fatalf("%q, %v", second, err)
	}
	brands, err := f.svc.Brands(ctx)
	if err != nil || len(brands) != 1 || brands[0].Name != "Kettle World" || brands[0].Keys != 2 || brands[0].Programs != 0 {
		t.Errorf("%+v, %v", brands, err)
	}
	for _, k := range []string{key, second} {
		if a := f.post("/"+k+"/svc.none", []byte(`{}`)); a.Status != network.StatusNoService {
			t.Errorf("a call with an ADS_KEY: Status %d: %s", a.Status, a.Message)
		}
	}
	refused := func(_ string, err error) error { return err }
	f.wants(map[string]outcome{
		"name twice":         {refused(f.svc.CreateBrand(ctx, "Kettle World", "")), "", network.ErrTaken},
		"key of a publisher": {refused(f.svc.CreateBrandKey(ctx, "Kettle World", appKey)), "", network.ErrTaken},
		"unknown brand":      {refused(f.svc.CreateBrandKey(ctx, "nobody", "")), "", network.ErrNotFound},
		"no name":            {refused(f.svc.CreateBrand(ctx, "", "")), "Name", nil},
		"slash in the key":   {refused(f.svc.CreateBrand(ctx, "x", "a/b")), "AdsKey", nil},
	})
}

func TestManagePrograms(t *testing.T) {
	f := open(t, nil)
	ctx := t.Context()
	made := f.program(network.Program{Brand: "Kettle World", Name: "Kettles", Domains: []string{"kettle.example", "b.example", "kettle.example"}})
	if made.ID == "" || made.Currency != "CNY" || made.ChargeCurrency != "CNY" || made.ExchangeRate.String() != "1" ||
		made.ClickDays != 30 || made.Status != network.ProgramOpen || !slices.Equal(made.Domains, []string{"b.example", "kettle.example"}) {
		t.Errorf("%+v", made)
	}
	rate := decimal.RequireFromString("7.12")
	dollar := f.program(network.Program{
		ID: "usd", Brand: "Kettle World", Name: "In dollars", Domains: []string{"usd.example"}, Currency: "USD", ChargeCurrency: "CNY",
		ExchangeRate: rate, ClickDays: 7, Category: "Home", Description: "All that boils",
	})
	set, err := f.svc.SetProgram(ctx, made.ID, func(p *network.Program) {
		p.ID, p.Brand, p.Name, p.Domains, p.Status = "other", "other", "Pots", []string{"pots.example"}, network.ProgramClosed
	})
	if err != nil || set.ID != made.ID || set.Brand != "Kettle World" || set.Name != "Pots" || set.Status != network.ProgramClosed {
		t.Errorf("%+v, %v", set, err)
	}
	for brand, want := range map[string]int{"Kettle World": 2, "": 2} {
		all, err := f.svc.Programs(ctx, brand)
		if err != nil || len(all) != want {
			t.Fatalf("%q: %+v, %v", brand, all, err)
		}
		if got := all[0]; got.Name != "Pots" || !slices.Equal(got.Domains, []string{"pots.example"}) {
			t.Errorf("%+v", got)
		}
		if got := all[1]; got.ID != "usd" || !got.ExchangeRate.Equal(rate) || got.ClickDays != 7 || got.Description != dollar.Description || got.Category != "Home" {
			t.Errorf("%+v", got)
		}
	}
}

func TestManageRefusesPrograms(t *testing.T) {
	f := open(t, nil)
	ctx := t.Context()
	good := network.Program{ID: "1", Brand: "B", Name: "P", Domains: []string{"a.example"}}
	f.program(good)
	create := func(edit func(*network.Program)) error {
		p := good
		p.ID = ""
		edit(&p)
		_, err := f.svc.CreateProgram(ctx, p)
		return err
	}
	set := func(id string, edit func(*network.Program)) error {
		_, err := f.svc.SetProgram(ctx, id, edit)
		return err
	}
	_, unknownBrand := f.svc.Programs(ctx, "nobody")
	all := map[string]outcome{
		"id twice":          {create(func(p *network.Program) { p.ID = "1" }), "", network.ErrTaken},
		"unknown brand":     {create(func(p *network.Program) { p.Brand = "nobody" }), "", network.ErrNotFound},
		"programs of none":  {unknownBrand, "", network.ErrNotFound},
		"no brand":          {create(func(p *network.Program) { p.Brand = "" }), "Brand", nil},
		"no name":           {create(func(p *network.Program) { p.Name = "" }), "Name", nil},
		"no domain":         {create(func(p *network.Program) { p.Domains = nil }), "Domains", nil},
		"currency":          {create(func(p *network.Program) { p.Currency = "EUR" }), "Currency", nil},
		"charge currency":   {create(func(p *network.Program) { p.ChargeCurrency = "usd" }), "ChargeCurrency", nil},
		"no exchange rate":  {create(func(p *network.Program) { p.ChargeCurrency = "USD" }), "ExchangeRate", nil},
		"rate of one":       {create(func(p *network.Program) { p.ExchangeRate = decimal.NewFromInt(2) }), "ExchangeRate", nil},
		"click days":        {create(func(p *network.Program) { p.ClickDays = 366 }), "ClickDays", nil},
		"status":            {create(func(p *network.Program) { p.Status = "paused" }), "Status", nil},
		"long description":  {create(func(p *network.Program) { p.Description = strings.Repeat("x", 2001) }), "Description", nil},
		"set: unknown":      {set("2", func(*network.Program) {}), "", network.ErrNotFound},
		"set: empty name":   {set("1", func(p *network.Program) { p.Name = "" }), "Name", nil},
		"set: no rate":      {set("1", func(p *network.Program) { p.ChargeCurrency = "USD" }), "ExchangeRate", nil},
		"unknown for rates": {f.svc.SetRate(ctx, "2", network.Rate{Value: "1%"}), "", network.ErrNotFound},
	}
	for _, domain := range []string{"https://a.example", "a.example/path", "A.example", "商品.example", "", ".a", "a..b", "-a.b", "a b", strings.Repeat("a", 64)} {
		all["domain "+domain] = outcome{create(func(p *network.Program) { p.Domains = []string{domain} }), "Domains", nil}
	}
	f.wants(all)
	f.simulator(network.SimulatorConfig{Seed: 1}, 40)
	f.wants(map[string]outcome{
		"currency with orders": {set("1042", func(p *network.Program) { p.Currency = "USD" }), "Currency", nil},
	})
	if p, err := f.svc.SetProgram(ctx, "1042", func(p *network.Program) { p.Domains = []string{"a.example"} }); err != nil || p.Brand != "" {
		t.Errorf("a program of the simulation: %+v, %v", p, err)
	}
}

func TestManageRates(t *testing.T) {
	f := open(t, nil)
	ctx := t.Context()
	asked := network.Program{Brand: "B", Name: "P", Domains: []string{"a.example"}}
	f.program(asked)
	made, err := f.svc.CreateProgram(ctx, asked, network.Rate{Value: "5%"}, network.Rate{Category: "x", Value: "2"})
	if err != nil {
		t.Fatal(err)
	}
	id := made.ID
	if rates, err := f.svc.Rates(ctx, id); err != nil || !slices.Equal(rates, []network.Rate{{"", "5.00%"}, {"x", "2.00"}}) {
		t.Errorf("%+v, %v", rates, err)
	}
	_, refused := f.svc.CreateProgram(ctx, asked, network.Rate{Value: "5%"}, network.Rate{Category: "x", Value: "2 %"})
	if n := f.number(`SELECT COUNT(*) FROM programs`); n != 2 {
		t.Errorf("%d programs, want 2", n)
	}
	for _, r := range []network.Rate{{"", "7.5%"}, {"1024", "3"}, {"书", "0.01"}, {"", "100%"}, {"x", "0%"}} {
		if err := f.svc.SetRate(ctx, id, r); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if err := f.svc.RemoveRate(ctx, id, "x"); err != nil {
		t.Error(err)
	}
	got, err := f.svc.Rates(ctx, id)
	if want := []network.Rate{{"", "100.00%"}, {"1024", "3.00"}, {"书", "0.01"}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if n := f.number(`SELECT value FROM commission_rates WHERE category = ''`); n != 10_000 {
		t.Errorf("100 %% is stored as %d", n)
	}
	_, unknown := f.svc.Rates(ctx, "none")
	all := map[string]outcome{
		"with a program":  {refused, "Rate", nil},
		"removed twice":   {f.svc.RemoveRate(ctx, id, "x"), "", network.ErrNotFound},
		"unknown program": {f.svc.RemoveRate(ctx, "none", ""), "", network.ErrNotFound},
		"rates of none":   {unknown, "", network.ErrNotFound},
		"long category":   {f.svc.SetRate(ctx, id, network.Rate{Category: strings.Repeat("x", 256), Value: "1"}), "Category", nil},
	}
	for _, value := range []string{"", "%", "-1", "100.01%", "1.234", "1e2", "7,5%", "123456789", "5 %", "five"} {
		all["rate "+value] = outcome{f.svc.SetRate(ctx, id, network.Rate{Value: value}), "Rate", nil}
	}
	f.wants(all)
}

func TestManageMaterials(t *testing.T) {
	f := open(t, nil)
	ctx := t.Context()
	program := f.program(network.Program{Brand: "B", Name: "P", Domains: []string{"a.example"}}).ID
	starts, ends := epoch, epoch.Add(time.Hour)
	banner := network.Material{
		Program: program, Kind: "banner", Title: "Kettles", Body: "https://img.example/1.png", Target: "https://www.A.example/x?y=1",
		Width: 300, Height: 250, Starts: &starts, Ends: &ends,
	}
	id, err := f.svc.CreateMaterial(ctx, banner)
	if err != nil {
		t.Fatal(err)
	}
	text, err := f.svc.CreateMaterial(ctx, network.Material{Program: program, Kind: "text", Title: "T", Body: "Hot water", Target: "http://a.example"})
	if err != nil || text == id {
		t.Fatalf("%q, %v", text, err)
	}
	all, err := f.svc.Materials(ctx, program)
	if err != nil || len(all) != 2 || all[1].Starts != nil || all[1].Ends != nil {
		t.Fatalf("%+v, %v", all, err)
	}
	if m := all[0]; m.ID != id || m.Body != banner.Body || m.Target != banner.Target || m.Width != 300 || m.Height != 250 || !m.Starts.Equal(starts) || !m.Ends.Equal(ends) {
		t.Errorf("%+v", m)
	}
	if err := f.svc.RemoveMaterial(ctx, text); err != nil {
		t.Error(err)
	}
	if left, err := f.svc.Materials(ctx, ""); err != nil || len(left) != 1 {
		t.Errorf("%+v, %v", left, err)
	}
	create := func(edit func(*network.Material)) error {
		m := banner
		edit(&m)
		_, err := f.svc.CreateMaterial(ctx, m)
		return err
	}
	_, unknown := f.svc.Materials(ctx, "none")
	f.wants(map[string]outcome{
		"removed twice":       {f.svc.RemoveMaterial(ctx, text), "", network.ErrNotFound},
		"unknown program":     {create(func(m *network.Material) { m.Program = "none" }), "", network.ErrNotFound},
		"materials of none":   {unknown, "", network.ErrNotFound},
		"kind":                {create(func(m *network.Material) { m.Kind = "video" }), "Kind", nil},
		"title":               {create(func(m *network.Material) { m.Title = "" }), "Title", nil},
		"no body":             {create(func(m *network.Material) { m.Body = "" }), "Body", nil},
		"picture":             {create(func(m *network.Material) { m.Body = "1.png" }), "Body", nil},
		"target":              {create(func(m *network.Material) { m.Target = "javascript:alert(1)" }), "Target", nil},
		"target elsewhere":    {create(func(m *network.Material) { m.Target = "https://b.example/" }), "Target", nil},
		"a domain's ending":   {create(func(m *network.Material) { m.Target = "https://nota.example/" }), "Target", nil},
		"negative width":      {create(func(m *network.Material) { m.Width = -1 }), "Width", nil},
		"ends before it does": {create(func(m *network.Material) { m.Ends = &starts }), "Ends", nil},
	})
}
