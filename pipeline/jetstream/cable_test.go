package jetstream_test

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/orderwire/orderwire/pipeline/jetstream"
)

// cable is a way to a server that can be cut, or freeze: then nothing comes
// through in either direction, and nobody is told.
type cable struct {
	listener net.Listener
	server   string
	url      string // of the server by this way

	mu     sync.Mutex
	passes chan struct{} // closed while it is not frozen
	conns  []net.Conn
	astray []byte // in the subject of a request whose answer is to be lost
}

func newCable(tb testing.TB, server *jetstream.Embedded) *cable {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	c := &cable{listener: l, server: strings.TrimPrefix(server.Address(), "nats://"), passes: make(chan struct{})}
	c.url = strings.Replace(server.URL(), c.server, l.Addr().String(), 1)
	close(c.passes)
	var active sync.WaitGroup
	active.Go(func() { c.accept(&active) })
	tb.Cleanup(func() {
		_ = l.Close()
		c.cut()
		active.Wait()
	})
	return c
}

func (c *cable) accept(active *sync.WaitGroup) {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", c.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		c.mu.Lock()
		c.conns = append(c.conns, client, server)
		c.mu.Unlock()
		active.Go(func() { c.carry(server, client) })
		active.Go(func() { c.carry(client, server) })
	}
}

func (c *cable) carry(to io.WriteCloser, from io.Reader) {
	defer func() { _ = to.Close() }()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		c.mu.Lock()
		passes := c.passes
		c.mu.Unlock()
		<-passes
		if n > 0 {
			c.mislead(buf[:n])
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// loseAnswer has the answer to the next request with that in its subject go nowhere.
func (c *cable) loseAnswer(request string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.astray = []byte(request)
}

// lost reports whether that answer was lost.
func (c *cable) lost() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.astray == nil
}

// mislead changes where the request wants its answer.
func (c *cable) mislead(data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := bytes.Index(data, c.astray)
	if c.astray == nil || at < 0 {
		return
	}
	if reply := bytes.Index(data[at:], []byte("_INBOX.")); reply >= 0 {
		data[at+reply] = '-'
		c.astray = nil
	}
}

func (c *cable) freeze() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passes = make(chan struct{})
}

func (c *cable) thaw() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.passes:
	default:
		close(c.passes)
	}
}

// cut breaks the connections; new ones can be made at once.
func (c *cable) cut() {
	c.thaw()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = nil
}
