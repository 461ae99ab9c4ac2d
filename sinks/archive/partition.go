package archive

import (
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// partKey is what the rows of one file have in common.
type partKey struct {
	account string
	day     int64 // days since 1970-01-01 of ObservedAt in UTC
}

const daySeconds = 24 * 60 * 60

func keyOf(e *schema.Event) partKey {
	seconds := e.Data.ObservedAt.Unix()
	day := seconds / daySeconds
	if seconds%daySeconds < 0 {
		day--
	}
	return partKey{e.Data.Account, day}
}

const (
	accountPrefix = "account="
	datePrefix    = "event_date="
	extension     = ".parquet"
	noAccount     = "__HIVE_DEFAULT_PARTITION__" // Hive's name for an empty value
)

// dir returns the Hive partition as a path below the archive.
func (k partKey) dir() string {
	date := time.Unix(k.day*daySeconds, 0).UTC().Format(time.DateOnly)
	return accountPrefix + escapeAccount(k.account) + "/" + datePrefix + date
}

// fileName returns the path of a file below the archive. All files of a commit
// bear its range of sequences.
func (k partKey) fileName(first, last uint64) string {
	return k.dir() + "/" + rangeName(first, last)
}

// rangeName returns the name of a file of sequences in its folder.
func rangeName(first, last uint64) string {
	return fmt.Sprintf("%020d-%020d%s", first, last, extension)
}

// escapeAccount is [schema.EscapeToken] with % in the place of =: the escape
// that Hive, Spark, Trino and DuckDB undo. With a second = in the name of a
// folder, DuckDB would not take it for a partition.
func escapeAccount(account string) string {
	if account == "" {
		return noAccount
	}
	return strings.ReplaceAll(schema.EscapeToken(account), "=", "%")
}

// Partition returns what the events of a file have in common: the account and
// the UTC date of observed_at. It is false when the path names no partition.
func (f File) Partition() (account string, date time.Time, ok bool) {
	folder, isDate := strings.CutPrefix(path.Base(path.Dir(f.Path)), datePrefix)
	date, err := time.Parse(time.DateOnly, folder)
	if !isDate || err != nil || !strings.HasPrefix(path.Base(path.Dir(path.Dir(f.Path))), accountPrefix) {
		return "", time.Time{}, false
	}
	return accountOf(f.Path), date, true
}

// accountOf reads the account from the path of a file of an archive or of a
// snapshot, "" when it is in no partition.
func accountOf(file string) string {
	dir := path.Dir(file)
	if strings.HasPrefix(path.Base(dir), datePrefix) {
		dir = path.Dir(dir)
	}
	escaped, ok := strings.CutPrefix(path.Base(dir), accountPrefix)
	if !ok || escaped == noAccount {
		return ""
	}
	account, err := schema.UnescapeToken(strings.ReplaceAll(escaped, "%", "="))
	if err != nil {
		return ""
	}
	return account
}

// rangeOf reads the sequences from the name of a file.
func rangeOf(file string) (first, last uint64, ok bool) {
	name := path.Base(file)
	var rest string
	if n, err := fmt.Sscanf(name, "%020d-%020d%s", &first, &last, &rest); n != 3 || err != nil {
		return 0, 0, false
	}
	return first, last, rest == extension && name == rangeName(first, last)
}
