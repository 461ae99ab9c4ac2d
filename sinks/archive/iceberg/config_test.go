package iceberg

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	icebergio "github.com/apache/iceberg-go/io"
)

func TestConfigsThatAreRefused(t *testing.T) {
	t.Parallel()
	good := Config{Archive: "/data/archive", Catalog: "sqlite:///data/catalog.db"}
	for field, change := range map[string]func(*Config){
		"catalog": func(c *Config) { c.Catalog = "/data/catalog.db" }, "catalog ": func(c *Config) { c.Catalog = "mysql://host/db" },
		"catalog  ": func(c *Config) { c.Catalog = "" }, "table": func(c *Config) { c.Table = "events" }, "table ": func(c *Config) { c.Table = "a..b" },
		"archive": func(c *Config) { c.Archive = "" }, "archive ": func(c *Config) { c.Archive = "gs://bucket/x" },
		"archive  ": func(c *Config) { c.Archive = "s3://key:secret@bucket/x" }, "warehouse": func(c *Config) { c.Warehouse = "hdfs://x" },
		"warehouse ": func(c *Config) { c.Warehouse, c.Table = "/", "data.archive" },
	} {
		cfg := good
		change(&cfg)
		_, err := New(cfg)
		var wrong *ConfigError
		if !errors.As(err, &wrong) || wrong.Field != strings.TrimSpace(field) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := New(good); err != nil {
		t.Error(err)
	}
}

func TestLocations(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ archive, warehouse, file, wantPlace, wantFile string }{
		{archive: "/data/a", file: "account=x/1.parquet", wantPlace: "file:///data/a/_orderwire/iceberg/orderwire/events", wantFile: "file:///data/a/account=x/1.parquet"},
		{archive: "/data/a", file: "account=%3D/1.parquet", wantPlace: "file:///data/a/_orderwire/iceberg/orderwire/events", wantFile: "/data/a/account=%3D/1.parquet"},
		{archive: "/my data", file: "1.parquet", wantPlace: "/my data/_orderwire/iceberg/orderwire/events", wantFile: "/my data/1.parquet"},
		{archive: "/data/a", warehouse: "/lake/", file: "1.parquet", wantPlace: "file:///lake/orderwire/events", wantFile: "file:///data/a/1.parquet"},
		{archive: "s3://b/p/?region=eu-1", file: "account=%3D/1.parquet", wantPlace: "s3://b/p/_orderwire/iceberg/orderwire/events", wantFile: "s3://b/p/account=%3D/1.parquet"},
		{archive: "s3://b", warehouse: "s3://b/lake", file: "1.parquet", wantPlace: "s3://b/lake/orderwire/events", wantFile: "s3://b/1.parquet"},
	} {
		f := newFollower(t, Config{Archive: test.archive, Warehouse: test.warehouse, Catalog: "sqlite:///x"})
		if f.place() != test.wantPlace || f.file(test.file) != test.wantFile {
			t.Errorf("%s: table at %s, file at %s", test.archive, f.place(), f.file(test.file))
		}
	}
	relative, err := filepath.Abs("data")
	if err != nil {
		t.Fatal(err)
	}
	if f := newFollower(t, Config{Archive: "data", Catalog: "sqlite:///x"}); f.archive != fileLocation(relative) {
		t.Errorf("archive at %s", f.archive)
	}
}

func TestPropertiesOfBuckets(t *testing.T) {
	t.Parallel()
	for address, want := range map[string][2]string{
		"s3://b/p?region=eu-1": {"eu-1", ""}, "s3://b/p": {"", ""}, "s3://b/p?endpoint=http://127.0.0.1:1": {"us-east-1", "http://127.0.0.1:1"},
		"s3://b/p?endpoint=https://s3.example.com&region=x": {"x", "https://s3.example.com"},
	} {
		f := newFollower(t, Config{Archive: address, Catalog: "sqlite:///x"})
		if got := [2]string{f.io[icebergio.S3Region], f.io[icebergio.S3EndpointURL]}; got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}
