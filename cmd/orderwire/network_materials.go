package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/sources/network"
)

var materialColumns = []column[network.Material]{
	{"material", func(m network.Material) string { return m.ID }},
	{"program", func(m network.Material) string { return m.Program }},
	{"kind", func(m network.Material) string { return m.Kind }},
	{"title", func(m network.Material) string { return m.Title }},
	{"size", func(m network.Material) string { return fmt.Sprintf("%dx%d", m.Width, m.Height) }},
	{"target", func(m network.Material) string { return m.Target }},
	{"starts", func(m network.Material) string { return moment(m.Starts) }},
	{"ends", func(m network.Material) string { return moment(m.Ends) }},
}

func (m *manager) material() *cobra.Command {
	var program string
	list := m.command("list", "List materials", func(ctx context.Context, s *network.Service, _ []string) error {
		return m.showMaterials(ctx, s, program)
	})
	list.Flags().StringVar(&program, "program", "", "only those of this program")
	remove := m.command("remove ID", "Remove a material", func(ctx context.Context, s *network.Service, args []string) error {
		if err := s.RemoveMaterial(ctx, args[0]); err != nil {
			return err
		}
		return m.showMaterials(ctx, s, "")
	})
	return group("material", "Manage promotional materials", m.addMaterial(), list, remove)
}

func (m *manager) addMaterial() *cobra.Command {
	var given network.Material
	var starts, ends string
	c := m.command("add PROGRAM", "Add a material to a program", func(ctx context.Context, s *network.Service, args []string) (err error) {
		given.Program = args[0]
		if given.Starts, err = instant("starts", starts); err != nil {
			return err
		}
		if given.Ends, err = instant("ends", ends); err != nil {
			return err
		}
		if given.ID, err = s.CreateMaterial(ctx, given); err != nil {
			return err
		}
		return showOne(m, given, materialColumns...)
	})
	fl := c.Flags()
	fl.StringVar(&given.Kind, "kind", "", "banner, text or coupon")
	fl.StringVar(&given.Title, "title", "", "title")
	fl.StringVar(&given.Body, "body", "", "address of the banner's picture, the text, or the coupon's code")
	fl.StringVar(&given.Target, "target", "", "address that it advertises, within the program's domains")
	fl.Int64Var(&given.Width, "width", 0, "width in pixels")
	fl.Int64Var(&given.Height, "height", 0, "height in pixels")
	fl.StringVar(&starts, "starts", "", "when it may be shown first, like 2026-11-01T00:00:00+08:00 (default: always)")
	fl.StringVar(&ends, "ends", "", "when it may be shown no more (default: never)")
	return c
}

// instant reads a time, nil for none.
func instant(flag, text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil, usageError{fmt.Errorf("--%s: %.40q is no time; write it like 2026-11-01T00:00:00+08:00", flag, text)}
	}
	return &t, nil
}

func (m *manager) showMaterials(ctx context.Context, s *network.Service, program string) error {
	all, err := s.Materials(ctx, program)
	if err != nil {
		return err
	}
	return show(m, all, materialColumns...)
}
