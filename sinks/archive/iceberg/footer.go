package iceberg

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	ice "github.com/apache/iceberg-go"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/orderwire/orderwire/sinks/archive"
)

const secondsOfDay = 24 * 60 * 60

// source is a file of the archive with what its footer says.
type source struct {
	archive.File
	location string
	footer   *metadata.FileMetaData
}

// readSources reads the footers of files.
func (s *settings) readSources(ctx context.Context, files []archive.File) ([]source, error) {
	from, err := icebergio.LoadFS(ctx, s.io, s.archive)
	if err != nil {
		return nil, fmt.Errorf("iceberg: %w", err)
	}
	sources := make([]source, len(files))
	for i, f := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		sources[i] = source{File: f, location: s.file(f.Path)}
		if sources[i].footer, err = readFooter(from, sources[i].location); err != nil {
			return nil, fmt.Errorf("iceberg: footer of %s: %w", f.Path, err)
		}
	}
	return sources, nil
}

func readFooter(from icebergio.IO, location string) (*metadata.FileMetaData, error) {
	f, err := from.Open(location)
	if err != nil {
		return nil, err
	}
	r, err := file.NewParquetReader(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r.MetaData(), r.Close()
}

// dataFile returns what a manifest of Iceberg says of the file: its partition,
// and counts, sizes and bounds of its columns.
func (s *source) dataFile(t *table.Table) (ice.DataFile, error) {
	account, date, ok := s.Partition()
	if !ok {
		return nil, fmt.Errorf("iceberg: %s is in no partition of the archive", s.Path)
	}
	values := make(map[int]any)
	spec := t.Spec()
	for _, field := range spec.Fields() {
		switch field.Name {
		case accountColumn:
			values[field.FieldID] = account
		case dateField:
			values[field.FieldID] = daysOf(date)
		default:
			return nil, tableError(t.Identifier(), "is partitioned by %s too, which the archive is not", field.Name)
		}
	}
	d, err := table.DataFileFromMetadata(table.DataFileArgs{
		Schema: t.Schema(), Spec: spec, Format: ice.ParquetFile, Metadata: s.footer, FilePath: s.location, FileSize: s.Bytes,
		Content: ice.EntryContentData, PartitionValues: values, Properties: t.Properties(), FormatVersion: t.Metadata().Version(),
	})
	if err != nil {
		return nil, fmt.Errorf("iceberg: %s: %w", s.Path, err)
	}
	if d.Count() != s.Rows {
		return nil, fmt.Errorf("iceberg: %s has %d rows, and the manifest of the archive says %d", s.Path, d.Count(), s.Rows)
	}
	return d, nil
}

// daysOf counts the days since 1970-01-01 of a date in UTC.
func daysOf(date time.Time) ice.Date { return ice.Date(date.Unix() / secondsOfDay) }
