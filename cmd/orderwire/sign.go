package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/sources/openapi"
)

// maxSignBody bounds what sign reads, in bytes.
const maxSignBody = 32 << 20

func newSign(o *options) *cobra.Command {
	var secret, path string
	var hexAmp bool
	c := &cobra.Command{
		Use:   "sign --secret S --path /APPKEY/SERVICE",
		Short: "Sign a JSON body as the network does",
		Long: `Reads a JSON body on standard input and prints its Sign: MD5, in upper case
hexadecimal, of secret + path + sorted compact JSON without Sign + secret.

The secret may be written as ${NAME} for an environment variable (quote it, so
that the shell does not put it into the process list) or as file:PATH.`,
		Example: `  echo '{"Timestamp":1692696195,"Url":"https://www.example.com","WebsiteId":"1026"}' |
    orderwire sign --secret '${APP_SECRET}' --path /2312521/svc.service.links.post`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return sign(o, secret, path, hexAmp) },
	}
	c.Flags().StringVar(&secret, "secret", "", "the App Secret")
	c.Flags().StringVar(&path, "path", "", "the request's path, /APPKEY/SERVICE")
	c.Flags().BoolVar(&hexAmp, "hex-amp", false, `write "&" as \u0026, as PHP's JSON_HEX_AMP does`)
	return c
}

func sign(o *options, secret, path string, hexAmp bool) error {
	if secret == "" || path == "" || path[0] != '/' {
		return usageError{fmt.Errorf("give --secret and --path /APPKEY/SERVICE (see orderwire sign --help)")}
	}
	var resolved config.Secret
	if err := resolved.UnmarshalText([]byte(secret)); err != nil {
		return usageError{fmt.Errorf("--secret: %w", err)}
	}
	body, err := io.ReadAll(io.LimitReader(o.in, maxSignBody))
	if err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	signature, err := openapi.Sign(string(resolved), path, body, openapi.Ampersand(hexAmp))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(o.out, signature)
	return err
}
