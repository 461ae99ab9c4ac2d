package archive

import (
	"fmt"
	"testing"
	"time"
)

func TestAccountsInPaths(t *testing.T) {
	t.Parallel()
	for account, dir := range map[string]string{
		"main": "account=main", "": "account=__HIVE_DEFAULT_PARTITION__", "a=b": "account=a%3Db", "a/b": "account=a%2Fb",
		"..": "account=%2E%2E", "50%": "account=50%25", "ü": "account=%C3%BC", " ": "account=%20",
	} {
		name := partKey{account, 0}.fileName(1, 2)
		if want := dir + "/event_date=1970-01-01/00000000000000000001-00000000000000000002.parquet"; name != want {
			t.Errorf("%q is in %s", account, name)
		}
		if got := accountOf("/some/where/" + name); got != account {
			t.Errorf("%q came back as %q", account, got)
		}
	}
	for _, name := range []string{"x.parquet", "a/b/x.parquet", "account=%zz/event_date=1970-01-01/x.parquet", "account=a.b/d/x.parquet"} {
		if got := accountOf(name); got != "" {
			t.Errorf("%s is of account %q", name, got)
		}
	}
}

func TestPartitionOfFile(t *testing.T) {
	t.Parallel()
	for _, want := range []partKey{{"main", 20_500}, {"", 0}, {"a=b/c", -1}} {
		account, date, ok := File{Path: want.fileName(1, 2)}.Partition()
		if !ok || account != want.account || date.Unix() != want.day*daySeconds || date.Location() != time.UTC {
			t.Errorf("%+v came back as %q, %v, %v", want, account, date, ok)
		}
	}
	for _, name := range []string{"", "x.parquet", "account=a/x.parquet", "account=a/event_date=2026/x.parquet", "a/event_date=2026-11-01/x.parquet"} {
		if account, date, ok := (File{Path: name}).Partition(); ok {
			t.Errorf("%q is of %q, %v", name, account, date)
		}
	}
}

func TestRangesInNames(t *testing.T) {
	t.Parallel()
	const most = ^uint64(0)
	for _, want := range [][2]uint64{{1, 1}, {7, 1000}, {most - 1, most}} {
		first, last, ok := rangeOf(partKey{"main", 3}.fileName(want[0], want[1]))
		if !ok || first != want[0] || last != want[1] {
			t.Errorf("%v came back as %d to %d", want, first, last)
		}
	}
	for _, name := range []string{
		"", "part-0.parquet", "1-2.parquet", fmt.Sprintf("%020d-%020d.parquet.tmp", 1, 2), fmt.Sprintf("%020d-%020d", 1, 2),
		fmt.Sprintf("x%020d-%020d.parquet", 1, 2), fmt.Sprintf("%021d-%020d.parquet", 1, 2),
	} {
		if first, last, ok := rangeOf(name); ok {
			t.Errorf("%q has the range %d to %d", name, first, last)
		}
	}
}
