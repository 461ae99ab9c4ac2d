package webhook

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// authority signs certificates for a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file PEM
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert, a.key = certify(t, template, nil)
	a.file = write(t, "ca.pem", "CERTIFICATE", a.cert.Raw)
	return a
}

// certify signs a certificate for a new key, with its own key when a is nil.
func certify(t *testing.T, template *x509.Certificate, a *authority) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if a == nil {
		a = &authority{cert: template, key: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// issue returns the files of a certificate that is valid from and until.
func (a *authority) issue(t *testing.T, from, until time.Duration) (cert, key PEM) {
	t.Helper()
	c, k := certify(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "orderwire"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(from), NotAfter: time.Now().Add(until),
	}, a)
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "client.pem", "CERTIFICATE", c.Raw), write(t, "client.key", "PRIVATE KEY", der)
}

func write(t *testing.T, name, kind string, der []byte) PEM {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return PEM(file)
}

func textOf(t *testing.T, file PEM) PEM {
	t.Helper()
	b, err := os.ReadFile(string(file))
	if err != nil {
		t.Fatal(err)
	}
	return PEM(b)
}

// mutual is a receiver with a certificate of the authority that asks for one of
// the authority, and counts what it got.
func mutual(t *testing.T, a *authority) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	return mutualWith(t, a, -time.Hour, time.Hour)
}

// mutualWith is mutual with a certificate that is valid from and until.
func mutualWith(t *testing.T, a *authority, from, until time.Duration) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	cert, key := a.issue(t, from, until)
	pair, err := tls.LoadX509KeyPair(string(cert), string(key))
	if err != nil {
		t.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AddCert(a.cert)
	var got atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) == 1 && r.TLS.PeerCertificates[0].Subject.CommonName == "orderwire" {
			got.Add(1)
		}
		w.Header().Set("Connection", "close") // the next attempt connects anew
	}))
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, &got
}

func TestClientCertificate(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	s, got := mutual(t, a)
	cert, key := a.issue(t, -time.Hour, time.Hour)
	with := func(cert, key, ca PEM) *Endpoint {
		return endpoint(t, s.URL, func(c *Config) { c.ClientCert, c.ClientKey, c.CAFile = cert, key, ca })
	}
	deliver(t, with(cert, key, a.file), entry(t, 1))
	deliver(t, with(textOf(t, cert), textOf(t, key), textOf(t, a.file)), entry(t, 1))
	if n := got.Load(); n != 2 {
		t.Errorf("%d of 2 deliveries came with the certificate", n)
	}

	otherCert, otherKey := newAuthority(t).issue(t, -time.Hour, time.Hour)
	for name, e := range map[string]*Endpoint{
		"without a certificate":          with("", "", a.file),
		"with one of another authority":  with(otherCert, otherKey, a.file),
		"to one of an unknown authority": with(cert, key, newAuthority(t).file),
		"with the system's authorities":  with(cert, key, ""),
	} {
		err := e.Deliver(t.Context(), entry(t, 1))
		var failed *DeliveryError
		if !errors.As(err, &failed) || failed.StatusCode != 0 || failed.Permanent() {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if n := got.Load(); n != 2 {
		t.Errorf("%d deliveries arrived, want 2", n)
	}
}

// A certificate that runs out while the program runs is replaced in its place.
func TestRenewedClientCertificate(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	s, got := mutual(t, a)
	cert, key := a.issue(t, -2*time.Hour, -time.Hour)
	e := endpoint(t, s.URL, func(c *Config) { c.ClientCert, c.ClientKey, c.CAFile = cert, key, a.file })
	err := e.Deliver(t.Context(), entry(t, 1))
	var failed *DeliveryError
	if !errors.Is(err, ErrCertificate) || !errors.As(err, &failed) || failed.Permanent() || got.Load() != 0 {
		t.Fatalf("got %v and %d deliveries", err, got.Load())
	}
	if text := err.Error(); !strings.Contains(text, "nothing sent: client_cert: ") || !strings.Contains(text, string(cert)+" expired on ") {
		t.Errorf("got %v", err)
	}
	newCert, newKey := a.issue(t, -time.Hour, time.Hour)
	for old, renewed := range map[PEM]PEM{cert: newCert, key: newKey} {
		if err := os.Rename(string(renewed), string(old)); err != nil {
			t.Fatal(err)
		}
	}
	deliver(t, e, entry(t, 1))
	if got.Load() != 1 {
		t.Error("not delivered with the new certificate")
	}
}

func TestBadCertificates(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	cert, key := a.issue(t, -time.Hour, time.Hour)
	_, otherKey := a.issue(t, -time.Hour, time.Hour)
	expired, expiredKey := a.issue(t, -2*time.Hour, -time.Hour)
	early, earlyKey := a.issue(t, time.Hour, 2*time.Hour)
	garbage := write(t, "garbage.pem", "CERTIFICATE", []byte("garbage"))
	plain := PEM(filepath.Join(t.TempDir(), "plain"))
	if err := os.WriteFile(string(plain), []byte("token-1"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name          string
		cert, key, ca PEM
		field         string
		problem       string
		names         PEM // must stand in the problem
	}{
		{"no key", cert, "", "", "client_key", "is missing beside client_cert", ""},
		{"no certificate", "", key, "", "client_cert", "is missing beside client_key", ""},
		{"no such file", "/nowhere/c.pem", key, "", "client_cert", "no such file", "/nowhere/c.pem"},
		{"no such key", cert, "/nowhere/c.key", "", "client_key", "no such file", "/nowhere/c.key"},
		{"a key without its frame", cert, "MC4CAQAwBQYDK2VwBCIEItoken-1/+=", "", "client_key", "the value given, which is no PEM text, cannot be read", ""},
		{"a key without its frame, in lines", cert, "MC4CAQAwBQYDK2VwBCIE\nItoken-1.", "", "client_key", "the value given, which is no PEM text, cannot be read", ""},
		{"no such authority", "", "", "/nowhere/ca.pem", "ca_file", "no such file", "/nowhere/ca.pem"},
		{"no PEM", plain, key, "", "client_cert", "holds no PEM", plain},
		{"no PEM as key", cert, plain, "", "client_key", "holds no PEM", plain},
		{"no PEM as authority", "", "", plain, "ca_file", "holds no PEM", plain},
		{"key as authority", "", "", key, "ca_file", "holds no certificate", key},
		{"garbage as authority", "", "", garbage, "ca_file", "holds no certificate", garbage},
		{"swapped", key, cert, "", "client_cert", "does not begin with a certificate", key},
		{"garbage", garbage, key, "", "client_cert", "malformed certificate", garbage},
		{"other key", cert, otherKey, "", "client_key", "private key does not match public key", otherKey},
		{"text of the other key", cert, textOf(t, otherKey), "", "client_key", "the text given does not go with", cert},
		{"certificate as key", cert, cert, "", "client_key", "does not go with", cert},
		{"expired", expired, expiredKey, "", "client_cert", "expired on", expired},
		{"too early", early, earlyKey, "", "client_cert", "is not valid before", early},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := Config{Name: "a", URL: "https://example.com", Secret: testSecret, ClientCert: tt.cert, ClientKey: tt.key, CAFile: tt.ca}
			err := cfg.Check(time.Now())
			var bad *ConfigError
			if !errors.As(err, &bad) || bad.Endpoint != "a" || bad.Field != tt.field || bad.Hint == "" {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(bad.Problem, tt.problem) || !strings.Contains(bad.Problem, string(tt.names)) {
				t.Errorf("got %q", bad.Problem)
			}
			if text := fmt.Sprintf("%v %+v %#v", cfg.ClientKey, cfg.ClientKey, cfg.ClientKey); strings.Contains(text, "token-1") || strings.Contains(text, "-----") {
				t.Errorf("the key prints as %s", text)
			}
			if strings.Contains(err.Error(), "token-1") || strings.Contains(err.Error(), "-----") {
				t.Errorf("the error quotes the file: %v", err)
			}
			waits := tt.cert == expired || tt.cert == early
			if _, err := New(cfg); (err == nil) != waits {
				t.Errorf("New: %v", err)
			}
		})
	}
	cfg := Config{Name: "a", URL: "https://example.com", Secret: testSecret, ClientCert: cert, ClientKey: key, CAFile: a.file}
	if err := cfg.Check(time.Now()); err != nil {
		t.Error(err)
	}
	cfg.URL, cfg.AllowPrivate = "http://127.0.0.1", true
	if err := cfg.Check(time.Now()); err == nil || !strings.Contains(err.Error(), "plain http") {
		t.Errorf("plain http: %v", err)
	}
}
