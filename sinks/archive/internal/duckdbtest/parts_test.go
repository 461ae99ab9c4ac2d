package duckdbtest

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/orderwire/orderwire/schema"
)

// bulkyEvent is one of a single account that compression does little about: about
// 1.5 KB in a file.
func bulkyEvent(r *rand.Rand, n int) schema.Event {
	e := fillEvent(r, n)
	noise := make([]byte, 1500)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	e.Data.Account = "bulky"
	e.Data.ObservedAt = stored
	e.Data.Order.Extra = jsontext.Value(fmt.Sprintf(`{"Noise":%q}`, base64.StdEncoding.EncodeToString(noise)))
	return schema.NewEvent(e.Type, e.Data)
}

// A file of more than 16 MiB goes to the store in parts. The program is killed in
// the middle of that: readers see nothing of the file, and the next start ends the
// upload and makes it anew.
func TestKilledInTheMiddleOfAnUpload(t *testing.T) {
	program(t)
	at, log := inBucket(t), newLog(t)
	log.fillWith(t, 20_000, bulkyEvent)
	config := at.configure(t, log.url, "roll_bytes: 50MiB, roll_every: 1m")
	p := launch(t, program(t), "run", "--only", "archive", "-c", config)
	awaitUpload(t, at, 1)
	if err := at.gateway.Pause(); err != nil { // so that the upload cannot be completed
		t.Fatal(err)
	}
	p.kill()
	if err := at.gateway.Unpause(); err != nil {
		t.Fatal(err)
	}
	log.free(t)
	left := remainsOf(t, at.folder)
	if n := uploads(t, at); n != 1 || left.phase != "2 behind the intent" {
		t.Fatalf("killed at %q, with %d uploads under way", left.phase, n)
	}
	if seen := glob(t, at.folder, "account=*", "*", "*"); len(seen) > 0 {
		t.Errorf("readers see %v", seen)
	}
	p = launch(t, program(t), "run", "--once", "--only", "archive", "-c", config)
	p.finish(t)
	if n := uploads(t, at); n != 0 {
		t.Errorf("%d uploads are not ended", n)
	}
	log.once(t, at.folder)
	at.verify(t, config)
	noStrays(t, at.folder)
}

func uploads(tb testing.TB, at location) int {
	tb.Helper()
	n, err := at.gateway.Uploads()
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// awaitUpload returns when so many uploads in parts are under way.
func awaitUpload(tb testing.TB, at location, n int) {
	tb.Helper()
	tick, limit := time.NewTicker(2*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for uploads(tb, at) < n {
		select {
		case <-tick.C:
		case <-limit:
			tb.Fatalf("%d uploads are under way, not %d", uploads(tb, at), n)
		}
	}
}
