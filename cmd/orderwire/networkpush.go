package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/sources/network"
)

// failuresShown is how many given up pushes `push list` shows.
const failuresShown = 100

// pushCommand is what the subcommands of `orderwire network push` work on.
type pushCommand struct {
	*options
	db           *string // the flag --db
	appKey       string
	allowPrivate bool
}

func newNetworkPush(o *options, db *string) *cobra.Command {
	p := &pushCommand{options: o, db: db}
	c := &cobra.Command{
		Use:   "push",
		Short: "Where publishers are told about their orders",
		Long: `A publisher that has an address is told there, by one signed request for each
order, that the order was created, confirmed, approved or found invalid: POST with
the order resource without its lines, AppKey, Timestamp and Sign, which is computed
over the path of the address. The receiver answers 1 or 0 for received and -1 for not.
A push that is not received is sent again three times, 30 s apart.

"orderwire network" sends them; these commands work on its database beside it.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(p.newSet(), p.newList(), p.newTest(), p.newRemove())
	return c
}

func (p *pushCommand) newSet() *cobra.Command {
	var address string
	c := &cobra.Command{
		Use:   "set --app-key K --url URL",
		Short: "Give a publisher an address, in place of an earlier one, and send a test push there",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.with(c.Context(), func(ctx context.Context, s *network.Service) error {
				if err := s.SetPushTarget(ctx, p.appKey, address); err != nil {
					return usageError{err}
				}
				if err := p.test(ctx, s); err != nil {
					return fmt.Errorf("the address is stored, but %w", err)
				}
				return nil
			})
		},
	}
	p.keyFlag(c)
	p.privateFlag(c)
	c.Flags().StringVar(&address, "url", "", "address, https://host/path")
	return c
}

func (p *pushCommand) newTest() *cobra.Command {
	c := &cobra.Command{
		Use:   "test --app-key K",
		Short: "Send a test push to a publisher's address",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return p.with(c.Context(), p.test) },
	}
	p.keyFlag(c)
	p.privateFlag(c)
	return c
}

func (p *pushCommand) newRemove() *cobra.Command {
	c := &cobra.Command{
		Use:   "remove --app-key K",
		Short: "Take a publisher's address away, with the pushes that wait",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.with(c.Context(), func(ctx context.Context, s *network.Service) error { return s.RemovePushTarget(ctx, p.appKey) })
		},
	}
	p.keyFlag(c)
	return c
}

func (p *pushCommand) newList() *cobra.Command {
	var form string
	c := &cobra.Command{
		Use:   "list",
		Short: "List the addresses, what waits, and the pushes that were given up",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.with(c.Context(), func(ctx context.Context, s *network.Service) error { return p.list(ctx, s, form) })
		},
	}
	outputFlag(c, &form, "text", "json")
	return c
}

func (p *pushCommand) keyFlag(c *cobra.Command) {
	c.Flags().StringVar(&p.appKey, "app-key", "", "App Key of the publisher, which signs")
	_ = c.MarkFlagRequired("app-key")
}

func (p *pushCommand) privateFlag(c *cobra.Command) {
	c.Flags().BoolVar(&p.allowPrivate, "allow-private", false, "let the test push go to a private or loopback address")
}

// with opens the database for a command.
func (p *pushCommand) with(ctx context.Context, do func(context.Context, *network.Service) error) (err error) {
	db, err := databaseOf(*p.db)
	if err != nil {
		return err
	}
	if !databaseExists(db) {
		return usageError{errors.New("--db: there is no such file")}
	}
	s, err := network.Open(ctx, network.Config{DB: db})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return do(ctx, s)
}

func (p *pushCommand) test(ctx context.Context, s *network.Service) error {
	pusher, err := s.Pusher(network.PusherConfig{AllowPrivate: p.allowPrivate})
	if err != nil {
		return err
	}
	err = pusher.Test(ctx, p.appKey)
	switch {
	case errors.Is(err, network.ErrPushAddress):
		return fmt.Errorf("the test push was not sent: %w (give --allow-private for a receiver in your own network)", err)
	case err != nil:
		return fmt.Errorf("the test push was not received: %w", err)
	}
	fmt.Fprintln(p.out, "the test push was received")
	return nil
}

// pushListing is the JSON of `push list`.
type pushListing struct {
	Targets  []network.PushTarget  `json:"targets"`
	Failures []network.PushFailure `json:"given_up"` // newest first
}

func (p *pushCommand) list(ctx context.Context, s *network.Service, form string) error {
	var l pushListing
	var err error
	if l.Targets, err = s.PushTargets(ctx); err != nil {
		return err
	}
	if l.Failures, err = s.PushFailures(ctx, failuresShown); err != nil {
		return err
	}
	if form == "json" {
		return json.NewEncoder(p.out).Encode(l)
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PUBLISHER\tAPP KEY\tURL\tWAITING\tGIVEN UP")
	for _, t := range l.Targets {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\n", t.Publisher, t.AppKey, t.URL, t.Waiting, t.GivenUp)
	}
	if len(l.Failures) > 0 {
		fmt.Fprintln(w, "\nGIVEN UP\tAPP KEY\tPROGRAM\tORDER\tEVENT\tATTEMPTS\tREASON")
	}
	for _, f := range l.Failures {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", f.At.Local().Format(time.DateTime), f.AppKey, printable(f.ProgramID), printable(f.OrderSn), f.Event, f.Attempts, f.Reason)
	}
	return w.Flush()
}

// printable keeps from a terminal what it would act on.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '·'
	}, s)
}
