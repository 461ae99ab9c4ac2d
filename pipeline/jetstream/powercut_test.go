package jetstream_test

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
)

const (
	cutLives  = 50
	cutGroups = 8
	cutBatch  = 100
	cutAcks   = 12                     // a life ends after 0 to so many acknowledgements,
	cutWithin = 20 * time.Millisecond  // and so much later at most;
	cutStart  = 300 * time.Millisecond // after none: so long after its start at most
)

// What the process that is killed is told by its environment.
const (
	cutDirVariable   = "ORDERWIRE_TEST_POWERCUT_DIR"   // the server's directory
	cutFirstVariable = "ORDERWIRE_TEST_POWERCUT_FIRST" // number of its first attempt
)

// A process with the embedded server publishes batches in a loop and is killed with
// SIGKILL at a random moment, 50 times on the same directory: also while it starts,
// recovers, or ends a batch. Each batch that it called acknowledged is in the log,
// whole; any other is there whole or not at all; versions have no gap and nothing
// stands twice.
//
// That shows what the end of a process does. What it had written, the system still
// has, so a test like this cannot show what a power cut would take: for that the
// server syncs each write before it acknowledges it (sync_interval: always).
func TestPowerCut(t *testing.T) {
	if dir := os.Getenv(cutDirVariable); dir != "" {
		publishUntilKilled(t, dir)
		return
	}
	dir := t.TempDir()
	book := &ledger{}
	for range cutLives {
		live(t, dir, book)
	}
	l := pipelinetest.Log(t, pipelinetest.Server(t, dir).URL())
	last, err := l.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	log := readStored(t, l, last)
	book.check(t, log)
	if len(book.attempts) < cutLives {
		t.Errorf("only %d batches in %d lives", len(book.attempts), cutLives)
	}
	t.Logf("%d lives, %d events; %s", cutLives, last, book.tally(log))
}

// live runs the process once, kills it, and notes what it said.
func live(tb testing.TB, dir string, book *ledger) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), os.Args[0], "-test.run=^TestPowerCut$", "-test.timeout=1m")
	cmd.Env = append(os.Environ(), cutDirVariable+"="+dir, cutFirstVariable+"="+strconv.Itoa(len(book.attempts)+1))
	var trouble bytes.Buffer
	cmd.Stderr = &trouble
	said, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	kill := func() { _ = cmd.Process.Signal(syscall.SIGKILL) }
	acks := rand.IntN(cutAcks + 1)
	if acks == 0 {
		time.AfterFunc(rand.N(cutStart), kill)
	}
	var other strings.Builder
	for lines := bufio.NewScanner(said); lines.Scan(); {
		switch line := lines.Text(); line {
		case "try":
			book.begin(cutBatch)
		case "ack":
			book.settle(uint64(len(book.attempts)), acknowledged, nil)
			if acks--; acks == 0 {
				time.AfterFunc(rand.N(cutWithin), kill)
			}
		default:
			other.WriteString(line + "\n")
		}
	}
	_ = cmd.Wait() // it was killed, and if not:
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		tb.Fatalf("the process ended by itself (%s):\n%s%s", cmd.ProcessState, &other, &trouble)
	}
}

// publishUntilKilled brings orders from version to version on an embedded server,
// and says on its output when a batch is on its way and when it is acknowledged.
func publishUntilKilled(tb testing.TB, dir string) {
	tb.Helper()
	first, err := strconv.ParseUint(os.Getenv(cutFirstVariable), 10, 64)
	if err != nil {
		tb.Fatal(err)
	}
	l := pipelinetest.Log(tb, pipelinetest.Server(tb, dir).URL())
	if err := l.LoadIndex(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	for number := first; ; number++ {
		group := int(number) % cutGroups
		msgs := make([]*message.Message, cutBatch)
		for i := range msgs {
			n := group*cutBatch + i
			known, _ := l.Known(key(n))
			e := pipelinetest.Event("main", n, known.Version+1)
			if msgs[i], err = pipeline.NewMessage(&e, known.Sequence, number); err != nil {
				tb.Fatal(err)
			}
		}
		fmt.Fprintln(os.Stdout, "try")
		if err := publish(tb, l, msgs...); err != nil {
			tb.Fatal(err)
		}
		fmt.Fprintln(os.Stdout, "ack")
	}
}
