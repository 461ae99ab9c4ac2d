package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/sinks/archive"
)

// newArchive is the parent of what is done to an archive.
func newArchive(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "archive",
		Short: "Look after the Parquet archive",
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usageError{fmt.Errorf("there is no command %q (see %s --help)", args[0], c.CommandPath())}
		}
		return nil
	}
	c.AddCommand(newArchiveCompact(o), newArchiveSnapshot(o))
	return c
}

// loadArchive reads a configuration and returns where the archive is that a command
// works on: another one than that of the configuration when a flag says so.
func loadArchive(file, flag string) (c *config.Config, place string, err error) {
	if c, err = config.Load(file); err != nil {
		return nil, "", err
	}
	if flag != "" {
		place, err = parsePlace("archive", flag)
		return c, place, err
	}
	return c, c.Archive.Sink(nil).Dir, nil
}

// parsePlace reads the value of a flag that names a folder, a file:// address of one,
// or s3://bucket/prefix.
func parsePlace(flag, value string) (string, error) {
	if scheme, _, ok := strings.Cut(value, "://"); ok && scheme != "file" && scheme != "s3" {
		return "", usageError{fmt.Errorf("--%s: places of kind %q are not supported by this version; give a folder on this machine, or s3://bucket/prefix", flag, scheme)}
	}
	if err := archive.CheckAddress(value); err != nil {
		return "", usageError{fmt.Errorf("--%s: %w", flag, err)}
	}
	at := config.Archive{URL: value}
	return at.Sink(nil).Dir, nil
}
