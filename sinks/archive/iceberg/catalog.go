package iceberg

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	icesql "github.com/apache/iceberg-go/catalog/sql"
	_ "github.com/apache/iceberg-go/io/gocloud/s3" // s3:// locations
	"github.com/apache/iceberg-go/table"
	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"
	_ "modernc.org/sqlite"             // driver "sqlite"
)

// catalogName is how a catalog in SQL knows its tables.
const catalogName = "orderwire"

// tables is what a Follower needs of a catalog.
type tables interface {
	LoadTable(ctx context.Context, name table.Identifier) (*table.Table, error)
	CreateNamespace(ctx context.Context, name table.Identifier, properties ice.Properties) error
	CreateTable(ctx context.Context, name table.Identifier, schema *ice.Schema, options ...catalog.CreateTableOpt) (*table.Table, error)
	CommitTable(ctx context.Context, name table.Identifier, requirements []table.Requirement, updates []table.Update) (table.Metadata, string, error)
}

const sqliteScheme = "sqlite://"

// connect opens the catalog; closed lets go of it. Of SQL, it makes the tables
// that a catalog needs if it may create them; if it may not and they are missing,
// it returns nil.
func (s *settings) connect(ctx context.Context, create bool) (open tables, closed func() error, err error) {
	useDurable()
	switch {
	case s.rest():
		open, err = s.connectREST(ctx)
		return open, func() error { return nil }, err
	case s.kind == "sqlite":
		return s.connectSQLite(ctx, create)
	default:
		return s.connectSQL(ctx, "pgx", s.catalog, icesql.Postgres, create)
	}
}

func (s *settings) connectSQLite(ctx context.Context, create bool) (tables, func() error, error) {
	path := strings.TrimPrefix(s.catalog, sqliteScheme)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, nil, fmt.Errorf("iceberg: catalog: %w", err)
	}
	address := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: url.Values{
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)"},
	}.Encode()}
	return s.connectSQL(ctx, "sqlite", address.String(), icesql.SQLite, create)
}

// connectSQL never quotes the address in an error: it may hold a password.
func (s *settings) connectSQL(ctx context.Context, driver, address string, dialect icesql.SupportedDialect, create bool) (tables, func() error, error) {
	db, err := sql.Open(driver, address)
	if err != nil {
		return nil, nil, errors.New("iceberg: the catalog's address cannot be read")
	}
	if err := db.PingContext(ctx); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("iceberg: the catalog cannot be reached: %w", err), db.Close())
	}
	if !create {
		var n int
		if err := db.QueryRowContext(ctx, "SELECT count(*) FROM iceberg_tables").Scan(&n); err != nil {
			return nil, db.Close, nil //nolint:nilerr // the table is missing
		}
	}
	properties := ice.Properties{"warehouse": s.warehouse}
	for key, value := range s.io {
		properties[key] = value
	}
	open, err := icesql.NewCatalog(catalogName, db, dialect, properties)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("iceberg: the catalog cannot be opened: %w", err), db.Close())
	}
	return open, db.Close, nil
}

func (s *settings) connectREST(ctx context.Context) (tables, error) {
	u, err := url.Parse(s.catalog)
	if err != nil {
		return nil, &ConfigError{"catalog", "is no address", "write https://host/path"}
	}
	options := []rest.Option{rest.WithAdditionalProps(s.io)}
	if s.warehouse != "" {
		options = append(options, rest.WithWarehouseLocation(s.warehouse))
	}
	if password, isClient := u.User.Password(); isClient {
		options = append(options, rest.WithCredential(u.User.Username()+":"+password))
	} else if token := u.User.Username(); token != "" {
		options = append(options, rest.WithOAuthToken(token))
	}
	u.User = nil
	open, err := rest.NewCatalog(ctx, catalogName, u.String(), options...)
	if err != nil {
		return nil, fmt.Errorf("iceberg: the catalog cannot be reached: %w", err)
	}
	return open, nil
}
