package iceberg

import (
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
)

// postgresVariable holds the address of a PostgreSQL server, postgres://…, as in
// the tests of the network's service.
const postgresVariable = "ORDERWIRE_TEST_POSTGRES"

func TestPostgresCatalog(t *testing.T) {
	t.Parallel()
	server := os.Getenv(postgresVariable)
	if server == "" {
		t.Skipf("%s names no PostgreSQL server", postgresVariable)
	}
	db, err := sql.Open("pgx", server)
	if err != nil {
		t.Fatal(err)
	}
	name := "t" + strings.ToLower(rand.Text())
	if _, err := db.ExecContext(t.Context(), "CREATE SCHEMA "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := db.Exec("DROP SCHEMA " + name + " CASCADE")
		if err = errors.Join(err, db.Close()); err != nil {
			t.Error(err)
		}
	})
	address, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	query := address.Query()
	query.Set("search_path", name)
	address.RawQuery = query.Encode()
	cfg := configure(t, t.TempDir())
	cfg.Catalog = address.String()
	onCatalog(t, cfg)
}

func TestCatalogInSQLite(t *testing.T) {
	t.Parallel()
	onCatalog(t, configure(t, t.TempDir()))
}

func TestRESTCatalog(t *testing.T) {
	t.Parallel()
	behind := newFollower(t, configure(t, t.TempDir()))
	if err := behind.connected(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(&restCatalog{tables: behind.tables, place: "file://" + filepath.ToSlash(t.TempDir())})
	t.Cleanup(s.Close)
	cfg := configure(t, t.TempDir())
	cfg.Catalog, cfg.Warehouse = strings.Replace(s.URL, "://", "://t0ken@", 1), "lake"
	onCatalog(t, cfg)
	cfg.Catalog = strings.Replace(s.URL, "://", "://wr0ng@", 1)
	if err := newFollower(t, cfg).Follow(t.Context()); err == nil || strings.Contains(err.Error(), "wr0ng") {
		t.Errorf("got %v", err)
	}
}

// onCatalog tests what a follower needs of a catalog.
func onCatalog(t *testing.T, cfg Config) {
	t.Helper()
	f := newFollower(t, cfg)
	standing := func(want Standing) {
		t.Helper()
		want.Table = DefaultTable
		if got, err := newFollower(t, cfg).Inspect(t.Context()); err != nil || got != want {
			t.Errorf("inspected %+v, not %+v, %v", got, want, err)
		}
	}
	standing(Standing{})
	archived(t, cfg.Archive, 20)
	follow(t, f)
	standing(Standing{Exists: true, Commit: 1})
	archived(t, cfg.Archive, 30, 40)
	standing(Standing{Exists: true, Commit: 1, Behind: 2})
	stale := retrying(t, f)
	follow(t, f)
	standing(Standing{Exists: true, Commit: 3})
	if done, err := f.advance(t.Context(), stale); done || !errors.Is(err, table.ErrCommitFailed) && !strings.Contains(err.Error(), "requirement") {
		t.Errorf("a stale commit: done %t, %v", done, err)
	}
	if n := len(snapshots(sameAs(t, f, cfg.Archive))); n != 2 {
		t.Errorf("%d snapshots", n)
	}
}

// restCatalog serves the part of the REST catalog's protocol that a follower
// needs, from another catalog.
type restCatalog struct {
	tables
	place string
}

func (c *restCatalog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer t0ken" {
		answer(w, http.StatusUnauthorized, failure("NotAuthorizedException", http.StatusUnauthorized))
		return
	}
	var body struct {
		Name         string             `json:"name"`
		Namespace    table.Identifier   `json:"namespace"`
		Schema       *ice.Schema        `json:"schema"`
		Spec         *ice.PartitionSpec `json:"partition-spec"`
		Properties   ice.Properties     `json:"properties"`
		Requirements table.Requirements `json:"requirements"`
		Updates      table.Updates      `json:"updates"`
	}
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			answer(w, http.StatusBadRequest, failure(err.Error(), http.StatusBadRequest))
			return
		}
	}
	name := table.Identifier{"orderwire", "events"}
	switch r.Method + " " + r.URL.Path {
	case "GET /v1/config":
		if r.URL.Query().Get("warehouse") != "lake" {
			answer(w, http.StatusBadRequest, failure("no such warehouse", http.StatusBadRequest))
			return
		}
		answer(w, http.StatusOK, map[string]any{"defaults": map[string]string{}, "overrides": map[string]string{}})
	case "POST /v1/namespaces":
		err := c.CreateNamespace(r.Context(), body.Namespace, body.Properties)
		c.reply(w, err, map[string]any{"namespace": body.Namespace, "properties": map[string]string{}})
	case "POST /v1/namespaces/orderwire/tables":
		t, err := c.CreateTable(r.Context(), name, body.Schema, catalog.WithPartitionSpec(body.Spec), catalog.WithProperties(body.Properties), catalog.WithLocation(c.place))
		c.replyTable(w, t, err)
	case "GET /v1/namespaces/orderwire/tables/events":
		t, err := c.LoadTable(r.Context(), name)
		c.replyTable(w, t, err)
	case "POST /v1/namespaces/orderwire/tables/events":
		metadata, location, err := c.CommitTable(r.Context(), name, body.Requirements, body.Updates)
		c.reply(w, err, map[string]any{"metadata-location": location, "metadata": metadata})
	default:
		answer(w, http.StatusNotFound, failure("NoSuchEndpoint "+r.Method+" "+r.URL.Path, http.StatusNotFound))
	}
}

func (c *restCatalog) replyTable(w http.ResponseWriter, t *table.Table, err error) {
	if err != nil {
		c.reply(w, err, nil)
		return
	}
	answer(w, http.StatusOK, map[string]any{"metadata-location": t.MetadataLocation(), "metadata": t.Metadata(), "config": map[string]string{}})
}

func (c *restCatalog) reply(w http.ResponseWriter, err error, content any) {
	switch {
	case err == nil:
		answer(w, http.StatusOK, content)
	case errors.Is(err, catalog.ErrNoSuchTable), errors.Is(err, catalog.ErrNoSuchNamespace):
		answer(w, http.StatusNotFound, failure("NoSuchTableException", http.StatusNotFound))
	default: // it is there already, or a requirement is not met
		answer(w, http.StatusConflict, failure("CommitFailedException", http.StatusConflict))
	}
}

func failure(kind string, code int) any {
	return map[string]any{"error": map[string]any{"message": kind, "type": kind, "code": code}}
}

func answer(w http.ResponseWriter, code int, content any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(content) // the client notices
}
