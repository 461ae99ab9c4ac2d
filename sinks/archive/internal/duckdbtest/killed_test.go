package duckdbtest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// How much TestKilled does; the proof is 100 kills in 2,000,000 events.
const (
	killsVariable  = "ORDERWIRE_TEST_KILLS"  // default 8
	eventsVariable = "ORDERWIRE_TEST_EVENTS" // default 60,000
	seedVariable   = "ORDERWIRE_TEST_SEED"   // default a random one, which is logged
)

// setting reads a whole number from the environment.
func setting(tb testing.TB, variable string, otherwise int) int {
	tb.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv(variable), fmt.Sprint(otherwise)))
	if err != nil {
		tb.Fatalf("%s: %v", variable, err)
	}
	return n
}

// The program is killed with SIGKILL again and again while it archives a log.
// In the end DuckDB counts each event once, verify passes, and nothing is left
// behind; in between, too, DuckDB sees no event twice.
func TestKilled(t *testing.T) {
	events := setting(t, eventsVariable, 60_000)
	program(t) // ahead of the first life
	log := newLog(t)
	began := time.Now()
	log.fill(t, events)
	t.Logf("log of %d events filled in %s", events, time.Since(began).Round(time.Millisecond))
	seed := setting(t, seedVariable, rand.IntN(1<<30))
	t.Logf("%s=%d", seedVariable, seed)
	for _, where := range []struct {
		name string
		at   func(testing.TB) location
	}{{"disk", onDisk}, {"s3", inBucket}} {
		t.Run(where.name, func(t *testing.T) {
			k := &killer{
				log: log, at: where.at(t), dice: rand.New(rand.NewPCG(uint64(seed), 0)),
				kills: setting(t, killsVariable, 8), phases: map[string]int{}, undecided: map[string]string{},
			}
			k.run(t)
		})
	}
}

// killer kills one archiver after another.
type killer struct {
	log    *filledLog
	at     location
	dice   *rand.Rand
	kills  int
	config string

	phases    map[string]int    // kills by what they have left
	undecided map[string]string // files that were in place before their commit, and their hashes
}

func (k *killer) run(t *testing.T) {
	k.config = k.at.configure(t, k.log.url, "roll_bytes: 1MiB, roll_every: 1s")
	began := time.Now()
	share := k.log.last / k.kills // of a life
	for n := range k.kills {
		k.life(t, share)
		left := remainsOf(t, k.at.folder)
		k.phases[left.phase]++
		t.Logf("kill %d at %d of %d events: %s", n+1, left.position, k.log.last, left.phase)
		maps.Copy(k.undecided, left.undecided)
		if n%max(k.kills/8, 2) == 0 {
			neverTwice(t, k.at.folder)
		}
		if rest := k.log.last - int(left.position); rest < share { // the lives were longer than thought
			k.log.fill(t, 2*share)
		}
	}
	before, took := remainsOf(t, k.at.folder), time.Since(began)
	began = time.Now()
	p := launch(t, program(t), "run", "--once", "--only", "archive", "-c", k.config)
	p.finish(t)
	rest := k.log.last - int(before.position)
	t.Logf("%d kills in %s; then the last %d of %d events in %s", k.kills, took.Round(time.Second), rest, k.log.last, time.Since(began).Round(time.Millisecond))
	for _, phase := range slices.Sorted(maps.Keys(k.phases)) {
		t.Logf("%4d kills: %s", k.phases[phase], phase)
	}
	if before.position == 0 {
		t.Error("no life has committed anything")
	}
	k.log.once(t, k.at.folder)
	k.at.verify(t, k.config)
	noStrays(t, k.at.folder)
	same(t, k.at.folder, k.undecided)
}

// life is a process from its start to its kill, at a moment of one of three
// sorts: while it starts, while it works, and just behind one of the changes that
// it makes in the archive's own folder. It archives about so many events.
func (k *killer) life(t *testing.T, events int) {
	span := 100*time.Millisecond + time.Duration(events)*40*time.Microsecond
	changes, stop := watch(t, k.at.folder)
	defer stop()
	p := launch(t, program(t), "run", "--only", "archive", "-c", k.config)
	pause := time.Duration(k.dice.Int64N(int64(10 * time.Millisecond)))
	switch sort := k.dice.IntN(5); {
	case sort == 0:
		pause = time.Duration(k.dice.Int64N(int64(300 * time.Millisecond)))
	case changes == nil:
		k.begins(t, p)
		pause = time.Duration(k.dice.Int64N(int64(span)))
	case sort == 1:
		k.outlives(t, p, changes, 1)
		pause = time.Duration(k.dice.Int64N(int64(span)))
	default:
		k.outlives(t, p, changes, k.dice.IntN(events*k.at.changes/500))
	}
	select {
	case <-time.After(pause): // the moment is the test's own choice; nothing is waited for
	case <-p.done:
		t.Fatal("the process ended by itself")
	}
	p.kill()
	p.sound(t)
	k.log.free(t)
}

// begins returns when the archive has a folder of its own.
func (k *killer) begins(t *testing.T, p *process) {
	t.Helper()
	tick, limit := time.NewTicker(5*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for len(glob(t, k.at.folder, ownFolder)) == 0 {
		select {
		case <-tick.C:
		case <-p.done:
			t.Fatal("the process ended by itself")
		case <-limit:
			t.Fatal("the process does nothing")
		}
	}
}

// outlives returns after n changes, or when everything is archived.
func (k *killer) outlives(t *testing.T, p *process, changes <-chan fsnotify.Event, n int) {
	t.Helper()
	for idle := 0; n > 0; {
		select {
		case <-changes:
			n, idle = n-1, 0
		case <-p.done:
			t.Fatal("the process ended by itself")
		case <-time.After(time.Second):
			if position(t, k.at.folder) == uint64(k.log.last) {
				return
			}
			if idle++; idle == 60 {
				t.Fatal("the process does nothing")
			}
		}
	}
}

// watch reports each change in the archive's own folders, those that are there,
// until stop is called. The channel is nil when there is none yet.
func watch(tb testing.TB, folder string) (changes <-chan fsnotify.Event, stop func()) {
	tb.Helper()
	w, err := fsnotify.NewBufferedWatcher(10_000)
	if err != nil {
		tb.Fatal(err)
	}
	for _, name := range []string{"", "tmp", "manifest", "intents"} {
		err := w.Add(filepath.Join(folder, ownFolder, name))
		if err != nil && !os.IsNotExist(err) {
			tb.Fatal(err)
		}
	}
	stop = func() { _ = w.Close() }
	if len(w.WatchList()) == 0 {
		return nil, stop
	}
	return w.Events, stop
}
