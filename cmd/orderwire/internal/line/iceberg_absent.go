//go:build !iceberg

package line

import (
	"errors"
	"log/slog"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
)

// openTable says that this program cannot keep a table.
func openTable(*config.Archive, *slog.Logger) (table, error) {
	return nil, errors.New("archive.iceberg is set, and this program was built without Apache Iceberg; build it with: go build -tags iceberg ./cmd/orderwire")
}
