// Package config reads Orderwire's configuration: YAML over environment
// variables over defaults. Unknown keys and contradictions are refused, with
// the line and a hint.
package config

import (
	"encoding/base64"
	"net/netip"
	"time"

	"github.com/orderwire/orderwire/sources/postback"
)

// Config is the whole configuration file. Every field's comment says its
// meaning, unit and default.
type Config struct {
	// DataDir holds everything that is kept on this machine: the embedded
	// log, and archive and books unless they are elsewhere. Default "./data",
	// relative to the working directory.
	DataDir string `yaml:"data_dir" env:"DATA_DIR"`
	// NATS says where the log is; embedded in this process by default.
	NATS NATS `yaml:"nats" envPrefix:"NATS_"`
	// Accounts are the accounts of the network to poll.
	Accounts []Account `yaml:"accounts"`
	// Archive is the Parquet archive.
	Archive Archive `yaml:"archive" envPrefix:"ARCHIVE_"`
	// Webhooks are the endpoints that get events by HTTP.
	Webhooks []Webhook `yaml:"webhooks"`
	// Commission is where the commission sums are kept.
	Commission Commission `yaml:"commission" envPrefix:"COMMISSION_"`
	// Postback is where the network pushes orders to; off by default.
	Postback Postback `yaml:"postback" envPrefix:"POSTBACK_"`
	// HTTP is the status service of `orderwire run`; off by default.
	HTTP HTTP `yaml:"http" envPrefix:"HTTP_"`
	// Tracing is where traces go; off by default.
	Tracing Tracing `yaml:"tracing" envPrefix:"TRACING_"`
	// Encryption is of the endpoints that are added by command; off by default.
	Encryption Encryption `yaml:"encryption" envPrefix:"ENCRYPTION_"`

	source *source
}

// Account is an account of the network.
type Account struct {
	// Name of the account in keys, subjects and reports. Required, and not to
	// be changed later.
	Name string `yaml:"name"`
	// BaseURL is the network's address in front of the key. Required.
	BaseURL string `yaml:"base_url"`
	// AppKey and AppSecret are the account's credentials. Required.
	AppKey    Secret `yaml:"app_key"`
	AppSecret Secret `yaml:"app_secret"`
	// ServicePrefix is the network's own word in service names, default "svc".
	ServicePrefix string `yaml:"service_prefix"`
	// TimeZone of the network's time texts, default Asia/Shanghai.
	TimeZone string `yaml:"time_zone"`
	// SuccessStatus lists the envelope's Status values that mean success,
	// default [0, 200].
	SuccessStatus []int `yaml:"success_status"`
	// Ampersand is how "&" is written in what is signed: "plain" (default) or
	// "hex" (\u0026).
	Ampersand string `yaml:"ampersand"`
	// Push takes the network's order push for this account, beside the polls;
	// default false. It needs Postback.
	Push bool `yaml:"push"`
	// Poll says how the account is polled.
	Poll Poll `yaml:"poll"`
}

// Poll says how an account is polled.
type Poll struct {
	// Every is the pause between polls, default 1m.
	Every Duration `yaml:"every"`
	// Overlap is how far a poll reaches back behind the last one, default 10m.
	Overlap Duration `yaml:"overlap"`
	// Backfill is how far back the first poll begins, default 90d.
	Backfill Duration `yaml:"backfill"`
	// OrderField is the time that windows filter: UpdateTime (default),
	// ChargeTime or OrderDatatime.
	OrderField string `yaml:"order_field"`
	// MaxSpan is the longest window the network accepts, default 24h.
	MaxSpan Duration `yaml:"max_span"`
	// PageSize is the number of orders in a page, default 200.
	PageSize int `yaml:"page_size"`
	// RequestsPerSecond bounds the rate, default 5.
	RequestsPerSecond float64 `yaml:"requests_per_second"`
	// Timeout of one request, default 30s.
	Timeout Duration `yaml:"timeout"`
	// MaxAttempts is how often a request is tried before the poll fails (and is
	// repeated later), default 8.
	MaxAttempts int `yaml:"max_attempts"`
}

// Archive is the Parquet archive.
type Archive struct {
	// URL is the folder, a path or file:///path, or a bucket,
	// s3://bucket/prefix?region=…&endpoint=…, without credentials. Default
	// DATA_DIR/archive.
	URL string `yaml:"url" env:"URL"`
	// RollBytes is the size of a batch at which files are closed, default 128MiB.
	RollBytes Bytes `yaml:"roll_bytes" env:"ROLL_BYTES"`
	// RollEvery is the age of a batch at which files are closed, default 5m.
	RollEvery Duration `yaml:"roll_every" env:"ROLL_EVERY"`
	// Iceberg is the table that follows the archive; off by default.
	Iceberg Iceberg `yaml:"iceberg" envPrefix:"ICEBERG_"`
}

// Iceberg is a table of Apache Iceberg that names the archive's files.
type Iceberg struct {
	// Catalog is sqlite://PATH, postgres://…, or https://… for a REST catalog,
	// with client:secret@ or token@ if need be; empty (default) switches it off.
	Catalog Secret `yaml:"catalog" env:"CATALOG"`
	// Table is namespace.table, default orderwire.events.
	Table string `yaml:"table" env:"TABLE"`
	// Warehouse is where the table's metadata is, a folder or
	// s3://bucket/prefix, default _orderwire/iceberg below the archive; for a
	// REST catalog the name of its warehouse.
	Warehouse string `yaml:"warehouse" env:"WAREHOUSE"`
}

// Webhook is an endpoint that gets events by HTTP.
type Webhook struct {
	// Name of the endpoint; its cursor goes by it. Required.
	Name string `yaml:"name"`
	// URL of the endpoint, https. Required.
	URL Secret `yaml:"url"`
	// Secret signs deliveries, whsec_ and base64 of 24 to 64 bytes, or whsk_ and
	// base64 of an ed25519 key. Required.
	Secret Secret `yaml:"secret"`
	// PreviousSecrets sign as well, while the receiver changes over; default none.
	PreviousSecrets []Secret `yaml:"previous_secrets"`
	// Events are the event types to deliver, default all.
	Events []string `yaml:"events"`
	// Accounts and Programs to deliver, default all.
	Accounts []string `yaml:"accounts"`
	Programs []string `yaml:"programs"`
	// Where is an expression that delivered events satisfy, see package webhook;
	// default none.
	Where string `yaml:"where"`
	// AllowPrivate lets the endpoint be plain http on a private or loopback
	// address.
	AllowPrivate bool `yaml:"allow_private"`
	// ClientCert and ClientKey are the certificate for receivers that ask for one:
	// names of PEM files, or their texts by file:PATH or ${NAME}. Files that are
	// named are read again for each connection. Default none.
	ClientCert Secret `yaml:"client_cert"`
	ClientKey  Secret `yaml:"client_key"`
	// CAFile holds the authorities, in the same way, that the receiver's
	// certificate is checked against; default those of the system.
	CAFile Secret `yaml:"ca_file"`
	// Timeout of one attempt, default 15s.
	Timeout Duration `yaml:"timeout"`
	// Headers are sent with every delivery.
	Headers map[string]Secret `yaml:"headers"`
	// Concurrency is the most deliveries at a time, default 16.
	Concurrency int `yaml:"concurrency"`
	// RateLimit is the most attempts in a second, default 0: no limit.
	RateLimit float64 `yaml:"rate_limit"`
	// Unordered delivers each event by itself: one that fails does not hold up
	// the others of its order, and they may overtake it. Default false.
	Unordered bool `yaml:"unordered"`
	// OnExhausted says what becomes of an order after the last attempt, when the
	// event is in the dead letters: "continue" (default) goes on with the order's
	// next event, "park" keeps the order parked until a person releases it.
	OnExhausted string `yaml:"on_exhausted"`
	// Retry lists the pauses before further attempts; default 5s, 5m, 30m, 2h,
	// 5h, 10h, 14h, 20h, 24h.
	Retry []Duration `yaml:"retry"`
}

// Values of Webhook.OnExhausted.
const (
	ExhaustedContinue = "continue"
	ExhaustedPark     = "park"
)

// Commission is where the commission sums are kept.
type Commission struct {
	// DSN is a file for SQLite, default DATA_DIR/commission.db, or a PostgreSQL
	// database, postgres://user:password@host/database.
	DSN Secret `yaml:"dsn" env:"DSN"`
	// TimeZone is that of the days and months to which the ledger posts, a name of
	// the IANA list; default UTC. A change does not move what is posted.
	TimeZone string `yaml:"time_zone" env:"TIME_ZONE"`
	// Rates is a file of exchange rates, lines of date,from,to,rate, which reports
	// convert with; it is read for each of them. Empty (default): none convert.
	Rates string `yaml:"rates" env:"RATES"`
}

// Zone returns TimeZone, which has been checked.
func (c *Commission) Zone() *time.Location {
	zone, err := time.LoadLocation(c.TimeZone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// Postback is where the network pushes orders to. The address of an account is
// Path and its name: http://LISTEN/push/main.
type Postback struct {
	// Listen is host:port; empty (default) switches it off. Every push is signed;
	// for TLS, put a proxy in front.
	Listen string `yaml:"listen" env:"LISTEN"`
	// Path in front of the accounts' names, default /push. The network signs it, so
	// a proxy must not change it.
	Path string `yaml:"path" env:"PATH"`
	// ClockWindow is how far a push's Timestamp may be from this machine's clock,
	// default 5m.
	ClockWindow Duration `yaml:"clock_window" env:"CLOCK_WINDOW"`
}

// HTTP is the status service.
type HTTP struct {
	// Listen is host:port; empty (default) switches the service off.
	Listen string `yaml:"listen" env:"LISTEN"`
	// Token is asked for as a bearer token, except by /healthz and /readyz.
	// Required when Listen is no loopback address and there is no Proxy.
	Token Secret `yaml:"token" env:"TOKEN"`
	// Proxy is one that signs people in, in place of the token or beside it.
	Proxy Proxy `yaml:"proxy" envPrefix:"PROXY_"`
}

// Proxy is one that signs people in, by OpenID Connect or however else, and names
// them in a header of each request that it hands on.
type Proxy struct {
	// Header is its name, such as X-Forwarded-Email; empty (default) for none. The
	// proxy must take it out of what visitors send.
	Header string `yaml:"header" env:"HEADER"`
	// From are the addresses of the proxy, such as 10.0.0.7 or 10.0.0.0/24. The
	// header counts in requests from there alone. Required with Header.
	From []string `yaml:"from" env:"FROM"`
}

// Addresses returns From as prefixes, those that are none left out.
func (p *Proxy) Addresses() (all []netip.Prefix) {
	for _, text := range p.From {
		if prefix, err := parsePrefix(text); err == nil {
			all = append(all, prefix)
		}
	}
	return all
}

// parsePrefix reads an address, alone or with the length of its network.
func parsePrefix(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(address.Unmap(), address.Unmap().BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	return prefix.Masked(), nil
}

// Tracing is where OpenTelemetry traces go, from a poll to what became of its events.
type Tracing struct {
	// Endpoint takes OTLP over HTTP, such as http://127.0.0.1:4318, without the
	// /v1/traces that is put behind it; empty (default) switches tracing off.
	Endpoint string `yaml:"endpoint" env:"ENDPOINT"`
	// Headers of each request to it, such as a token.
	Headers map[string]Secret `yaml:"headers"`
	// Sample is the share of polls that are traced, with all that follows from them:
	// above 0, at most 1, which is the default.
	Sample float64 `yaml:"sample" env:"SAMPLE"`
}

// Encryption is of what is kept beside the log and holds secrets: the definitions of
// endpoints that are added by command or over HTTP.
type Encryption struct {
	// Key encrypts, base64 of 32 bytes; empty (default): they are kept in plain.
	Key Secret `yaml:"key" env:"KEY"`
	// PreviousKeys can be read as well, until `orderwire run` has encrypted
	// everything anew at its start.
	PreviousKeys []Secret `yaml:"previous_keys"`
}

// keyBytes is the size of a key, for AES-256.
const keyBytes = 32

// Keys returns the bytes of the keys, the present one first, those that are none left
// out.
func (e *Encryption) Keys() (all [][]byte) {
	for _, text := range append([]Secret{e.Key}, e.PreviousKeys...) {
		if key, err := base64.StdEncoding.DecodeString(string(text)); err == nil && len(key) == keyBytes {
			all = append(all, key)
		}
	}
	return all
}

// defaults returns the configuration of an empty file.
func defaults() Config {
	return Config{DataDir: "./data", NATS: natsDefaults()}
}

// complete fills in the defaults that depend on other fields.
func (c *Config) complete() {
	for i := range c.Accounts {
		a := &c.Accounts[i]
		orDefault(&a.TimeZone, "Asia/Shanghai")
		orDefault(&a.Ampersand, "plain")
		orDefault(&a.Poll.MaxAttempts, 8)
	}
	orDefault(&c.Archive.URL, c.path("archive"))
	orDefault(&c.Archive.RollBytes, 128<<20)
	orDefault(&c.Archive.RollEvery, Duration(5*time.Minute))
	orDefault(&c.Postback.Path, postback.DefaultPath)
	orDefault(&c.Commission.TimeZone, "UTC")
	orDefault(&c.Tracing.Sample, 1)
	orDefault(&c.Commission.DSN, Secret(c.path("commission.db")))
}

func orDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}
