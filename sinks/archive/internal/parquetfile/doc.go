// Package parquetfile writes Parquet files from values that already stand in
// columns. It takes the schema, the encodings, the bloom filter and the
// structures of the format from parquet-go, and replaces only its writer: that
// one wants each cell as a value of its own, which costs an archive of fifty
// columns several times what encoding and compressing cost together.
//
// A file depends on nothing but its values, its options and the versions of the
// two libraries: no clock, no map order, no pool, no second goroutine. The same
// rows give the same bytes.
//
// What a file holds: data pages of version 1 with [PageRows] rows each, the same
// rows in every column; zstd; a dictionary or a delta encoding in every column
// but booleans; a checksum in each page; page index; statistics of each column
// chunk; bloom filters and the sort order where [Options] ask for them.
package parquetfile
