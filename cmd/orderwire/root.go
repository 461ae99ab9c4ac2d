package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
)

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the command could not do its work
	exitUsage  = 2 // wrong arguments or configuration
)

// stdio is what a command reads and writes.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// usageError is a mistake in the arguments.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// options are the flags that all commands have.
type options struct {
	stdio
	verbose bool
}

// logger writes to standard error, which leaves standard output to results.
func (o *options) logger() *slog.Logger {
	level := slog.LevelInfo
	if o.verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(o.err, &slog.HandlerOptions{Level: level}))
}

// run executes a command line and returns the exit code.
func run(args []string, std stdio) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	cmd := newRoot(std)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintln(std.err, "orderwire:", line)
	}
	return exitCode(err)
}

func exitCode(err error) int {
	var usage usageError
	var mistake *config.Error
	if errors.As(err, &usage) || errors.As(err, &mistake) {
		return exitUsage
	}
	return exitFailed
}

func newRoot(std stdio) *cobra.Command {
	o := &options{stdio: std}
	root := &cobra.Command{
		Use:   "orderwire",
		Short: "The order log of an affiliate network: every state change, once",
		Long: `Orderwire polls the orders of an affiliate network through its signed API, finds
what changed, and publishes each change once as an event (order.created,
status.changed, order.updated) to a log on NATS JetStream. From the log it writes
a Parquet archive, sends signed webhooks and keeps commission sums; your own
services can subscribe as well.

Begin with:   orderwire demo
Then:         orderwire check -c orderwire.yaml
              orderwire run   -c orderwire.yaml`,
		SilenceUsage: true, SilenceErrors: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w (see %s --help)", err, c.CommandPath())}
	})
	root.PersistentFlags().BoolVarP(&o.verbose, "verbose", "v", false, "log more")
	root.AddCommand(newDemo(o), newRun(o), newNetwork(o), newCheck(o), newEvents(o), newReport(o), newStatus(o), newVerify(o), newReconcile(o), newReplay(o), newArchive(o), newWebhook(o), newSign(o))
	root.Args = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usageError{fmt.Errorf("there is no command %q (see orderwire --help)", args[0])}
		}
		return nil
	}
	root.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	return root
}

// noArgs refuses arguments that are no flags.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%s takes no argument %q (see %s --help)", c.Name(), args[0], c.CommandPath())}
	}
	return nil
}

// configFlag adds the flag that names the configuration file.
func configFlag(c *cobra.Command, file *string) {
	c.Flags().StringVarP(file, "config", "c", "orderwire.yaml", "configuration file")
}

// printJSON writes an answer for a program to read.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// outputFlag adds the flag that chooses a form of output, the first by default.
func outputFlag(c *cobra.Command, form *string, forms ...string) {
	c.Flags().StringVarP(form, "output", "o", forms[0], "form of the output: "+strings.Join(forms, ", "))
	c.PreRunE = func(*cobra.Command, []string) error {
		for _, f := range forms {
			if f == *form {
				return nil
			}
		}
		return usageError{fmt.Errorf("there is no output form %q; known are %s", *form, strings.Join(forms, ", "))}
	}
}
