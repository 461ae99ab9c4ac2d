package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// newWebhook is the parent of what can be asked and done about endpoints.
func newWebhook(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "webhook",
		Short: "Look after the webhook endpoints",
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usageError{fmt.Errorf("there is no command %q (see %s --help)", args[0], c.CommandPath())}
		}
		return nil
	}
	c.AddCommand(newWebhookAttempts(o))
	return c
}
