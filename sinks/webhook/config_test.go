package webhook

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
)

func TestBadConfigs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, field, problem string
		edit                 func(*Config)
	}{
		{"no name", "name", "is missing", func(c *Config) { c.Name = "" }},
		{"no url", "url", "is missing", func(c *Config) { c.URL = "" }},
		{"no url at all", "url", "is not a URL", func(c *Config) { c.URL = "https://a b/token-1" }},
		{"relative", "url", "has a scheme other than https", func(c *Config) { c.URL = "/token-1" }},
		{"ftp", "url", "has a scheme other than https", func(c *Config) { c.URL = "ftp://example.com/token-1" }},
		{"no host", "url", "has no host, or no valid port", func(c *Config) { c.URL = "https:///token-1" }},
		{"port", "url", "has no host, or no valid port", func(c *Config) { c.URL = "https://example.com:70000/token-1" }},
		{"plain", "url", "is plain http", func(c *Config) { c.URL = "http://example.com/token-1" }},
		{"plain, private", "url", "is plain http", func(c *Config) { c.URL = "http://127.0.0.1/token-1" }},
		{"user", "url", "holds a user or password", func(c *Config) { c.URL = "https://u:token-1@example.com" }},
		{"fragment", "url", "has a fragment", func(c *Config) { c.URL = "https://example.com/#token-1" }},
		{"private", "url", "address not allowed", func(c *Config) { c.URL = "https://10.0.0.1/token-1" }},
		{"no secret", "secret", "it is missing", func(c *Config) { c.Secret = "" }},
		{"short secret", "secret", "it has 16 bytes, want 24 to 64", func(c *Config) { c.Secret = secretOf(16) }},
		{"old secret", "previous_secrets[1]", "does not begin with", func(c *Config) { c.PreviousSecrets = []string{testSecret, "token-1"} }},
		{"many secrets", "previous_secrets", "has 16 secrets", func(c *Config) { c.PreviousSecrets = slices.Repeat([]string{testSecret}, 16) }},
		{"event", "events[1]", "is no event type", func(c *Config) { c.Events = []schema.EventType{schema.OrderCreated, "created"} }},
		{"timeout", "timeout", "is negative", func(c *Config) { c.Timeout = -time.Second }},
		{"answer", "max_answer_bytes", "is negative", func(c *Config) { c.MaxAnswerBytes = -1 }},
		{"reserved", "headers.webhook-id", "is set by Orderwire", func(c *Config) { c.Headers = map[string]string{"webhook-id": "token-1"} }},
		{"host", "headers.Host", "is set by Orderwire", func(c *Config) { c.Headers = map[string]string{"Host": "token-1"} }},
		{"agent", "headers.User-Agent", "is set by Orderwire", func(c *Config) { c.Headers = map[string]string{"User-Agent": "token-1"} }},
		{"header name", "headers.X Y?", "is no header name", func(c *Config) { c.Headers = map[string]string{"X Y\n": "token-1"} }},
		{"header value", "headers.X-Key", "has a line break", func(c *Config) { c.Headers = map[string]string{"X-Key": "token-1\r\nX: y"} }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := Config{Name: "partner-a", URL: "https://example.com/token-1", Secret: testSecret}
			tt.edit(&cfg)
			_, err := New(cfg)
			var bad *ConfigError
			if !errors.As(err, &bad) {
				t.Fatalf("got %v", err)
			}
			if bad.Field != tt.field || !strings.Contains(bad.Problem, tt.problem) || bad.Hint == "" {
				t.Errorf("got field %q, problem %q, hint %q", bad.Field, bad.Problem, bad.Hint)
			}
			if strings.Contains(err.Error(), "token-1") || strings.Contains(err.Error(), testSecret[6:]) {
				t.Errorf("the error tells a secret: %v", err)
			}
		})
	}
}

func TestAllMistakesAreReported(t *testing.T) {
	t.Parallel()
	_, err := New(Config{Timeout: -1, Headers: map[string]string{"a": "1", "A": "2"}})
	for _, field := range []string{"name", "url", "secret", "timeout", "headers."} {
		if !strings.Contains(err.Error(), `webhook "": `+field) {
			t.Errorf("nothing about %s in: %v", field, err)
		}
	}
	if !errors.Is(err, ErrSecret) {
		t.Error("the error does not wrap ErrSecret")
	}
}

func TestGoodConfigs(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"https://example.com", "https://example.com:8443/in?key=1", "https://[2606:4700::1]/in", "https://93.184.216.34/"} {
		if _, err := New(Config{Name: "a", URL: url, Secret: testSecret}); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, url := range []string{"http://127.0.0.1:8080/in", "http://receiver.internal/in", "http://[::1]:80", "https://10.0.0.7/in", "https://example.com"} {
		if _, err := New(Config{Name: "a", URL: url, Secret: testSecret, AllowPrivate: true}); err != nil {
			t.Errorf("%s with allow_private: %v", url, err)
		}
	}
}

func TestConfigKeepsItsSecretsOutOfTexts(t *testing.T) {
	t.Parallel()
	cfg := Config{Name: "a", URL: "https://example.com/token-1", Secret: testSecret, Headers: map[string]string{"Authorization": "token-1"}}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("configured", "endpoint", cfg)
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s", cfg, cfg, cfg, cfg), log.String()} {
		if strings.Contains(text, "token-1") || strings.Contains(text, "whsec_") || !strings.Contains(text, "https://example.com") {
			t.Errorf("got %s", text)
		}
	}
}
