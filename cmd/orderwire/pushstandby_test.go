package main_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sources/openapi"
)

// pushAddress is where a process takes the pushes of the account.
func (p *process) pushAddress(tb testing.TB) string {
	tb.Helper()
	_, address, _ := strings.Cut(p.log.await(tb, "pushes are taken"), " url=")
	return address
}

// sendPush pushes an order as the network does, and returns the answer.
func sendPush(tb testing.TB, address string) string {
	tb.Helper()
	u, err := url.Parse(address)
	if err != nil {
		tb.Fatal(err)
	}
	body := fmt.Sprintf(`{"ProgramId":"1","OrderSn":"unknown","Timestamp":%d}`, time.Now().Unix())
	signed, err := openapi.SignBody(testSecret, u.Path, []byte(body), openapi.PlainAmpersand)
	if err != nil {
		tb.Fatal(err)
	}
	res, err := http.Post(address, "application/json", bytes.NewReader(signed))
	if err != nil {
		tb.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return string(answer)
}

// awaitTaken pushes until a process takes it.
func awaitTaken(tb testing.TB, address string) {
	tb.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(time.Minute); sendPush(tb, address) != "1"; {
		select {
		case <-tick.C:
		case <-limit:
			tb.Fatal("pushes are never taken")
		}
	}
}

// A process that stands by for an account takes none of its pushes, so that the
// network sends them again; when it has taken the account over, it does.
func TestPushStandby(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldConfig{orders: 50, yaml: fmt.Sprintf("nats: {url: '%s'}\npostback: {listen: '127.0.0.1:0'}\n", natsServer(t))})
	w.replace(t, "    poll:", "    push: true\n    poll:")
	first := launch(t, "run", "-c", w.config, "--only", "poll")
	first.log.await(t, "this process does the work now\" account=main")
	second := launch(t, "run", "-c", w.config, "--only", "poll")
	awaitTaken(t, first.pushAddress(t))
	if answer := sendPush(t, second.pushAddress(t)); answer != "-1" {
		t.Errorf("the process that stands by answers %q", answer)
	}
	first.kill()
	second.log.await(t, "this process does the work now\" account=main")
	awaitTaken(t, second.pushAddress(t))
	second.log.await(t, "an order that the network has pushed was not fetched")
	second.terminate(t)
}
