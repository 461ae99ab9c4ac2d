package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/sources/network"
)

var programColumns = []column[network.Program]{
	{"program", func(p network.Program) string { return p.ID }},
	{"brand", func(p network.Program) string { return p.Brand }},
	{"name", func(p network.Program) string { return p.Name }},
	{"status", func(p network.Program) string { return p.Status }},
	{"domains", func(p network.Program) string { return strings.Join(p.Domains, ",") }},
	{"currency", func(p network.Program) string { return p.Currency }},
	{"charge_currency", func(p network.Program) string { return p.ChargeCurrency }},
	{"exchange_rate", func(p network.Program) string { return p.ExchangeRate.String() }},
	{"click_days", func(p network.Program) string { return strconv.FormatInt(p.ClickDays, 10) }},
	{"category", func(p network.Program) string { return p.Category }},
}

var rateColumns = []column[network.Rate]{
	{"category", func(r network.Rate) string { return r.Category }}, {"rate", func(r network.Rate) string { return r.Value }},
}

func (m *manager) program() *cobra.Command {
	return group("program", "Manage the programs of brands", m.addProgram(), m.listPrograms(), m.setProgram(),
		m.switchProgram("close ID", "Take no more links and orders for a program", network.ProgramClosed),
		m.switchProgram("open ID", "Open a program again", network.ProgramOpen),
		m.rates())
}

// programFlags are the fields of a program. Those that were not given stay.
type programFlags struct {
	given network.Program
	rate  string // exchange rate
}

func (f *programFlags) register(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.given.Name, "name", "", "name")
	fl.StringArrayVar(&f.given.Domains, "domain", nil, "domain that links may lead to, with its subdomains; give it again for more")
	fl.StringVar(&f.given.Currency, "currency", "", "currency of the estimates: CNY (default) or USD")
	fl.StringVar(&f.given.ChargeCurrency, "charge-currency", "", "currency of the confirmed amounts (default: the same)")
	fl.StringVar(&f.rate, "exchange-rate", "", "amount in the charge currency for 1 in the currency")
	fl.Int64Var(&f.given.ClickDays, "click-days", 0, "how many days a click is good for an order (default 30)")
	fl.StringVar(&f.given.Description, "description", "", "description")
	fl.StringVar(&f.given.Category, "category", "", "category")
}

// parse reads the exchange rate.
func (f *programFlags) parse() error {
	if f.rate == "" {
		return nil
	}
	rate, err := decimal.NewFromString(f.rate)
	if err != nil || strings.ContainsAny(f.rate, "eE") || len(f.rate) > 20 {
		return usageError{fmt.Errorf("--exchange-rate: %.20q is no number; write it like 7.12", f.rate)}
	}
	f.given.ExchangeRate = rate
	return nil
}

// apply sets the fields whose flags were given.
func (f *programFlags) apply(c *cobra.Command, p *network.Program) {
	for flag, set := range map[string]func(){
		"name":            func() { p.Name = f.given.Name },
		"domain":          func() { p.Domains = f.given.Domains },
		"currency":        func() { p.Currency = f.given.Currency },
		"charge-currency": func() { p.ChargeCurrency = f.given.ChargeCurrency },
		"exchange-rate":   func() { p.ExchangeRate = f.given.ExchangeRate },
		"click-days":      func() { p.ClickDays = f.given.ClickDays },
		"description":     func() { p.Description = f.given.Description },
		"category":        func() { p.Category = f.given.Category },
	} {
		if c.Flags().Changed(flag) {
			set()
		}
	}
}

func (m *manager) addProgram() *cobra.Command {
	var f programFlags
	var rate string
	c := m.command("add", "Add a program to a brand", func(ctx context.Context, s *network.Service, _ []string) error {
		if err := f.parse(); err != nil {
			return err
		}
		var rates []network.Rate
		if rate != "" {
			rates = append(rates, network.Rate{Value: rate})
		}
		made, err := s.CreateProgram(ctx, f.given, rates...)
		if err != nil {
			return err
		}
		return showOne(m, made, programColumns...)
	})
	f.register(c)
	c.Flags().StringVar(&f.given.Brand, "brand", "", "name of the brand")
	c.Flags().StringVar(&f.given.ID, "id", "", "ProgramId (default: a number)")
	c.Flags().StringVar(&rate, "rate", "", "commission of all categories: 7.5% of the amount, or 3.00 for each item (default none)")
	c.Example = `  orderwire network program add --brand "Kettle World" --name Kettles --domain kettle.example --rate 7.5%`
	return c
}

func (m *manager) setProgram() *cobra.Command {
	var f programFlags
	var c *cobra.Command
	c = m.command("set ID", "Change fields of a program", func(ctx context.Context, s *network.Service, args []string) error {
		if err := f.parse(); err != nil {
			return err
		}
		return m.editProgram(ctx, s, args[0], func(p *network.Program) { f.apply(c, p) })
	})
	f.register(c)
	return c
}

func (m *manager) switchProgram(use, short, status string) *cobra.Command {
	return m.command(use, short, func(ctx context.Context, s *network.Service, args []string) error {
		return m.editProgram(ctx, s, args[0], func(p *network.Program) { p.Status = status })
	})
}

func (m *manager) editProgram(ctx context.Context, s *network.Service, id string, edit func(*network.Program)) error {
	p, err := s.SetProgram(ctx, id, edit)
	if err != nil {
		return err
	}
	return showOne(m, p, programColumns...)
}

func (m *manager) listPrograms() *cobra.Command {
	var brand string
	c := m.command("list", "List programs", func(ctx context.Context, s *network.Service, _ []string) error {
		all, err := s.Programs(ctx, brand)
		if err != nil {
			return err
		}
		return show(m, all, programColumns...)
	})
	c.Flags().StringVar(&brand, "brand", "", "only those of this brand")
	return c
}

func (m *manager) rates() *cobra.Command {
	var category string
	const help = "CateId of the order lines (default: all that have no rate of their own)"
	set := m.command("set PROGRAM RATE", "Set the commission of a category", func(ctx context.Context, s *network.Service, args []string) error {
		if err := s.SetRate(ctx, args[0], network.Rate{Category: category, Value: args[1]}); err != nil {
			return err
		}
		return m.showRates(ctx, s, args)
	})
	remove := m.command("remove PROGRAM", "Remove the rate of a category", func(ctx context.Context, s *network.Service, args []string) error {
		if err := s.RemoveRate(ctx, args[0], category); err != nil {
			return err
		}
		return m.showRates(ctx, s, args)
	})
	set.Flags().StringVar(&category, "category", "", help)
	remove.Flags().StringVar(&category, "category", "", help)
	c := group("rate", "Manage the commission of a program", set, remove, m.command("list PROGRAM", "List the rates", m.showRates))
	c.Long = `A rate is a share of an order line's amount, 7.5%, or an amount for each item in the
program's currency, 3.00. Orders that are there keep their commission.`
	return c
}

func (m *manager) showRates(ctx context.Context, s *network.Service, args []string) error {
	all, err := s.Rates(ctx, args[0])
	if err != nil {
		return err
	}
	return show(m, all, rateColumns...)
}
