package network_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sources/network"
)

// The service as a load target on one core: a process of its own with
// GOMAXPROCS=1, so that all of its Go code, the collector included, has one
// thread at a time, while the client has the rest of the machine. It is this
// test program, started again with loadDB.
const (
	loadDB      = "ORDERWIRE_LOAD_DB" // of the service to run
	loadRate    = 2000                // requests in a second
	loadRound   = 10 * time.Second
	loadClients = 64 // most requests under way; more would wait for the client
)

// A process that is to be the service never gets to the tests.
func init() {
	if db := os.Getenv(loadDB); db != "" {
		if err := serveLoad(db); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// serveLoad serves a database until its standard input ends. It prints its
// address first; GET /-/spent tells its processor time in nanoseconds.
func serveLoad(db string) error {
	debug.SetGCPercent(300) // as the program does
	svc, err := network.Open(context.Background(), network.Config{DB: db, TimestampWindow: -1})
	if err != nil {
		return err
	}
	defer svc.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", svc.Handler())
	mux.HandleFunc("GET /-/spent", func(w http.ResponseWriter, _ *http.Request) {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err == nil {
			fmt.Fprint(w, u.Utime.Nano()+u.Stime.Nano())
		}
	})
	fmt.Fprintln(os.Stdout, "http://"+listener.Addr().String())
	go func() {
		io.Copy(io.Discard, os.Stdin) //nolint:errcheck // whatever ends it
		listener.Close()
	}()
	if err := http.Serve(listener, mux); !strings.Contains(err.Error(), "closed") {
		return err
	}
	return nil
}

// target is a service on one core and its client.
type target struct {
	url    string
	client http.Client
}

// startTarget runs the fixture's database in a process of its own.
func (f *fixture) startTarget(b *testing.B) *target {
	b.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), loadDB+"="+f.db, "GOMAXPROCS=1")
	child.Stderr = os.Stderr
	stop, err := child.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := child.Start(); err != nil {
		b.Fatal(err)
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		stop.Close()
		if err := child.Wait(); err != nil {
			b.Error(err)
		}
	})
	return &target{strings.TrimSpace(url), http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: loadClients}}}
}

// post makes a call and checks that it succeeds.
func (t *target) post(service string, body []byte) error {
	res, err := t.client.Post(t.url+"/"+appKey+"/"+service, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && !bytes.HasPrefix(answer, []byte(`{"Status":0,`)) {
		err = fmt.Errorf("HTTP %d: %.100s", res.StatusCode, answer)
	}
	return err
}

// spent is the processor time of the service.
func (t *target) spent(b *testing.B) time.Duration {
	b.Helper()
	res, err := t.client.Get(t.url + "/-/spent")
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.Fatal(err)
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return time.Duration(n)
}

// benchLoad measures the service as a load target.
func (f *fixture) benchLoad(b *testing.B, pages int) {
	b.Run("load", func(b *testing.B) {
		t := f.startTarget(b)
		bodies := f.randomDetails(20_000)
		b.Run("detail at 2000 a second", func(b *testing.B) {
			for b.Loop() {
				t.paced(b, ordersDetail, bodies)
			}
		})
		now := f.clock.unix.Load()
		for _, number := range []int{1, min(500, pages)} {
			name := "query page=" + strconv.Itoa(number)
			b.Run(name, func(b *testing.B) {
				windows := int64(0) // no window is asked for twice, so nothing is remembered of it
				t.inTurn(b, ordersQuery, func() []byte {
					windows++
					return f.signed(appKey, appSecret, ordersQuery,
						params{"Stime": now - 86400 + windows, "Etime": now, "PageSize": 200, "Page": number})
				})
			})
		}
		for _, groups := range []string{"Day", "Day,ProgramId,WebsiteId,SubId"} {
			b.Run("statistics by "+groups, func(b *testing.B) {
				t.inTurn(b, statisticsGet, func() []byte {
					return f.signed(appKey, appSecret, statisticsGet, params{"Stime": now - 365*86400, "Etime": now, "GroupBy": groups, "PageSize": 200})
				})
			})
		}
	})
}

// randomDetails signs calls for orders from everywhere in the table.
func (f *fixture) randomDetails(n int) [][]byte {
	f.tb.Helper()
	dice := rand.New(rand.NewPCG(1, 2))
	first, last := f.number(`SELECT MIN(id) FROM orders`), f.number(`SELECT MAX(id) FROM orders`)
	ids := make([]string, n)
	for i := range ids {
		ids[i] = strconv.FormatInt(first+dice.Int64N(last-first+1), 10)
	}
	bodies := make([][]byte, 0, n)
	for _, row := range f.query(`SELECT program_id, order_sn FROM orders WHERE id IN (` + strings.Join(ids, ", ") + `)`) {
		bodies = append(bodies, f.signed(appKey, appSecret, ordersDetail, params{"ProgramId": row[0], "OrderSn": row[1]}))
	}
	dice.Shuffle(len(bodies), func(i, k int) { bodies[i], bodies[k] = bodies[k], bodies[i] })
	return bodies
}

// paced sends a round of calls, one at each tick. A call's latency begins at
// its tick, so one that had to wait, for the client too, counts with its wait.
func (t *target) paced(b *testing.B, service string, bodies [][]byte) {
	b.Helper()
	calls := int(loadRate * loadRound / time.Second)
	took, errs := make([]time.Duration, calls), make([]error, calls)
	next := make(chan int, calls)
	before, begun := t.spent(b), time.Now()
	due := func(i int) time.Time { return begun.Add(time.Duration(i) * time.Second / loadRate) }
	var group sync.WaitGroup
	for range loadClients {
		group.Go(func() {
			for i := range next {
				errs[i] = t.post(service, bodies[i%len(bodies)])
				took[i] = time.Since(due(i))
			}
		})
	}
	for i := range calls {
		<-time.After(time.Until(due(i)))
		next <- i
	}
	close(next)
	group.Wait()
	elapsed := time.Since(begun)
	for _, err := range errs {
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(calls)/elapsed.Seconds(), "req/s")
	report(b, took, t.spent(b)-before)
}

// inTurn sends calls one after the other, 500 at least.
func (t *target) inTurn(b *testing.B, service string, body func() []byte) {
	b.Helper()
	var took []time.Duration
	before := t.spent(b)
	for b.Loop() {
		for range 500 {
			call := body()
			begun := time.Now()
			if err := t.post(service, call); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(begun))
		}
	}
	report(b, took, t.spent(b)-before)
}

// report reports latencies and what of a core a call has cost the service.
func report(b *testing.B, took []time.Duration, spent time.Duration) {
	b.Helper()
	slices.Sort(took)
	at := func(share float64) float64 { return took[int(share*float64(len(took)-1))].Seconds() * 1000 }
	b.ReportMetric(at(0.5), "p50-ms")
	b.ReportMetric(at(0.99), "p99-ms")
	b.ReportMetric(at(1), "max-ms")
	b.ReportMetric(float64(spent.Microseconds())/float64(len(took)), "cpu-µs/req")
	b.ReportMetric(0, "ns/op")
	b.Logf("%d calls, load average %s", len(took), loadAverage())
}

// loadAverage says what else the machine had to do, where the system tells it.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}
