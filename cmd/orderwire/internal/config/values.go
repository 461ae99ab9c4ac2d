package config

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Duration is a span of time in the configuration: Go's notation ("90s",
// "1h30m") and whole days ("90d").
type Duration time.Duration

// UnmarshalText reads a duration from an environment variable.
func (d *Duration) UnmarshalText(b []byte) error {
	s := string(b)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return fmt.Errorf("%q is no duration; write 30s, 10m, 24h or 90d", s)
		}
		*d = Duration(time.Duration(n) * 24 * time.Hour)
		return nil
	}
	v, err := time.ParseDuration(s)
	if err != nil || v < 0 {
		return fmt.Errorf("%q is no duration; write 30s, 10m, 24h or 90d", s)
	}
	*d = Duration(v)
	return nil
}

// MarshalText writes a duration in Go's notation.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalYAML reads a duration and names the line of a bad one.
func (d *Duration) UnmarshalYAML(n ast.Node) error { return located(n, d.UnmarshalText) }

// Bytes is a size in the configuration: "128MiB", "1GB" or a plain number.
type Bytes int64

// UnmarshalText reads a size from an environment variable.
func (b *Bytes) UnmarshalText(text []byte) error {
	n, err := humanize.ParseBytes(string(text))
	if err != nil || n > 1<<62 {
		return fmt.Errorf("%q is no size; write 128MiB or 1GB", text)
	}
	*b = Bytes(n)
	return nil
}

// UnmarshalYAML reads a size and names the line of a bad one.
func (b *Bytes) UnmarshalYAML(n ast.Node) error { return located(n, b.UnmarshalText) }

// Secret is a text that may be written as ${NAME}, anywhere in it, for the
// value of an environment variable, or as file:PATH for the content of a file,
// without its last line break. It prints as stars.
type Secret string

// String hides the value from logs and errors.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "***"
}

// GoString hides the value from %#v.
func (s Secret) GoString() string { return s.String() }

var reference = regexp.MustCompile(`\$\{([^}]*)\}`)

// UnmarshalText resolves the references of a secret.
func (s *Secret) UnmarshalText(b []byte) error {
	text := string(b)
	if file, ok := strings.CutPrefix(text, "file:"); ok && !strings.HasPrefix(file, "//") {
		content, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("secret file: %w", err)
		}
		*s = Secret(strings.TrimRight(string(content), "\r\n"))
		return nil
	}
	var missing string
	text = reference.ReplaceAllStringFunc(text, func(ref string) string {
		name := ref[2 : len(ref)-1]
		value, ok := os.LookupEnv(name)
		if !ok {
			missing = name
		}
		return value
	})
	if missing != "" {
		return fmt.Errorf("environment variable %s is not set", missing)
	}
	*s = Secret(text)
	return nil
}

// UnmarshalYAML resolves a secret and names the line of a bad reference.
func (s *Secret) UnmarshalYAML(n ast.Node) error { return located(n, s.UnmarshalText) }

// located runs a text decoder on a scalar and gives its error the place in the
// file.
func located(n ast.Node, decode func([]byte) error) error {
	scalar, ok := n.(ast.ScalarNode)
	if !ok {
		return &yaml.SyntaxError{Message: "want a single value here", Token: n.GetToken()}
	}
	text := n.GetToken().Value
	if v, ok := scalar.GetValue().(string); ok {
		text = v
	}
	if err := decode([]byte(text)); err != nil {
		return &yaml.SyntaxError{Message: err.Error(), Token: n.GetToken()}
	}
	return nil
}
