package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/sources/network"
)

var publisherColumns = []column[network.PublisherAccount]{
	{"name", func(p network.PublisherAccount) string { return p.Name }},
	{"websites", func(p network.PublisherAccount) string { return strconv.FormatInt(p.Websites, 10) }},
	{"keys", func(p network.PublisherAccount) string { return strconv.FormatInt(p.Keys, 10) }},
	{"created", func(p network.PublisherAccount) string { return moment(&p.Created) }},
}

var websiteColumns = []column[network.Website]{
	{"website", func(w network.Website) string { return w.ID }},
	{"publisher", func(w network.Website) string { return w.Publisher }},
	{"created", func(w network.Website) string { return moment(&w.Created) }},
}

var brandColumns = []column[network.Brand]{
	{"name", func(b network.Brand) string { return b.Name }},
	{"programs", func(b network.Brand) string { return strconv.FormatInt(b.Programs, 10) }},
	{"keys", func(b network.Brand) string { return strconv.FormatInt(b.Keys, 10) }},
	{"created", func(b network.Brand) string { return moment(&b.Created) }},
}

func (m *manager) publisher() *cobra.Command {
	var websites []string
	add := m.command("add NAME", "Add a publisher", func(ctx context.Context, s *network.Service, args []string) error {
		if err := s.CreatePublisher(ctx, args[0], websites...); err != nil {
			return err
		}
		return m.showWebsites(ctx, s, args[0])
	})
	add.Flags().StringArrayVar(&websites, "website", nil, "WebsiteId that it promotes on")
	list := m.command("list", "List the publishers", func(ctx context.Context, s *network.Service, _ []string) error {
		all, err := s.Publishers(ctx)
		if err != nil {
			return err
		}
		return show(m, all, publisherColumns...)
	})
	of := m.command("websites NAME", "List the websites of a publisher", func(ctx context.Context, s *network.Service, args []string) error {
		return m.showWebsites(ctx, s, args[0])
	})
	return group("publisher", "Manage publishers", add, list, of)
}

func (m *manager) website() *cobra.Command {
	add := m.command("add PUBLISHER WEBSITE...", "Add websites to a publisher", func(ctx context.Context, s *network.Service, args []string) error {
		if err := s.AddWebsites(ctx, args[0], args[1:]...); err != nil {
			return err
		}
		return m.showWebsites(ctx, s, args[0])
	})
	var publisher string
	list := m.command("list", "List websites", func(ctx context.Context, s *network.Service, _ []string) error {
		return m.showWebsites(ctx, s, publisher)
	})
	list.Flags().StringVar(&publisher, "publisher", "", "only those of this publisher")
	return group("website", "Manage the websites of publishers", add, list)
}

func (m *manager) showWebsites(ctx context.Context, s *network.Service, publisher string) error {
	all, err := s.Websites(ctx, publisher)
	if err != nil {
		return err
	}
	return show(m, all, websiteColumns...)
}

// adsKey is what is printed of a new ADS_KEY.
type adsKey struct {
	Brand string `json:"brand"`
	Key   string `json:"ads_key"`
}

var adsKeyColumns = []column[adsKey]{
	{"brand", func(k adsKey) string { return k.Brand }}, {"ads_key", func(k adsKey) string { return k.Key }},
}

func (m *manager) brand() *cobra.Command {
	list := m.command("list", "List the brands", func(ctx context.Context, s *network.Service, _ []string) error {
		all, err := s.Brands(ctx)
		if err != nil {
			return err
		}
		return show(m, all, brandColumns...)
	})
	add := m.brandKey("add NAME", "Add a brand and print its ADS_KEY", (*network.Service).CreateBrand)
	more := m.brandKey("key NAME", "Give a brand a further ADS_KEY and print it", (*network.Service).CreateBrandKey)
	return group("brand", "Manage brands (advertisers)", add, list, more)
}

func (m *manager) brandKey(use, short string, create func(*network.Service, context.Context, string, string) (string, error)) *cobra.Command {
	var key string
	c := m.command(use, short, func(ctx context.Context, s *network.Service, args []string) error {
		made, err := create(s, ctx, args[0], key)
		if err != nil {
			return err
		}
		return showOne(m, adsKey{args[0], made}, adsKeyColumns...)
	})
	c.Flags().StringVar(&key, "ads-key", "", "the key (default: a random one)")
	return c
}
