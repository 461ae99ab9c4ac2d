package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestErrorsAndLogsTellNoSecret drives every kind of failure, with receivers
// that send back what they got, and searches all texts that come of it.
func TestErrorsAndLogsTellNoSecret(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	raw := rawReceiver(t, func(request []byte) []byte { return request })
	receivers := map[string]string{
		"sends the request back as its answer": raw,
		"closes at once":                       rawReceiver(t, func([]byte) []byte { return nil }),
		"cuts the head":                        rawReceiver(t, func(r []byte) []byte { return []byte("HTTP/1.1 200 OK\r\nX: " + string(r[:9])) }),
		"answers with a bad length": rawReceiver(t, func(r []byte) []byte {
			return []byte("HTTP/1.1 200 OK\r\nContent-Length: " + strings.Fields(string(r))[1] + "\r\n\r\n")
		}),
		"speaks no TLS": strings.Replace(raw, "http:", "https:", 1),
		"refuses and sends the body back": newReceiver(t, func(w http.ResponseWriter, req *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_ = req.Header.Write(w)
			_, _ = io.WriteString(w, personal)
		}).URL,
		"redirects": newReceiver(t, func(w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, "/elsewhere?"+req.URL.RawQuery, http.StatusFound)
		}).URL,
		"has an unknown certificate": tlsReceiver(t).URL,
		"is not there":               "http://127.0.0.1:1",
		"has no name":                "http://no-such-host.invalid",
	}
	for name, url := range receivers {
		e := endpoint(t, url+"/path-token?query=token", func(c *Config) {
			c.Headers = map[string]string{"Authorization": "header-token"}
			c.PreviousSecrets = []string{privateOf(1)}
			c.Timeout = 10 * time.Second
			c.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		if strings.HasSuffix(url, ".invalid") {
			dialer := newDialer(newGuard(true))
			dialer.Resolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
				return nil, errors.New("no name service")
			}}
			e.transport.DialContext = dialer.DialContext
		}
		sent := entry(t, 1)
		err := e.Deliver(t.Context(), sent)
		if err == nil {
			t.Errorf("%s: delivered", name)
			continue
		}
		slog.New(slog.NewJSONHandler(&log, nil)).Error(name, "err", err)
		for e := err; e != nil; e = errors.Unwrap(e) {
			searchSecrets(t, name, e.Error())
		}
		if !strings.Contains(err.Error(), `"partner-a"`) || !strings.Contains(err.Error(), sent.Event.ID) {
			t.Errorf("%s: endpoint or event is missing in: %v", name, err)
		}
	}
	searchSecrets(t, "log", log.String())
}

func searchSecrets(t *testing.T, where, text string) {
	t.Helper()
	for _, secret := range []string{"token", testSecret[6:20], privateOf(1)[5:20], "v1,", "v1a,", personal, "SN-1", "POST /"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s tells %q: %s", where, secret, text)
		}
	}
}

// rawReceiver reads one request and answers with whatever bytes it is told.
func rawReceiver(t *testing.T, answer func(request []byte) []byte) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			buf := make([]byte, 16<<10)
			n, _ := c.Read(buf)
			_, _ = c.Write(answer(buf[:n]))
			c.Close()
		}
	}()
	return "http://" + listener.Addr().String()
}

func tlsReceiver(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(status(http.StatusOK))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func TestTLS(t *testing.T) {
	t.Parallel()
	s := tlsReceiver(t)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	deliver(t, endpoint(t, s.URL, func(c *Config) { c.RootCAs = roots }), entry(t, 1))

	old := httptest.NewUnstartedServer(status(http.StatusOK))
	old.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS11}
	old.StartTLS()
	defer old.Close()
	roots.AddCert(old.Certificate())
	if err := endpoint(t, old.URL, func(c *Config) { c.RootCAs = roots }).Deliver(t.Context(), entry(t, 1)); err == nil {
		t.Error("delivered over TLS 1.1")
	}
}
