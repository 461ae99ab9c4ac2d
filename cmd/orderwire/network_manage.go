package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/describe"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/network"
)

// manager runs the subcommands that manage the accounts of a network. Each does
// its work in one transaction, beside a running service or without.
type manager struct {
	*options
	db   *string // the flag --db
	form string
}

func (m *manager) commands() []*cobra.Command {
	return []*cobra.Command{m.publisher(), m.website(), m.key(), m.brand(), m.program(), m.material()}
}

// group is a command that only holds others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short}
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usageError{fmt.Errorf("there is no command %q (see %s --help)", args[0], c.CommandPath())}
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(commands...)
	return c
}

// command is one that works on an open service. The names of its arguments stand
// in use; the last one may repeat with "...".
func (m *manager) command(use, short string, work func(ctx context.Context, s *network.Service, args []string) error) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: exactly(use),
		RunE: func(c *cobra.Command, args []string) error { return m.run(c.Context(), c.Name() == "add", args, work) },
	}
	outputFlag(c, &m.form, "table", "json")
	return c
}

// exactly wants as many arguments as a use names.
func exactly(use string) cobra.PositionalArgs {
	names := strings.Fields(use)[1:]
	return func(c *cobra.Command, args []string) error {
		repeats := len(names) > 0 && strings.HasSuffix(names[len(names)-1], "...")
		if len(args) == len(names) || repeats && len(args) > len(names) {
			return nil
		}
		if len(names) == 0 {
			return noArgs(c, args)
		}
		return usageError{fmt.Errorf("%s wants %s (see %s --help)", c.Name(), strings.Join(names, " "), c.CommandPath())}
	}
}

// run opens the service for a piece of work. Only what adds something makes a
// file that is not there.
func (m *manager) run(ctx context.Context, adds bool, args []string, work func(context.Context, *network.Service, []string) error) (err error) {
	db, err := databaseOf(*m.db)
	if err != nil {
		return err
	}
	if !adds && !databaseExists(db) {
		return usageError{fmt.Errorf("--db: there is no file %s", db)}
	}
	service, err := network.Open(ctx, network.Config{DB: db, Logger: m.logger()})
	if err != nil {
		return usage(err)
	}
	defer func() { err = errors.Join(err, service.Close()) }()
	return usage(work(ctx, service, args))
}

// databaseOf resolves --db, which may be a secret, as it may hold a password.
func databaseOf(flag string) (string, error) {
	var db config.Secret
	if err := db.UnmarshalText([]byte(flag)); err != nil {
		return "", usageError{fmt.Errorf("--db: %w", err)}
	}
	return string(db), nil
}

// databaseExists is true for a server.
func databaseExists(db string) bool {
	if strings.Contains(db, "://") {
		return true
	}
	_, err := os.Stat(db)
	return !errors.Is(err, os.ErrNotExist)
}

// usage marks what is wrong in the arguments.
func usage(err error) error {
	var field *network.ConfigError
	var param *schema.ParamError
	if errors.As(err, &field) || errors.As(err, &param) {
		return usageError{err}
	}
	return err
}

// column is one of a table.
type column[T any] struct {
	name string
	cell func(T) string
}

// show prints a list: a table for people, or a JSON array.
func show[T any](m *manager, all []T, columns ...column[T]) error {
	if m.form == "json" {
		if all == nil {
			all = []T{}
		}
		return m.json(all)
	}
	out := tabwriter.NewWriter(m.out, 0, 4, 2, ' ', 0)
	for _, c := range columns {
		fmt.Fprintf(out, "%s\t", c.name)
	}
	fmt.Fprintln(out)
	for _, one := range all {
		for _, c := range columns {
			fmt.Fprintf(out, "%s\t", describe.OrNone(c.cell(one)))
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}

// showOne prints one thing: a table of one row, or a JSON object.
func showOne[T any](m *manager, one T, columns ...column[T]) error {
	if m.form == "json" {
		return m.json(one)
	}
	return show(m, []T{one}, columns...)
}

func (m *manager) json(v any) error {
	return printJSON(m.out, v)
}

// moment shows a time, "" for none.
func moment(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Format(time.RFC3339)
}
