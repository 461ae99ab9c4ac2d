package main

import (
	"github.com/spf13/cobra"
)

// newWebhook is the parent of the commands about endpoints.
func newWebhook(o *options) *cobra.Command {
	c := &cobra.Command{Use: "webhook", Short: "Look after the endpoints that get webhooks", Args: noArgs}
	c.AddCommand(newWebhookReplay(o))
	return c
}
