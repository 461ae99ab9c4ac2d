package duckdbtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/sinks/archive"
)

// fullEvents take more than the small disk has.
const fullEvents = 40_000

// smallDisk mounts a disk in memory, of 2 MiB.
func smallDisk(tb testing.TB) (folder string) {
	tb.Helper()
	folder = tb.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder).CombinedOutput(); err != nil {
		tb.Skipf("a tmpfs cannot be mounted here: %v: %s", err, out)
	}
	tb.Cleanup(func() {
		if out, err := exec.Command("umount", folder).CombinedOutput(); err != nil {
			tb.Errorf("umount: %v: %s", err, out)
		}
	})
	return folder
}

// grow gives a small disk more than anything here takes.
func grow(tb testing.TB, folder string) {
	tb.Helper()
	if out, err := exec.Command("mount", "-o", "remount,size=256m", folder).CombinedOutput(); err != nil {
		tb.Fatalf("remount: %v: %s", err, out)
	}
}

// The disk of the archive fills up: the sink says so and waits, readers see whole
// commits only, and when there is space it goes on by itself.
func TestFullDisk(t *testing.T) {
	program(t)
	log, at := newLog(t), location{folder: filepath.Join(smallDisk(t), "archive")}
	at.url = at.folder
	log.fill(t, fullEvents)
	config := at.configure(t, log.url, "roll_bytes: 1MiB, roll_every: 1s")
	p := launch(t, program(t), "run", "--only", "archive", "-c", config)
	saysFull(t, at.folder, p.await(t, "sink stands still"))
	p.pause(t) // between two attempts, so that nothing changes while the test looks
	commits := wholeCommits(t, at.folder)
	if n := len(commits); n == 0 || commits[n-1].Last >= fullEvents {
		t.Fatalf("%d commits fit onto the disk", n)
	}
	p.unpause(t)
	grow(t, filepath.Dir(at.folder))
	awaitArchived(t, at.folder, fullEvents)
	p.terminate(t)
	log.once(t, at.folder)
	at.verify(t, config)
	noStrays(t, at.folder)
}

// The embedded log is on another disk than the archive, and that is full from the
// start: the program runs all the same.
func TestFullDiskBesideAnEmbeddedLog(t *testing.T) {
	program(t)
	dir, at := t.TempDir(), location{folder: filepath.Join(smallDisk(t), "archive")}
	at.url = at.folder
	config := at.configureIn(t, dir, "", "roll_bytes: 1MiB, roll_every: 1s")
	server, err := jetstream.StartEmbedded(t.Context(), jetstream.EmbeddedConfig{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	log := openFilled(t, server.URL())
	log.fill(t, fullEvents)
	log.close(t)
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(filepath.Dir(at.folder), "filler")
	if err := os.WriteFile(filler, make([]byte, 4<<20), 0o600); err == nil {
		t.Fatal("the disk is larger than the test means it to be")
	}

	once := exec.Command(program(t), "run", "--once", "-c", config)
	out, err := once.CombinedOutput()
	if err == nil {
		t.Error("run --once ended well on a full disk")
	}
	saysFull(t, at.folder, string(out))
	p := launch(t, program(t), "run", "-c", config)
	saysFull(t, at.folder, p.await(t, "work cannot begin"))
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	saysFull(t, at.folder, p.await(t, "sink stands still")) // as it is small still
	grow(t, filepath.Dir(at.folder))
	awaitArchived(t, at.folder, fullEvents)
	p.terminate(t)
	log.once(t, at.folder)
	at.verify(t, config)
	noStrays(t, at.folder)
}

// saysFull fails unless a message says where there is no space, and what to do.
func saysFull(tb testing.TB, folder, message string) {
	tb.Helper()
	for _, want := range []string{folder, "no space left on device", "free space there", "the log holds the events"} {
		if !strings.Contains(message, want) {
			tb.Errorf("no %q in: %s", want, message)
		}
	}
}

// wholeCommits fails unless readers see what the manifest holds and nothing else.
func wholeCommits(tb testing.TB, folder string) []archive.Commit {
	tb.Helper()
	commits, err := archive.ReadManifest(tb.Context(), folder)
	if err != nil {
		tb.Fatal(err)
	}
	if n := len(commits); n > 0 {
		l := openLake(tb, folder)
		l.answers(tb, "SELECT count(*), count(DISTINCT sequence), min(sequence), max(sequence) FROM events",
			[]string{key(commits[n-1].Totals.Rows, commits[n-1].Totals.Rows, commits[0].First, commits[n-1].Last)})
	}
	return commits
}

// pause stops the process in the middle of whatever it does.
func (p *process) pause(tb testing.TB) { p.signal(tb, syscall.SIGSTOP) }

// unpause lets a paused process go on as if nothing had been.
func (p *process) unpause(tb testing.TB) { p.signal(tb, syscall.SIGCONT) }

func (p *process) signal(tb testing.TB, s syscall.Signal) {
	tb.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		tb.Fatal(err)
	}
}
