package config

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/archive"
	"github.com/orderwire/orderwire/sinks/commission"
	"github.com/orderwire/orderwire/sinks/webhook"
)

// checker gathers mistakes.
type checker struct {
	source   *source
	mistakes []error
}

func (k *checker) add(path, hint, what string, args ...any) {
	k.mistakes = append(k.mistakes, &Error{
		File: k.source.file, Line: k.source.line(path), Path: path, What: fmt.Sprintf(what, args...), Hint: hint,
	})
}

// require reports a missing value.
func (k *checker) require(path, value, hint string) bool {
	if value == "" {
		k.add(path, hint, "is missing")
	}
	return value != ""
}

func (c *Config) check() error {
	k := &checker{source: c.source}
	k.require("data_dir", c.DataDir, "a folder for everything that is kept on this machine")
	c.NATS.check(k)
	names := make(map[string]string)
	for i := range c.Accounts {
		path := fmt.Sprintf("accounts[%d]", i)
		c.Accounts[i].check(k, path)
		k.unique(names, path+".name", c.Accounts[i].Name)
	}
	clear(names)
	for i := range c.Webhooks {
		path := fmt.Sprintf("webhooks[%d]", i)
		c.Webhooks[i].check(k, path, c)
		k.unique(names, path+".name", c.Webhooks[i].Name)
	}
	c.Archive.check(k)
	c.Commission.check(k)
	c.HTTP.check(k)
	c.Postback.check(k, c)
	c.Tracing.check(k)
	c.Encryption.check(k)
	return errors.Join(k.mistakes...)
}

func (e *Encryption) check(k *checker) {
	const hint = "make one with openssl rand -base64 32"
	check := func(path string, key Secret) {
		if (&Encryption{Key: key}).Keys() == nil {
			k.add(path, hint, "is not base64 of %d bytes", keyBytes)
		}
	}
	if e.Key != "" {
		check("encryption.key", e.Key)
	} else if len(e.PreviousKeys) > 0 {
		k.add("encryption.key", hint, "is missing beside previous_keys")
	}
	for i, key := range e.PreviousKeys {
		check(fmt.Sprintf("encryption.previous_keys[%d]", i), key)
	}
}

func (t *Tracing) check(k *checker) {
	u, err := url.Parse(t.Endpoint)
	if t.Endpoint != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil) {
		k.add("tracing.endpoint", "write http://127.0.0.1:4318, the address of a collector that takes OTLP over HTTP; credentials go into headers",
			"is no such address")
	}
	if t.Sample < 0 || t.Sample > 1 || math.IsNaN(t.Sample) {
		k.add("tracing.sample", "write 0.1 for a tenth of the polls", "%v is not between 0 and 1", t.Sample)
	}
}

func (c *Commission) check(k *checker) {
	var wrong *commission.StoreError
	if errors.As(commission.CheckDSN(string(c.DSN)), &wrong) {
		k.add("commission.dsn", "give a file for SQLite, or postgres://user:password@host/database", "%v", wrong.Cause)
	}
	if _, err := time.LoadLocation(c.TimeZone); err != nil {
		k.add("commission.time_zone", "a name of the IANA list, such as Europe/Berlin", "unknown time zone %q", c.TimeZone)
	}
	if c.Rates == "" {
		return
	}
	if info, err := os.Stat(c.Rates); err != nil {
		k.add("commission.rates", "give the path of a file with lines of date,from,to,rate", "cannot be read: %s", reason(err))
	} else if info.IsDir() {
		k.add("commission.rates", "give the path of a file with lines of date,from,to,rate", "is a folder")
	}
}

func (a *Archive) check(k *checker) {
	if scheme, _, ok := strings.Cut(a.URL, "://"); ok && scheme != "file" && scheme != "s3" {
		k.add("archive.url", "give a folder on this machine, or s3://bucket/prefix", "places of kind %q are not supported by this version", scheme)
	}
	var wrong *archive.ConfigError
	if errors.As(archive.CheckAddress(a.URL), &wrong) {
		k.add("archive.url", wrong.Hint, "it %s", wrong.Problem)
	}
	a.Iceberg.check(k)
}

func (i *Iceberg) check(k *checker) {
	const catalogs = "sqlite://PATH, postgres://… or https://… for a REST catalog"
	if i.Catalog == "" {
		if i.Table != "" || i.Warehouse != "" {
			k.add("archive.iceberg.catalog", catalogs, "is missing")
		}
		return
	}
	kind, _, ok := strings.Cut(string(i.Catalog), "://")
	if !ok || !slices.Contains([]string{"sqlite", "postgres", "postgresql", "http", "https"}, kind) {
		k.add("archive.iceberg.catalog", catalogs, "is no catalog that is supported by this version")
	}
	if parts := strings.Split(i.Table, "."); i.Table != "" && (len(parts) < 2 || slices.Contains(parts, "")) {
		k.add("archive.iceberg.table", "write namespace.table", "%q is no name of a table", i.Table)
	}
	if scheme, _, ok := strings.Cut(i.Warehouse, "://"); ok && scheme != "s3" && !strings.HasPrefix(kind, "http") {
		k.add("archive.iceberg.warehouse", "give a folder on this machine, or s3://bucket/prefix", "places of kind %q are not supported by this version", scheme)
	}
}

func (k *checker) unique(seen map[string]string, path, name string) {
	if first, again := seen[name]; again && name != "" {
		k.add(path, "names must differ", "%q is already the name of %s", name, strings.TrimSuffix(first, ".name"))
	}
	seen[name] = path
}

func (k *checker) address(path, address string) {
	if address == "" {
		return
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		k.add(path, "write 127.0.0.1:8080", "%q is no host:port", address)
	}
}

func (a *Account) check(k *checker, path string) {
	k.require(path+".name", a.Name, "a short name of your choice")
	k.require(path+".app_key", string(a.AppKey), "the App Key of the network, as text or ${NAME}")
	k.require(path+".app_secret", string(a.AppSecret), "the App Secret, as ${NAME} or file:PATH")
	if k.require(path+".base_url", a.BaseURL, "the network's address, https://…") {
		u, err := url.Parse(a.BaseURL)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			k.add(path+".base_url", "write https://host", "%q is no http address", a.BaseURL)
		}
	}
	if _, err := time.LoadLocation(a.TimeZone); err != nil {
		k.add(path+".time_zone", "a name of the IANA list, such as Asia/Shanghai", "unknown time zone %q", a.TimeZone)
	}
	if a.Ampersand != "plain" && a.Ampersand != "hex" {
		k.add(path+".ampersand", "plain or hex", "%q is no way to write an ampersand", a.Ampersand)
	}
	a.Poll.check(k, path+".poll")
}

func (p *Poll) check(k *checker, path string) {
	fields := []string{"", "UpdateTime", "ChargeTime", "OrderDatatime"}
	if !slices.Contains(fields, p.OrderField) {
		k.add(path+".order_field", "UpdateTime, ChargeTime or OrderDatatime", "the network has no order field %q", p.OrderField)
	}
	if p.PageSize < 0 || p.PageSize > 10_000 {
		k.add(path+".page_size", "between 1 and what the network allows, usually 200", "%d orders in a page", p.PageSize)
	}
	if p.RequestsPerSecond < 0 {
		k.add(path+".requests_per_second", "a positive number", "%g requests a second", p.RequestsPerSecond)
	}
	if p.MaxSpan != 0 && time.Duration(p.MaxSpan) < time.Second {
		k.add(path+".max_span", "at least 1s", "the span is too short")
	}
	if p.Every != 0 && p.Overlap == 0 && time.Duration(p.Every) > 24*time.Hour {
		k.add(path+".every", "poll at least once a day", "a pause of %s", time.Duration(p.Every))
	}
}

func (w *Webhook) check(k *checker, path string, c *Config) {
	k.require(path+".name", w.Name, "a short name of your choice; the endpoint's cursor goes by it")
	k.require(path+".url", string(w.URL), "the endpoint's address, https://…")
	k.require(path+".secret", string(w.Secret), "whsec_ and base64 of 24 to 64 random bytes, or whsk_ and base64 of 32 for ed25519")
	for i, t := range w.Events {
		if schema.EventType(t).Token() == "" {
			k.add(fmt.Sprintf("%s.events[%d]", path, i), "order.created, status.changed, order.updated or order.vanished", "there is no event type %q", t)
		}
	}
	var wrong *webhook.ConfigError
	if errors.As(webhook.CheckWhere(w.Where), &wrong) {
		k.add(path+".where", wrong.Hint, "%s", wrong.Problem)
	}
	if w.RateLimit < 0 || math.IsInf(w.RateLimit, 0) || math.IsNaN(w.RateLimit) {
		k.add(path+".rate_limit", "a positive number, or leave it out for no limit", "%g attempts a second", w.RateLimit)
	}
	if w.Concurrency < 0 {
		k.add(path+".concurrency", "a positive number, or leave it out for 16", "%d deliveries at a time", w.Concurrency)
	}
	for i, d := range w.Retry {
		if d < 0 {
			k.add(fmt.Sprintf("%s.retry[%d]", path, i), "a pause such as 30s", "the pause is negative")
		}
	}
	if !slices.Contains([]string{"", ExhaustedContinue, ExhaustedPark}, w.OnExhausted) {
		k.add(path+".on_exhausted", ExhaustedContinue+" or "+ExhaustedPark, "%q is no way to go on after the last attempt", w.OnExhausted)
	}
	for i, name := range w.Accounts {
		if !slices.ContainsFunc(c.Accounts, func(a Account) bool { return a.Name == name }) {
			k.add(fmt.Sprintf("%s.accounts[%d]", path, i), "use the name of an entry of accounts", "there is no account %q", name)
		}
	}
}

func (p *Proxy) check(k *checker) {
	if (p.Header == "") != (len(p.From) == 0) {
		k.add("http.proxy", "header is what the proxy names people by, from is where it asks from", "header and from belong together")
	}
	foreign := func(r rune) bool { return !strings.ContainsRune(headerBytes, r) }
	if strings.ContainsFunc(p.Header, foreign) || slices.Contains([]string{"Authorization", "Cookie", "Host"}, http.CanonicalHeaderKey(p.Header)) {
		k.add("http.proxy.header", "write X-Forwarded-Email, or what your proxy sends", "%q cannot name a person", p.Header)
	}
	for i, text := range p.From {
		if prefix, err := parsePrefix(text); err != nil || prefix.Bits() == 0 {
			k.add(fmt.Sprintf("http.proxy.from[%d]", i), "write 10.0.0.7 or 10.0.0.0/24", "%q is no address of a proxy", text)
		}
	}
}

// headerBytes are what names of headers are made of here.
const headerBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func (h *HTTP) check(k *checker) {
	k.address("http.listen", h.Listen)
	h.Proxy.check(k)
	host, _, err := net.SplitHostPort(h.Listen)
	if err != nil || h.Token != "" || h.Proxy.Header != "" {
		return
	}
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		k.add("http.token", "set a token or http.proxy, or listen on 127.0.0.1", "everybody could read the status at %s", h.Listen)
	}
}
