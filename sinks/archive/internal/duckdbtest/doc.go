// Package duckdbtest has another implementation read what package archive
// writes: DuckDB, through cgo. It holds tests only, in a module of its own, so
// that neither the product nor its own tests need DuckDB or a C compiler.
//
// The module fetches DuckDB as a static library, 31 MB for one platform. `go mod
// tidy` fetches those of five platforms, 145 MB.
//
//	cd sinks/archive/internal/duckdbtest && go test ./...
package duckdbtest
