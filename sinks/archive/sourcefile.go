package archive

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

// SchemaError says that a file holds columns that this program does not know. It
// can be read, but not be written again.
type SchemaError struct {
	Path    string // of the file
	Version int    // its orderwire.schema_version
}

// Error gives path and versions, and says what to do.
func (e *SchemaError) Error() string {
	return fmt.Sprintf("archive: %s was written with version %d of the schema, and this program knows version %d: it would lose columns; use the newer program",
		e.Path, e.Version, SchemaVersion)
}

// sourceRows reads a live file for one who writes its rows again. It proves the
// file first, so that no damage is passed on under a new hash. The error is one of
// [Rows], or a [SchemaError].
func sourceRows(ctx context.Context, s store, f *File) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		file, err := openSource(ctx, s, f)
		if err != nil {
			yield(Row{}, err)
			return
		}
		readAll(ctx, file, accountOf(f.Path), yield)
	}
}

func openSource(ctx context.Context, s store, f *File) (*openedFile, error) {
	file, err := openUnreplaced(ctx, s, f)
	if err != nil {
		return nil, err
	}
	if err := file.prove(ctx, f); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// prove holds a file to what the manifest says of it, and to this program's schema.
func (f *openedFile) prove(ctx context.Context, of *File) error {
	sum, err := f.hash(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return storageError("read", f.name, err)
	case sum != of.SHA256 || f.size != of.Bytes:
		return &ManifestError{Path: f.name, Problem: "has been changed: its hash is another"}
	}
	return f.checkSchema()
}

// checkSchema refuses a file of which a [Row] does not hold everything.
func (f *openedFile) checkSchema() error {
	content, err := parquet.OpenFile(f, f.size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return &ManifestError{Path: f.name, Problem: "is no Parquet file", Cause: err}
	}
	text, _ := content.Lookup(metaSchema)
	version, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return &ManifestError{Path: f.name, Problem: "does not say which version of the schema it was written with"}
	case version > SchemaVersion:
		return &SchemaError{f.name, version}
	}
	return nil
}
