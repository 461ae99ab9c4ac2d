package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/caarlos0/env/v11"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// EnvPrefix begins the name of every environment variable that sets a field:
// ORDERWIRE_DATA_DIR, ORDERWIRE_NATS_URL, ORDERWIRE_HTTP_TOKEN and so on.
const EnvPrefix = "ORDERWIRE_"

// Error is a mistake in the configuration.
type Error struct {
	File string // "" for an environment variable
	Line int    // from 1; 0 when the mistake is something that is missing
	Path string // "accounts[0].base_url", "" when the file cannot be parsed
	What string // what is wrong
	Hint string // what to do, "" when What says it
}

// Error gives "file:line: path: what (hint)".
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File + ":")
		if e.Line > 0 {
			fmt.Fprintf(&b, "%d:", e.Line)
		}
		b.WriteByte(' ')
	}
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.What)
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// source is the file as parsed, to find lines in.
type source struct {
	file string
	tree *ast.File
}

// Load reads and checks a file. All mistakes that can be told at once are
// joined in the error; each is an [*Error].
func Load(file string) (*Config, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, &Error{File: file, What: "cannot be read: " + reason(err), Hint: "give a configuration file with -c, see README.md"}
	}
	return Parse(file, raw)
}

// Parse reads a configuration from its text; file is its name in errors.
func Parse(file string, raw []byte) (*Config, error) {
	c := defaults()
	if err := env.ParseWithOptions(&c, env.Options{Prefix: EnvPrefix}); err != nil {
		return nil, &Error{What: "environment: " + strings.TrimPrefix(err.Error(), "env: ")}
	}
	tree, err := parser.ParseBytes(raw, 0)
	if err != nil {
		return nil, syntax(file, err)
	}
	if err := yaml.UnmarshalWithOptions(raw, &c, yaml.DisallowUnknownField()); err != nil && len(tree.Docs) > 0 {
		return nil, syntax(file, err)
	}
	c.source = &source{file: file, tree: tree}
	c.complete()
	if err := c.check(); err != nil {
		return nil, err
	}
	return &c, nil
}

// File returns the name of the configuration file.
func (c *Config) File() string { return c.source.file }

// path returns a file or folder in the data directory.
func (c *Config) path(name string) string { return filepath.Join(c.DataDir, name) }

// syntax turns an error of the YAML library into ours, without the excerpt of
// the source, which may hold secrets.
func syntax(file string, err error) error {
	var at interface {
		GetMessage() string
		GetToken() *token.Token
	}
	if !errors.As(err, &at) || at.GetToken() == nil {
		return &Error{File: file, What: "not readable as YAML"}
	}
	e := &Error{File: file, Line: at.GetToken().Position.Line, What: at.GetMessage()}
	var unknown *yaml.UnknownFieldError
	if errors.As(err, &unknown) {
		e.What = fmt.Sprintf("unknown key %q", unknown.Token.Value)
		e.Hint = "did you mean " + nearest(unknown.Token.Value) + "?"
	}
	return e
}

// nearest returns the known key that looks most like a word.
func nearest(word string) string {
	best, distance := "", 1<<30
	for _, key := range keys(reflect.TypeFor[Config]()) {
		if d := levenshtein.ComputeDistance(word, key); d < distance {
			best, distance = key, d
		}
	}
	return best
}

func keys(t reflect.Type) []string {
	for t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var all []string
	for i := range t.NumField() {
		if key := t.Field(i).Tag.Get("yaml"); key != "" {
			all = append(all, key)
			all = append(all, keys(t.Field(i).Type)...)
		}
	}
	return all
}

// line finds the line of a path, or of the nearest parent that the file has; 0
// when it has none.
func (s *source) line(path string) int {
	if s.tree == nil {
		return 0
	}
	for p := path; p != ""; p = parent(p) {
		yp, err := yaml.PathString("$." + p)
		if err != nil {
			continue
		}
		if n, err := yp.FilterFile(s.tree); err == nil && n != nil {
			return n.GetToken().Position.Line
		}
	}
	return 0
}

func parent(path string) string {
	return path[:max(strings.LastIndexAny(path, ".["), 0)]
}

func reason(err error) string {
	var pathErr *os.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}
