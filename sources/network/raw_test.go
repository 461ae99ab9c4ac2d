package network_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/sources/network"
)

// raw sends bytes as they are and returns the answer. One that is cut short says
// that nothing more will come; the server takes that for a client that is gone.
func (f *fixture) raw(request string, cut bool) (code int, a answer) {
	f.tb.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.server.URL, "http://"))
	if err != nil {
		f.tb.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		f.tb.Fatal(err)
	}
	if cut {
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			f.tb.Fatal(err)
		}
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		f.tb.Fatal(err)
	}
	defer res.Body.Close()
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		if err := json.NewDecoder(res.Body).Decode(&a); err != nil {
			f.tb.Fatal(err)
		}
	}
	return res.StatusCode, a
}

// What no HTTP client would send: our answer where HTTP itself holds, a plain
// refusal of the server where it does not. The service goes on.
func TestBadHTTP(t *testing.T) {
	f := start(t, nil)
	now := f.clock.unix.Load()
	path := "/" + appKey + "/" + ordersQuery
	head := "POST " + path + " HTTP/1.1\r\nHost: h\r\n"
	tests := []struct {
		name, request string
		http          int
		status        network.Status // 0 for a plain refusal
	}{
		{"body cut short", head + "Content-Length: 100\r\n\r\n{}", 200, network.StatusBody},
		{"chunk cut short", head + "Transfer-Encoding: chunked\r\n\r\nff\r\n{}", 200, network.StatusBody},
		{"broken chunk", head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", 200, network.StatusBody},
		{"no length at all", head + "\r\n", 200, network.StatusBody},
		{"a length too large", head + "Content-Length: 1048577\r\n\r\n" + strings.Repeat(" ", 1<<20+1), 413, network.StatusTooLarge},
		{"a length nobody has", head + "Content-Length: 99999999999999999999\r\n\r\n{}", 400, 0},
		{"a negative length", head + "Content-Length: -1\r\n\r\n{}", 400, 0},
		{"two lengths", head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400, 0},
		{"an encoding of transfer", head + "Transfer-Encoding: gzip\r\n\r\n{}", 501, 0},
		{"two hosts", head + "Host: i\r\nContent-Length: 2\r\n\r\n{}", 400, 0},
		{"bad escape in the path", "POST /%zz/x HTTP/1.1\r\nHost: h\r\n\r\n", 400, 0},
		{"space in the path", "POST /a b/x HTTP/1.1\r\nHost: h\r\n\r\n", 400, 0},
		{"whole address", "POST http://elsewhere" + path + " HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}", 200, network.StatusParameter},
		{"CONNECT", "CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n", 404, network.StatusNoRoute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, a := f.raw(tt.request, strings.HasSuffix(tt.name, "cut short"))
			if code != tt.http || a.Status != tt.status {
				t.Errorf("HTTP %d, Status %d: %s; want HTTP %d, Status %d", code, a.Status, a.Message, tt.http, tt.status)
			}
			if a := f.call(ordersQuery, params{"Stime": now, "Etime": now}); a.Status != network.StatusSuccess {
				t.Errorf("a good request after it: Status %d: %s", a.Status, a.Message)
			}
		})
	}
}
