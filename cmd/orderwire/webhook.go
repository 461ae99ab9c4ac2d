package main

import "github.com/spf13/cobra"

func newWebhook(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "webhook",
		Short: "Manage the endpoints that get events by HTTP",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newWebhookOwed(o))
	return c
}
