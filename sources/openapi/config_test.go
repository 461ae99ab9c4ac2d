package openapi_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/sources/openapi"
)

func TestNewClientRefuses(t *testing.T) {
	tests := []struct {
		name, field string
		change      func(*openapi.Config)
	}{
		{"no address", "BaseURL", func(c *openapi.Config) { c.BaseURL = "" }},
		{"no scheme", "BaseURL", func(c *openapi.Config) { c.BaseURL = "api.example.com" }},
		{"another scheme", "BaseURL", func(c *openapi.Config) { c.BaseURL = "ftp://api.example.com" }},
		{"no host", "BaseURL", func(c *openapi.Config) { c.BaseURL = "https:///v1" }},
		{"no address at all", "BaseURL", func(c *openapi.Config) { c.BaseURL = "https://[::1" }},
		{"a password", "BaseURL", func(c *openapi.Config) { c.BaseURL = "https://me:hidden@example.com" }},
		{"a query", "BaseURL", func(c *openapi.Config) { c.BaseURL = "https://example.com?x=1" }},
		{"a fragment", "BaseURL", func(c *openapi.Config) { c.BaseURL = "https://example.com/#x" }},
		{"no key", "AppKey", func(c *openapi.Config) { c.AppKey = "" }},
		{"a key of two segments", "AppKey", func(c *openapi.Config) { c.AppKey = "1/2" }},
		{"a key that climbs", "AppKey", func(c *openapi.Config) { c.AppKey = ".." }},
		{"a key to be escaped", "AppKey", func(c *openapi.Config) { c.AppKey = "ключ" }},
		{"no secret", "AppSecret", func(c *openapi.Config) { c.AppSecret = "" }},
		{"a secret with a line end", "AppSecret", func(c *openapi.Config) { c.AppSecret = "hidden\n" }},
		{"a prefix with a slash", "ServicePrefix", func(c *openapi.Config) { c.ServicePrefix = "svc/x" }},
		{"a negative timeout", "Timeout", func(c *openapi.Config) { c.Timeout = -1 }},
		{"negative attempts", "MaxAttempts", func(c *openapi.Config) { c.MaxAttempts = -1 }},
		{"a negative pause", "InitialBackoff", func(c *openapi.Config) { c.InitialBackoff = -1 }},
		{"a negative longest pause", "MaxBackoff", func(c *openapi.Config) { c.MaxBackoff = -1 }},
		{"a negative size", "MaxBody", func(c *openapi.Config) { c.MaxBody = -1 }},
		{"an endless size", "MaxBody", func(c *openapi.Config) { c.MaxBody = math.MaxInt64 }},
		{"no rate", "RequestsPerSecond", func(c *openapi.Config) { c.RequestsPerSecond = math.NaN() }},
		{"a negative burst", "Burst", func(c *openapi.Config) { c.Burst = -1 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := openapi.Config{BaseURL: "https://api.example.com", AppKey: testKey, AppSecret: testSecret}
			tt.change(&cfg)
			c, err := openapi.NewClient(cfg)
			var wrong *openapi.ConfigError
			if c != nil || !errors.As(err, &wrong) || wrong.Field != tt.field {
				t.Fatalf("got %v, want a ConfigError about %s", err, tt.field)
			}
			if !strings.Contains(err.Error(), tt.field) || strings.Contains(err.Error(), "hidden") {
				t.Errorf("message: %v", err)
			}
		})
	}
}

func TestNewClientNamesEveryWrongField(t *testing.T) {
	_, err := openapi.NewClient(openapi.Config{})
	for _, field := range []string{"BaseURL", "AppKey", "AppSecret"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s is missing in: %v", field, err)
		}
	}
}
