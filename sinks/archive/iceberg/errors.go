package iceberg

import (
	"fmt"
	"strings"

	"github.com/apache/iceberg-go/table"
)

// TableError says that the table and the manifest contradict each other. No retry
// helps; the archive itself is not concerned.
type TableError struct {
	Table   string // its name in the catalog
	Problem string // what is wrong
}

// Error says what is wrong and what to do.
func (e *TableError) Error() string {
	return fmt.Sprintf("iceberg: table %s %s; name another table, or drop this one (without its files) and let a new one be filled",
		e.Table, e.Problem)
}

func tableError(name table.Identifier, problem string, args ...any) error {
	return &TableError{strings.Join(name, "."), fmt.Sprintf(problem, args...)}
}
