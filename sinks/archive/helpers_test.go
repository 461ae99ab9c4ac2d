package archive

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// epoch is the broker time of sequence 0 in tests.
var epoch = time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)

// failer is what the helpers need of a test, which may be a property's.
type failer interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// event makes version v of test order n.
func event(account string, n int, v uint64) schema.Event {
	kind := schema.StatusChanged
	if v == 1 {
		kind = schema.OrderCreated
	}
	return schema.NewEvent(kind, schema.Data{
		Account: account, TimeZone: "Asia/Shanghai", Version: v, ObservedAt: epoch.Add(time.Duration(n) * time.Minute),
		Order: schema.Order{
			ProgramID: schema.NewText(fmt.Sprint(1040 + n%3)), OrderSn: schema.NewText(fmt.Sprintf("SN-%06d", n)),
			OrderTime: schema.NewText("2026-10-31 23:59:58"), OrdersPrice: schema.MoneyFromCents(int64(1000 + n)),
			Currency: schema.NewText("CNY"), Status: schema.NewText("1"),
			Details: []schema.OrderLine{{ItemID: schema.NewText("1"), LbOrderStatus: schema.NewText("2")}},
		},
	})
}

// entry puts an event into the log: one second of broker time for each sequence.
func entry(tb failer, sequence uint64, e schema.Event) schema.Entry {
	tb.Helper()
	raw, err := e.MarshalJSON()
	if err != nil {
		tb.Fatal(err)
	}
	parsed, err := schema.ParseEvent(raw)
	if err != nil {
		tb.Fatal(err)
	}
	return schema.Entry{
		Sequence: sequence, Stored: epoch.Add(time.Duration(sequence) * time.Second),
		Subject: e.Key().Subject(e.Type), Raw: raw, Event: parsed,
	}
}

// entries makes a log of n events of two accounts.
func entries(tb testing.TB, n int) []schema.Entry {
	tb.Helper()
	log := make([]schema.Entry, n)
	for i := range log {
		log[i] = entry(tb, uint64(i+1), event([]string{"main", "second"}[i%2], i, 1))
	}
	return log
}

// parseEntry puts a document into the log as it stands.
func parseEntry(tb testing.TB, sequence uint64, document string) schema.Entry {
	tb.Helper()
	e, err := schema.ParseEvent([]byte(document))
	if err != nil {
		tb.Fatal(err)
	}
	return schema.Entry{Sequence: sequence, Stored: epoch.Add(time.Duration(sequence) * time.Second), Raw: []byte(document), Event: e}
}

// open opens an archive and closes it at the end of the test.
func open(tb testing.TB, cfg Config) *Archive {
	tb.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(tb.Output(), nil))
	}
	a, err := Open(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = a.Close() })
	return a
}

// write hands entries over and flushes.
func write(tb testing.TB, a *Archive, log []schema.Entry) {
	tb.Helper()
	if err := a.Write(tb.Context(), log); err != nil {
		tb.Fatal(err)
	}
	if err := a.Flush(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// archived writes a log into a new archive as one batch, closes it and returns
// its folder.
func archived(tb testing.TB, log []schema.Entry) string {
	tb.Helper()
	dir := tb.TempDir()
	a := open(tb, Config{Dir: dir, RollEvery: 24 * time.Hour})
	write(tb, a, log)
	if err := a.Close(); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// behind returns the entries of a log behind a sequence.
func behind(log []schema.Entry, sequence uint64) []schema.Entry {
	i := slices.IndexFunc(log, func(e schema.Entry) bool { return e.Sequence > sequence })
	if i < 0 {
		return nil
	}
	return log[i:]
}

// rows reads an archive.
func rows(tb failer, dir string) []Row {
	tb.Helper()
	var all []Row
	for row, err := range Rows(tb.Context(), dir) {
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, row)
	}
	return all
}

func commits(tb failer, dir string) []Commit {
	tb.Helper()
	all, err := ReadManifest(tb.Context(), dir)
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// ranges returns the first and last sequence of each commit.
func ranges(tb testing.TB, dir string) [][2]uint64 {
	tb.Helper()
	var all [][2]uint64
	for _, c := range commits(tb, dir) {
		all = append(all, [2]uint64{c.First, c.Last})
	}
	return all
}

// tree returns the content of every file at a place, except the lock.
func tree(tb failer, dir string) map[string]string {
	tb.Helper()
	if isS3(dir) {
		return objects(tb, dir)
	}
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "lock" || e.Name() == "compact.lock" {
			return err
		}
		content, err := os.ReadFile(name)
		files[filepath.ToSlash(strings.TrimPrefix(name, dir+string(filepath.Separator)))] = string(content)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return files
}

// visible returns what a reader's pattern **/*.parquet matches.
func visible(tb failer, dir string) []string {
	tb.Helper()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(tree(tb, dir))), func(name string) bool {
		return !strings.HasSuffix(name, ".parquet")
	})
}

// named returns the files that the manifest names.
func named(tb failer, dir string) []string {
	tb.Helper()
	var names []string
	for _, f := range Live(commits(tb, dir)) {
		names = append(names, f.Path)
	}
	slices.Sort(names)
	return names
}

// sameTree fails unless two archives consist of the same bytes.
func sameTree(tb testing.TB, want, got map[string]string) {
	tb.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if content, ok := got[name]; !ok {
			tb.Errorf("%s is missing", name)
		} else if content != want[name] {
			tb.Errorf("%s differs", name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			tb.Errorf("%s is too much", name)
		}
	}
}

// sameEvent fails unless the row gives the entry's event back.
func sameEvent(tb failer, want *schema.Entry, got *Row) {
	tb.Helper()
	back, err := got.Event()
	if err != nil {
		tb.Fatal(err)
	}
	e := want.Event
	e.Data.ObservedAt = e.Data.ObservedAt.Truncate(time.Microsecond)
	e.Time = e.Data.ObservedAt
	if a, b := asJSON(tb, e), asJSON(tb, back); a != b {
		tb.Errorf("sequence %d came back otherwise:\n%s\n%s", want.Sequence, a, b)
	}
	if got.Sequence != int64(want.Sequence) || !got.StoredAt.Equal(want.Stored.Truncate(time.Microsecond)) {
		tb.Errorf("sequence %d stored at %v, read %d at %v", want.Sequence, want.Stored, got.Sequence, got.StoredAt)
	}
}

func asJSON(tb failer, v any) string {
	tb.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

// exactlyOnce fails unless every event of the log stands in exactly one row,
// and no file is there that the manifest does not name.
func exactlyOnce(tb failer, dir string, log []schema.Entry) {
	tb.Helper()
	bySequence := map[uint64]*schema.Entry{}
	for i := range log {
		bySequence[log[i].Sequence] = &log[i]
	}
	for _, row := range rows(tb, dir) {
		want := bySequence[uint64(row.Sequence)]
		if want == nil {
			tb.Errorf("sequence %d is doubled or was never written", row.Sequence)
			continue
		}
		delete(bySequence, uint64(row.Sequence))
		sameEvent(tb, want, &row)
	}
	for sequence := range bySequence {
		tb.Errorf("sequence %d is missing", sequence)
	}
	if a, b := named(tb, dir), visible(tb, dir); !slices.Equal(a, b) {
		tb.Errorf("the manifest names %v, readers see %v", a, b)
	}
}
