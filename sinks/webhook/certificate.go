package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// ErrCertificate marks a client certificate, its key, or an authority's
// certificate that cannot be used.
var ErrCertificate = errors.New("certificate cannot be used")

const (
	certificateHint = "give a PEM file, the certificate first and those between it and its authority behind it"
	keyHint         = "give the PEM file of the private key that belongs to client_cert, without a password"
	authorityHint   = "give a PEM file with the certificates of the authorities that vouch for the receiver"
	expiryHint      = "have it renewed, and put the new one into its place; a running orderwire takes it with its next connection"
)

// PEM is the name of a PEM file, or the text of one, which is told by its
// "-----BEGIN".
type PEM string

// String names the file. It hides a text, which may be a key, and what could be
// a key without its "-----BEGIN": a name that is told has a dot, or begins with
// a slash, which the base64 of a key does not.
func (p PEM) String() string {
	switch {
	case p.isText():
		return "the text given"
	case strings.ContainsAny(string(p), "\r\n") || !strings.Contains(string(p), ".") && !strings.HasPrefix(string(p), "/"):
		return "the value given, which is no PEM text,"
	default:
		return string(p)
	}
}

// GoString is String, for the verb %#v.
func (p PEM) GoString() string { return p.String() }

func (p PEM) isText() bool { return strings.Contains(string(p), "-----BEGIN") }

// read returns the text. The error wraps [ErrCertificate] and names the file.
func (p PEM) read() ([]byte, error) {
	if p.isText() {
		return []byte(p), nil
	}
	b, err := os.ReadFile(string(p))
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err // the name may be a key
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s cannot be read: %w", ErrCertificate, p, err)
	}
	if block, _ := pem.Decode(b); block == nil {
		return nil, fmt.Errorf("%w: %s holds no PEM", ErrCertificate, p)
	}
	return b, nil
}

// identity is the client certificate of an endpoint, nil for none. Its files
// are read again for every connection that is made, so that a renewed
// certificate needs no restart.
type identity struct {
	cert, key PEM
}

// load reads certificate and key and checks that they belong together. The
// error wraps [ErrCertificate] and names field and file, but quotes nothing.
func (i *identity) load() (*tls.Certificate, *ConfigError) {
	certText, err := i.cert.read()
	if err != nil {
		return nil, &ConfigError{Field: "client_cert", Problem: err.Error(), Hint: certificateHint, Cause: ErrCertificate}
	}
	keyText, err := i.key.read()
	if err != nil {
		return nil, &ConfigError{Field: "client_key", Problem: err.Error(), Hint: keyHint, Cause: ErrCertificate}
	}
	if block, _ := pem.Decode(certText); block == nil || block.Type != "CERTIFICATE" {
		return nil, badCertificate("client_cert", certificateHint, "%s does not begin with a certificate", i.cert)
	} else if _, err := x509.ParseCertificate(block.Bytes); err != nil {
		return nil, badCertificate("client_cert", certificateHint, "%s: %s", i.cert, strings.TrimPrefix(err.Error(), "x509: "))
	}
	pair, err := tls.X509KeyPair(certText, keyText)
	if err != nil { // its text names kinds of PEM blocks and of keys, no content
		return nil, badCertificate("client_key", keyHint, "%s does not go with %s: %s", i.key, i.cert, strings.TrimPrefix(err.Error(), "tls: "))
	}
	return &pair, nil
}

// valid checks that the certificate, as loaded, may be used at a time.
func (i *identity) valid(pair *tls.Certificate, now time.Time) *ConfigError {
	switch leaf := pair.Leaf; {
	case now.After(leaf.NotAfter):
		return badCertificate("client_cert", expiryHint, "%s expired on %s", i.cert, leaf.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(leaf.NotBefore):
		return badCertificate("client_cert", "see whether this machine's clock is right", "%s is not valid before %s", i.cert, leaf.NotBefore.UTC().Format(time.RFC3339))
	default:
		return nil
	}
}

// present serves [tls.Config.GetClientCertificate]. An error ends the attempt
// before anything is sent.
func (i *identity) present(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	pair, wrong := i.load()
	if wrong == nil {
		wrong = i.valid(pair, time.Now())
	}
	if wrong != nil {
		return nil, &certificateError{wrong}
	}
	return pair, nil
}

// certificateError is a mistake that was found while connecting.
type certificateError struct{ wrong *ConfigError }

func (f *certificateError) Error() string {
	return f.wrong.Field + ": " + f.wrong.Problem + "; " + f.wrong.Hint
}

func (f *certificateError) Unwrap() error { return ErrCertificate }

func badCertificate(field, hint, problem string, args ...any) *ConfigError {
	return &ConfigError{Field: field, Problem: ErrCertificate.Error() + ": " + fmt.Sprintf(problem, args...), Hint: hint, Cause: ErrCertificate}
}

// checkIdentity returns the client certificate, nil when there is none or when
// it is wrong.
func (c *Config) checkIdentity(p *problems) *identity {
	switch {
	case c.ClientCert == "" && c.ClientKey == "":
		return nil
	case c.ClientCert == "":
		p.add("client_cert", "is missing beside client_key", certificateHint)
		return nil
	case c.ClientKey == "":
		p.add("client_key", "is missing beside client_cert", keyHint)
		return nil
	case strings.HasPrefix(c.URL, "http://"):
		p.add("client_cert", "is of no use with plain http", "use https, or leave client_cert and client_key out")
		return nil
	}
	i := &identity{cert: c.ClientCert, key: c.ClientKey}
	if _, wrong := i.load(); wrong != nil {
		wrong.Endpoint = p.endpoint
		p.errs = append(p.errs, wrong)
		return nil
	}
	return i
}

// checkAuthorities returns who may vouch for the receiver, nil for those of the
// system.
func (c *Config) checkAuthorities(p *problems) *x509.CertPool {
	if c.CAFile == "" {
		return c.RootCAs
	}
	fail := func(problem string) *x509.CertPool {
		p.errs = append(p.errs, &ConfigError{p.endpoint, "ca_file", problem, authorityHint, ErrCertificate})
		return nil
	}
	text, err := c.CAFile.read()
	if err != nil {
		return fail(err.Error())
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return fail(fmt.Sprintf("%v: %s holds no certificate", ErrCertificate, c.CAFile))
	}
	return pool
}
