// Package iceberg keeps a table of Apache Iceberg in step with an archive, so
// that a query engine finds the archive's files in a catalog.
//
// # A follower of the manifest
//
// The manifest of the archive decides what is in it. A [Follower] comes
// afterwards: it looks how far the table is, and takes over each entry of the
// manifest behind that, in order. The files of the archive are not copied; the
// table names them where they stand. A batch appends its files, an entry that
// replaces files replaces them in one snapshot.
//
// How far the table is stands in the properties of its snapshots, which are
// committed together with the files:
//
//	orderwire.commit           number of the last entry that is in
//	orderwire.sha256           hash of that entry
//	orderwire.first-sequence   least and greatest sequence of the snapshot's
//	orderwire.last-sequence    entries
//
// So a crash between the manifest and the catalog, or a catalog that commits and
// whose answer is lost, needs no repair: the next Follow reads the properties of
// the current snapshot and its ancestors, and goes on behind them. Of two
// followers at a time, the catalog lets one commit; the other looks again. A
// table that is ahead of the manifest, that follows another archive or that holds
// something else is refused with a [TableError].
//
// In step means one snapshot for each entry. A table that is far behind gets
// several entries in a snapshot, and the properties give the whole range.
//
// # The table
//
// Its columns are those of the Parquet files, found by name
// (schema.name-mapping.default), since the files have no field ids. A file with
// more columns adds them to the table; nothing else is ever changed. It is
// partitioned by account and by the day of observed_at, the folders of the
// archive.
//
// The column account stands in no file. By the specification of Iceberg ("column
// projection") a reader takes it from the partition, as Spark, Trino and DuckDB
// do. The reader of iceberg-go does not: it filters by account, and gives nulls
// where account is selected.
//
// The table is made with gc.enabled = false, because the files belong to the
// archive: no engine that heeds it removes them with the table. Old snapshots go
// as new ones come; the last 500 stay. Between a compaction of the archive and the
// Follow behind it, the table names files that are gone, and so do snapshots from
// before it for ever.
//
// # Catalogs
//
// A catalog is SQLite (sqlite:///path), PostgreSQL (postgres://…), both as the
// JDBC catalog of Iceberg under the name "orderwire", or a REST catalog
// (https://…).
package iceberg
