package iceberg

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"

	ice "github.com/apache/iceberg-go"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// DefaultTable is the name of the table unless a [Config] says another.
const DefaultTable = "orderwire.events"

// warehouseDir is where the table's own files are below an archive, in the folder
// that readers of Parquet files skip.
const warehouseDir = "_orderwire/iceberg"

const s3Scheme = "s3://"

// Config says which table follows which archive.
type Config struct {
	// Archive is the folder of the archive, or s3://bucket/prefix?…, as in the
	// Config of the archive. Required.
	Archive string
	// Catalog is sqlite:///path, postgres://…, or https://… for a REST catalog,
	// whose user and password are an OAuth client's, and whose user alone is a
	// bearer token. Required.
	Catalog string
	// Table is namespace.table. Empty: "orderwire.events".
	Table string
	// Warehouse is the folder or s3://bucket/prefix of the table's metadata; for a
	// REST catalog the name of the warehouse there, and the catalog chooses the
	// place. Empty: _orderwire/iceberg below the archive, or the catalog's own.
	Warehouse string
	// Logger gets a debug line for each snapshot. Nil: no lines.
	Logger *slog.Logger
}

// ConfigError says what is wrong with one field of a [Config].
type ConfigError struct {
	Field   string // key in the configuration file: "catalog", "table"
	Problem string // what is wrong
	Hint    string // what to do about it
}

// Error gives field, problem and hint in one line.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("iceberg: %s: %s; %s", e.Field, e.Problem, e.Hint)
}

// settings are what a Config comes to.
type settings struct {
	archive   string           // location of the archive's folder, without a slash at its end
	warehouse string           // location of the warehouse, or its name in a REST catalog; may be empty there
	table     table.Identifier // namespaces and name
	kind      string           // scheme of the catalog
	catalog   string           // its whole address
	io        ice.Properties   // how files are reached
	log       *slog.Logger

	keep, slack int // snapshots that stay, and how many more may gather
}

func (c Config) complete() (*settings, error) {
	s := &settings{catalog: c.Catalog, io: ice.Properties{}, log: c.Logger, keep: keptSnapshots, slack: expireAt}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.kind, _, _ = strings.Cut(c.Catalog, "://")
	if !isCatalog(s.kind) || s.kind == c.Catalog {
		return nil, &ConfigError{"catalog", "is none that is known", "write sqlite:///path, postgres://… or https://… for a REST catalog"}
	}
	s.table = strings.Split(cmp.Or(c.Table, DefaultTable), ".")
	for _, part := range s.table {
		if part == "" || len(s.table) < 2 {
			return nil, &ConfigError{"table", fmt.Sprintf("%q is no name", c.Table), "write namespace.table"}
		}
	}
	var err error
	if s.archive, err = s.location("archive", c.Archive); err != nil {
		return nil, err
	}
	switch {
	case s.rest():
		s.warehouse = c.Warehouse
	case c.Warehouse == "":
		s.warehouse = s.archive + "/" + warehouseDir
	default:
		s.warehouse, err = s.location("warehouse", c.Warehouse)
	}
	if err == nil && !s.rest() && strings.HasPrefix(s.archive+"/", s.place()+"/") {
		err = &ConfigError{"warehouse", "makes the archive a part of the table's own folder", "choose another, or leave it out"}
	}
	return s, err
}

func isCatalog(kind string) bool {
	return kind == "sqlite" || kind == "postgres" || kind == "postgresql" || kind == "http" || kind == "https"
}

// rest reports whether the catalog is a REST catalog.
func (s *settings) rest() bool { return strings.HasPrefix(s.kind, "http") }

// place is the location of the table in a warehouse of ours.
func (s *settings) place() string { return s.warehouse + "/" + strings.Join(s.table, "/") }

// location makes the absolute location of an address, and takes region and
// endpoint of a bucket out of it.
func (s *settings) location(field, address string) (string, error) {
	if !strings.HasPrefix(address, s3Scheme) {
		if address == "" || strings.Contains(address, "://") {
			return "", &ConfigError{field, "is no folder and no bucket", "write a path, or s3://bucket/prefix"}
		}
		absolute, err := filepath.Abs(address)
		if err != nil {
			return "", fmt.Errorf("iceberg: %s: %w", field, err)
		}
		return fileLocation(strings.TrimSuffix(filepath.ToSlash(absolute), "/")), nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return "", &ConfigError{field, "is no address of a bucket", "write s3://bucket/prefix?region=eu-central-1"}
	}
	query := u.Query()
	for key, property := range map[string]string{"region": icebergio.S3Region, "endpoint": icebergio.S3EndpointURL} {
		if value := query.Get(key); value != "" {
			s.io[property] = value
		}
	}
	if s.io[icebergio.S3EndpointURL] != "" && s.io[icebergio.S3Region] == "" {
		s.io[icebergio.S3Region] = "us-east-1" // which stores other than Amazon's expect
	}
	return s3Scheme + u.Host + strings.TrimRight("/"+strings.Trim(u.Path, "/"), "/"), nil
}

// fileLocation makes a URI of a path if every reader will make the same path of
// it again: some undo escapes, some do not. Otherwise the path stands for itself.
func fileLocation(path string) string {
	if (&url.URL{Path: path}).EscapedPath() != path {
		return path
	}
	return "file://" + path
}

// file returns the location of one of the archive's files.
func (s *settings) file(name string) string {
	whole := s.archive + "/" + name
	if path, ok := strings.CutPrefix(whole, "file://"); ok {
		return fileLocation(path)
	}
	return whole
}
