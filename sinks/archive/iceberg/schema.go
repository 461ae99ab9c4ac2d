package iceberg

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
)

// What the table has beside the columns of the files, and what it is partitioned
// by.
const (
	accountColumn = "account"
	dateColumn    = "observed_at"
	dateField     = "event_date"
)

// schemaOf returns the columns of a file as Iceberg has them. The field ids are
// of no meaning.
func (s *source) schemaOf() (*ice.Schema, error) {
	columns, err := pqarrow.FromParquet(s.footer.Schema, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("iceberg: columns of %s: %w", s.Path, err)
	}
	schema, err := table.ArrowSchemaToIcebergWithFreshIDs(columns, false)
	if err != nil {
		return nil, fmt.Errorf("iceberg: columns of %s: %w", s.Path, err)
	}
	return schema, nil
}

// createTable makes the table with the columns of a file and of the account. It
// may be there by the time: then the error is [catalog.ErrTableAlreadyExists].
func (f *Follower) createTable(ctx context.Context, like *source) (*table.Table, error) {
	columns, err := like.schemaOf()
	if err != nil {
		return nil, err
	}
	account := ice.NestedField{
		ID: columns.HighestFieldID() + 1, Name: accountColumn, Type: ice.PrimitiveTypes.String,
		Doc: "stands in the partition and in no file",
	}
	schema := ice.NewSchema(0, append(slices.Clone(columns.Fields()), account)...)
	date, ok := schema.FindFieldByName(dateColumn)
	if !ok {
		return nil, fmt.Errorf("iceberg: %s has no column %s", like.Path, dateColumn)
	}
	spec := ice.NewPartitionSpec(
		ice.PartitionField{SourceIDs: []int{account.ID}, FieldID: 1000, Name: accountColumn, Transform: ice.IdentityTransform{}},
		ice.PartitionField{SourceIDs: []int{date.ID}, FieldID: 1001, Name: dateField, Transform: ice.DayTransform{}})
	options := []catalog.CreateTableOpt{catalog.WithPartitionSpec(&spec), catalog.WithProperties(ice.Properties{
		table.PropertyFormatVersion:               "2",
		table.GCEnabledKey:                        "false",
		table.ManifestMergeEnabledKey:             "true",
		table.MetadataDeleteAfterCommitEnabledKey: "true",
		table.MetadataPreviousVersionsMaxKey:      "20",
	})}
	if !f.rest() {
		options = append(options, catalog.WithLocation(f.place()))
	}
	for n := 1; n < len(f.table); n++ {
		if err := f.tables.CreateNamespace(ctx, f.table[:n], nil); err != nil && !isThere(err) {
			return nil, fmt.Errorf("iceberg: namespace: %w", err)
		}
	}
	return f.tables.CreateTable(ctx, f.table, schema, options...)
}

// evolve adds the columns that files have and the table lacks, and keeps the
// mapping of names in step. A file with more columns than another has all columns
// of that.
func (f *Follower) evolve(ctx context.Context, t *table.Table, sources []source) (*table.Table, error) {
	after := t.Schema()
	var widest *ice.Schema
	for i := range sources {
		columns, err := sources[i].schemaOf()
		if err != nil {
			return nil, err
		}
		if !hasAll(after, columns) && (widest == nil || columns.HighestFieldID() > widest.HighestFieldID()) {
			widest = columns
		}
	}
	if widest == nil && t.NameMapping() != nil {
		return t, nil
	}
	tx := t.NewTransaction()
	if widest != nil {
		update := func() *table.UpdateSchema { return tx.UpdateSchema(true, false).UnionByNameWith(widest) }
		var err error
		if after, err = update().Apply(); err == nil { // it only shows, and spoils the update
			err = update().Commit()
		}
		if err != nil {
			return nil, fmt.Errorf("iceberg: new columns: %w", err)
		}
	}
	names, err := json.Marshal(after.NameMapping())
	if err != nil {
		return nil, err
	}
	if err := tx.SetProperties(ice.Properties{table.DefaultNameMappingKey: string(names)}); err != nil {
		return nil, fmt.Errorf("iceberg: mapping of names: %w", err)
	}
	return tx.Commit(ctx)
}

// hasAll reports whether a schema has every column, and every field within, of
// another.
func hasAll(schema, other *ice.Schema) bool {
	names, err := ice.IndexNameByID(other)
	if err != nil {
		return false
	}
	for _, name := range names {
		if _, ok := schema.FindFieldByName(name); !ok {
			return false
		}
	}
	return true
}
