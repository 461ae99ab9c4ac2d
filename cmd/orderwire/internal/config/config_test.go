package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/pipeline/jetstream"
)

const minimal = `accounts:
  - name: main
    base_url: https://api.example.com
    app_key: 2312521
    app_secret: ${TEST_SECRET}
    poll: {every: 30s, backfill: 90d}
`

func TestDesignExample(t *testing.T) {
	t.Setenv("MAIN_APP_SECRET", "s3cr3t")
	t.Setenv("CONSOLE_TOKEN", "t0ken")
	c, err := config.Parse("orderwire.yaml", []byte(`data_dir: ./data
nats:    {url: "", credentials_file: "", replicas: 1}        # empty url: embedded
accounts:
  - name: main
    base_url: https://api.example.com
    app_key: "2312521"
    app_secret: ${MAIN_APP_SECRET}
    service_prefix: svc
    time_zone: Asia/Shanghai
    success_status: [0, 200]
    poll: {every: 1m, overlap: 10m, backfill: 90d, order_field: UpdateTime, max_span: 24h, page_size: 200, requests_per_second: 5}
archive:    {url: ./data/archive, roll_bytes: 128MiB, roll_every: 5m}
webhooks:
  - {name: partner-a, url: "https://example.com/hook", secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", events: [order.created, status.changed]}
commission: {dsn: ./data/commission.db}
http:       {listen: 127.0.0.1:8080, token: "${CONSOLE_TOKEN}"}
`))
	if err != nil {
		t.Fatal(err)
	}
	a := c.Accounts[0]
	if string(a.AppSecret) != "s3cr3t" || time.Duration(a.Poll.Backfill) != 90*24*time.Hour || a.Poll.PageSize != 200 {
		t.Errorf("%#v", a)
	}
	if c.Archive.RollBytes != 128<<20 || string(c.HTTP.Token) != "t0ken" {
		t.Errorf("%#v %#v", c.Archive, c.HTTP)
	}
}

func TestLayers(t *testing.T) {
	t.Setenv("TEST_SECRET", "x")
	t.Setenv("ORDERWIRE_DATA_DIR", "/var/lib/orderwire")
	t.Setenv("ORDERWIRE_NATS_MAX_AGE", "30d")
	c, err := config.Parse("f", []byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	if c.DataDir != "/var/lib/orderwire" || c.Archive.URL != "/var/lib/orderwire/archive" || time.Duration(c.NATS.MaxAge) != 30*24*time.Hour {
		t.Errorf("environment over defaults: %#v", c)
	}
	if c.Accounts[0].TimeZone != "Asia/Shanghai" || string(c.Accounts[0].AppKey) != "2312521" {
		t.Errorf("%#v", c.Accounts[0])
	}
	if c, err = config.Parse("f", []byte("data_dir: here\n"+minimal)); err != nil || c.DataDir != "here" {
		t.Errorf("file over environment: %v", err)
	}
}

func TestNATSSettings(t *testing.T) {
	t.Setenv("TEST_SECRET", "x")
	t.Setenv("ORDERWIRE_NATS_TLS_CA_FILE", "/etc/ca.pem")
	t.Setenv("ORDERWIRE_NATS_TOKEN", "${TEST_SECRET}yz")
	c, err := config.Parse("f", []byte(minimal+`nats:
  url: nats://a:4222,b
  tls: {cert_file: c.pem, key_file: k.pem, handshake_first: true}
  replicas: 3
  max_age: 90d
  max_bytes: 10GiB
  max_messages: 7
  max_message_size: 512KiB
  duplicate_window: 5m
  dead_letters_max_age: 30d
  attempts_max_age: 2d
  attempts_max_bytes: 64MiB
  compression: s2
  allow_data_loss: true
`))
	if err != nil {
		t.Fatal(err)
	}
	got := c.NATS.Log(string(c.NATS.URL), nil)
	want := jetstream.Config{
		URL: "nats://a:4222,b", Auth: jetstream.Auth{Token: "xyz"},
		TLS: jetstream.TLSConfig{CAFile: "/etc/ca.pem", CertFile: "c.pem", KeyFile: "k.pem", HandshakeFirst: true},
		Streams: jetstream.StreamConfig{
			Replicas: 3, Compress: true, MaxAge: 90 * 24 * time.Hour, MaxBytes: 10 << 30, MaxMessages: 7, MaxMessageSize: 512 << 10,
			DuplicateWindow: 5 * time.Minute, DeadMaxAge: 30 * 24 * time.Hour, AllowDataLoss: true,
			AttemptsMaxAge: 48 * time.Hour, AttemptsMaxBytes: 64 << 20,
		},
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if text := fmt.Sprintf("%v %+v %#v", c.NATS, c.NATS, c.NATS); strings.Contains(text, "xyz") {
		t.Errorf("the token prints: %s", text)
	}
}

func TestPostback(t *testing.T) {
	t.Setenv("TEST_SECRET", "x")
	c, err := config.Parse("f", []byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := c.Receiver(nil); r != nil || err != nil || c.Accounts[0].Push {
		t.Errorf("pushes are off by default: %v, %v", r, err)
	}
	t.Setenv("ORDERWIRE_POSTBACK_LISTEN", "127.0.0.1:8081")
	if c, err = config.Parse("f", []byte(minimal+"    push: true\npostback: {clock_window: 90s}\n")); err != nil {
		t.Fatal(err)
	}
	if want := (config.Postback{Listen: "127.0.0.1:8081", Path: "/push", ClockWindow: config.Duration(90 * time.Second)}); c.Postback != want {
		t.Errorf("%+v", c.Postback)
	}
	if r, err := c.Receiver(nil); r == nil || err != nil {
		t.Errorf("%v, %v", r, err)
	}
}

func TestSecretFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse("f", []byte(strings.Replace(minimal, "${TEST_SECRET}", "file:"+file, 1)))
	if err != nil || string(c.Accounts[0].AppSecret) != "from-file" {
		t.Errorf("%v", err)
	}
	if got := c.Accounts[0].AppSecret.String(); got != "***" {
		t.Errorf("a secret prints as %q", got)
	}
}

func TestMistakes(t *testing.T) {
	t.Setenv("TEST_SECRET", "x")
	tests := []struct{ name, old, repl, want string }{
		{"unknown key", "base_url", "base_ulr", `f:3: unknown key "base_ulr" (did you mean base_url?)`},
		{"unset variable", "TEST_SECRET", "NOT_SET_ANYWHERE", `f:5: environment variable NOT_SET_ANYWHERE is not set`},
		{"duration", "30s", "30 sec", `f:6: "30 sec" is no duration; write 30s, 10m, 24h or 90d`},
		{"address", "https://api", "ftp://api", `f:3: accounts[0].base_url: "ftp://api.example.com" is no http address (write https://host)`},
		{"order field", "every: 30s", "order_field: Time", `f:6: accounts[0].poll.order_field: the network has no order field "Time" (UpdateTime, ChargeTime or OrderDatatime)`},
		{"missing", "    app_key: 2312521\n", "", `f:2: accounts[0].app_key: is missing (the App Key of the network, as text or ${NAME})`},
		{"no YAML", "accounts:", "accounts: [", `f:`},
		{"duplicate key", "    app_key: 2312521\n", "    app_key: 1\n    app_key: 2\n", `f:5: mapping key "app_key" already defined at [4:5]`},
		{"zone", "poll:", "time_zone: Mars/Olympus\n    poll:", `f:6: accounts[0].time_zone: unknown time zone "Mars/Olympus" (a name of the IANA list, such as Asia/Shanghai)`},
		{"same name", "    poll:", "  - {name: main, base_url: 'http://x', app_key: a, app_secret: b}\n#", `f:6: accounts[1].name: "main" is already the name of accounts[0] (names must differ)`},
		{"event type", "accounts:", "webhooks:\n  - {name: a, url: u, secret: s, events: [order.lost]}\naccounts:", `f:2: webhooks[0].events[0]: there is no event type "order.lost" (order.created, status.changed, order.updated or order.vanished)`},
		{"rate", "accounts:", "webhooks:\n  - {name: a, url: u, secret: s, rate_limit: -1}\naccounts:", `f:2: webhooks[0].rate_limit: -1 attempts a second (a positive number, or leave it out for no limit)`},
		{"concurrency", "accounts:", "webhooks:\n  - {name: a, url: u, secret: s, concurrency: -2}\naccounts:", `f:2: webhooks[0].concurrency: -2 deliveries at a time (a positive number, or leave it out for 16)`},
		{"exhausted", "accounts:", "webhooks:\n  - {name: a, url: u, secret: s, on_exhausted: drop}\naccounts:", `f:2: webhooks[0].on_exhausted: "drop" is no way to go on after the last attempt (continue or park)`},
		{"open status", "accounts:", "http: {listen: '0.0.0.0:80'}\naccounts:", `f:1: http.token: everybody could read the status at 0.0.0.0:80 (set a token or http.proxy, or listen on 127.0.0.1)`},
		{"half a proxy", "accounts:", "http: {listen: '0.0.0.0:80', proxy: {header: X-Forwarded-Email}}\naccounts:", "f:1: http.proxy: header and from belong together"},
		{"proxy of all", "accounts:", "http: {listen: '0.0.0.0:80', proxy: {header: X-Forwarded-Email, from: [0.0.0.0/0]}}\naccounts:", `f:1: http.proxy.from[0]: "0.0.0.0/0" is no address of a proxy`},
		{"proxy's header", "accounts:", "http: {listen: '0.0.0.0:80', proxy: {header: authorization, from: [10.0.0.7]}}\naccounts:", `f:1: http.proxy.header: "authorization" cannot name a person`},
		{"push to nobody", "poll:", "push: true\n    poll:", `f:6: accounts[0].push: the network has no address to push to (set postback.listen, such as 127.0.0.1:8081)`},
		{"push of nobody", "accounts:", "postback: {listen: '127.0.0.1:8081'}\naccounts:", `f:1: postback.listen: no account takes pushes (set push: true on an account, or leave postback out)`},
		{"push address", "    poll:", "    push: true\npostback: {listen: here}\n#", `f:7: postback.listen: "here" is no host:port (write 127.0.0.1:8080)`},
		{"push path", "    poll:", "    push: true\npostback: {listen: ':1', path: push/}\n#", `f:7: postback.path: "push/" is no path that a push can be signed for (segments of letters, digits and ". _ ~ -", such as /push)`},
		{"push account", "name: main", "name: a b\n    push: true", `f:2: accounts[0].name: "a b" cannot stand in an address (letters, digits and ". _ ~ -" for an account with push: true)`},
		{"push and status", "    poll:", "    push: true\nhttp: {listen: '127.0.0.1:8081'}\npostback: {listen: '127.0.0.1:8081'}\n#", `f:8: postback.listen: "127.0.0.1:8081" is the address of http.listen already (use another port)`},
		{"short key", "accounts:", "encryption: {key: c2hvcnQ=}\naccounts:", `f:1: encryption.key: is not base64 of 32 bytes (make one with openssl rand -base64 32)`},
		{"no key", "accounts:", "encryption: {key: 'a key'}\naccounts:", `f:1: encryption.key: is not base64 of 32 bytes`},
		{"keys of before alone", "accounts:", "encryption:\n  previous_keys: ['x']\naccounts:", "f:2: encryption.key: is missing beside previous_keys (make one with openssl rand -base64 32)\nf:2: encryption.previous_keys[0]: is not base64 of 32 bytes"},
		{"replicas", "accounts:", "nats: {replicas: 3}\naccounts:", `f:1: nats.replicas: the embedded server is a single one (set nats.url to a cluster, or leave replicas at 1)`},
		{"storage", "accounts:", "nats: {storage: tape}\naccounts:", `f:1: nats.storage: "tape" is no kind of storage (file or memory)`},
		{"compression", "accounts:", "nats:\n  storage: memory\n  compression: s2\naccounts:", `f:3: nats.compression: what is in memory is not compressed (leave compression out)`},
		{"window", "accounts:", "nats: {max_age: 1m, duplicate_window: 2m}\naccounts:", `f:1: nats.duplicate_window: longer than the events stay (at most nats.max_age)`},
		{"two ways", "accounts:", "nats:\n  url: nats://h\n  token: t\n  nkey_file: f\naccounts:", `f:4: nats.nkey_file: two ways to authenticate: nats.nkey_file and nats.token (keep the one that the server asks for)`},
		{"user and token", "accounts:", "nats:\n  url: nats://a:S3CR3T@h\n  token: S3CR3T\naccounts:", `f:3: nats.token: two ways to authenticate: nats.token and the user in nats.url (keep the one that the server asks for)`},
		{"half a certificate", "accounts:", "nats:\n  url: tls://h\n  tls: {cert_file: c}\naccounts:", `f:3: nats.tls: half of a client certificate (give both cert_file and key_file, or neither)`},
		{"embedded TLS", "accounts:", "nats:\n  tls: {ca_file: c}\naccounts:", `f:2: nats.tls: TLS is of no use with the embedded server (set nats.url)`},
		{"embedded token", "accounts:", "nats:\n  token: S3CR3T\naccounts:", `f:2: nats.token: credentials are of no use with the embedded server (set nats.url)`},
		{"no address", "accounts:", "nats:\n  url: nats://a:S3CR3T@h:x\naccounts:", `f:2: nats.url: not the address of a server (write nats://host:4222, several separated by commas)`},
		{"scheme", "accounts:", "nats:\n  url: http://h\naccounts:", `f:2: nats.url: there is no scheme "http" (nats, tls, ws or wss)`},
		{"books", "accounts:", "commission: {dsn: 'mysql://u:p@h/x'}\naccounts:", `f:1: commission.dsn: cannot be used as commission database: unknown kind of database; write a path, for SQLite, or postgres://user:password@host/database (give a file for SQLite, or postgres://user:password@host/database)`},
		{"zone of the books", "accounts:", "commission: {time_zone: Mars}\naccounts:", `f:1: commission.time_zone: unknown time zone "Mars" (a name of the IANA list, such as Europe/Berlin)`},
		{"place", "accounts:", "archive: {url: 'gs://lake'}\naccounts:", `f:1: archive.url: places of kind "gs" are not supported by this version (give a folder on this machine, or s3://bucket/prefix)`},
		{"secret in a place", "accounts:", "archive: {url: 's3://a:S3CR3T@lake'}\naccounts:", `f:1: archive.url: it holds credentials (take them out`},
		{"no catalog", "accounts:", "archive: {iceberg: {table: lake.orders}}\naccounts:", `f:1: archive.iceberg.catalog: is missing (sqlite://PATH, postgres://… or https://… for a REST catalog)`},
		{"catalog", "accounts:", "archive: {iceberg: {catalog: 'mysql://a:S3CR3T@h/db'}}\naccounts:", `f:1: archive.iceberg.catalog: is no catalog that is supported by this version (sqlite`},
		{"table", "accounts:", "archive: {iceberg: {catalog: 'sqlite:///c.db', table: orders}}\naccounts:", `f:1: archive.iceberg.table: "orders" is no name of a table (write namespace.table)`},
		{"warehouse", "accounts:", "archive: {iceberg: {catalog: 'sqlite:///c.db', warehouse: 'gs://lake'}}\naccounts:", `f:1: archive.iceberg.warehouse: places of kind "gs" are not supported by this version (give a folder on this machine, or s3://bucket/prefix)`},
		{"key of iceberg", "accounts:", "archive: {iceberg: {catalogue: 'sqlite:///c.db'}}\naccounts:", `f:1: unknown key`},
		{"size", "accounts:", "archive: {roll_bytes: many}\naccounts:", `f:1: "many" is no size; write 128MiB or 1GB`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := config.Parse("f", []byte(strings.Replace(minimal, tt.old, tt.repl, 1)))
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "S3CR3T") {
				t.Errorf("the secret is in %v", err)
			}
		})
	}
}

func TestAllMistakesAtOnce(t *testing.T) {
	_, err := config.Parse("f", []byte("accounts:\n  - {name: a}\nwebhooks:\n  - {name: b}\n"))
	if err == nil || strings.Count(err.Error(), "\n") != 4 {
		t.Errorf("%v", err)
	}
}
