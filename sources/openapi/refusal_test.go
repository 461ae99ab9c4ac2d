package openapi_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/sources/openapi"
)

func TestRefusals(t *testing.T) {
	tests := []struct {
		status    int
		message   string
		temporary bool
	}{
		{1001, "Sign error", false}, {1001, "", false}, {-1, "unknown key", false}, {1, "order not found", false},
		{429, "", true}, {500, "oops", true}, {503, "", true},
		{500, "Sign error", false}, {503, "Invalid parameter: Stime", false}, {500, "签名错误", false}, {500, "参数错误", false},
		{-1, "System BUSY", true}, {-1, "please Try Again", true}, {-1, "Too many requests", true}, {-1, "db timeout", true},
		{-1, "系统繁忙", true}, {-1, "请求过于频繁", true}, {-1, "请稍后再试", true}, {-1, "请求超时", true},
		{-1, "too many parameters", false}, {-1, "Timestamp timeout", false}, {-1, "时间戳超时", false},
		{-1, "No permission, try again after approval", false},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.status, tt.message), func(t *testing.T) {
			c, requests := serve(t, answers(fmt.Sprintf(`{"Status":"%d","Message":%q,"Data":[]}`, tt.status, tt.message)),
				func(cfg *openapi.Config) { cfg.MaxAttempts = 2 })
			_, err := c.Orders(t.Context(), dayQuery)
			var got *openapi.RefusedError
			if !errors.As(err, &got) || got.Status != tt.status || got.Message != tt.message || openapi.Temporary(err) != tt.temporary {
				t.Fatalf("got %v", err)
			}
			if want := map[bool]int64{true: 2, false: 1}[tt.temporary]; requests.Load() != want {
				t.Errorf("%d requests, want %d", requests.Load(), want)
			}
		})
	}
}

func TestConfiguredStatus(t *testing.T) {
	configure := func(cfg *openapi.Config) {
		cfg.SuccessStatus, cfg.BusyStatus, cfg.MaxAttempts = []int{1}, []int{77}, 3
	}
	tests := []struct {
		answer   string
		requests int64
		success  bool
	}{
		{`{"Status":1,"Data":[]}`, 1, true}, {`{"Status":200,"Data":[]}`, 1, false},
		{`{"Status":77}`, 3, false}, {`{"Status":503}`, 1, false},
	}
	for _, tt := range tests {
		c, requests := serve(t, answers(tt.answer), configure)
		if _, err := c.Orders(t.Context(), dayQuery); (err == nil) != tt.success || requests.Load() != tt.requests {
			t.Errorf("%s: %v after %d requests", tt.answer, err, requests.Load())
		}
	}
}

func TestRefusalIsPresentable(t *testing.T) {
	sign := "F80590B7456ACD1CBADA8154A8C29D04"
	tests := []struct{ name, message, want string }{
		{"control characters", `no\u0000\u001b[31m\r\n such\u202eprogram`, "no [31m such program"},
		{"our secret", "expected md5(" + testSecret + "/1/x{}" + testSecret + ")", "expected md5([secret]/1/x{}[secret])"},
		{"signatures", "expected " + sign + " got " + strings.ToLower(sign), "expected [signature] got [signature]"},
		{"long", strings.Repeat("中", 100), strings.Repeat("中", 65) + "…"},
		{"very long", strings.Repeat("a", 1e5), strings.Repeat("a", 197) + "…"},
		{"just short enough", strings.Repeat("a", 200), strings.Repeat("a", 200)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := serve(t, answers(`{"Status":9,"Message":"`+tt.message+`"}`), nil)
			_, err := c.Orders(t.Context(), dayQuery)
			var got *openapi.RefusedError
			if !errors.As(err, &got) || got.Message != tt.want || len(got.Message) > 200 {
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
			if want := "svc.open-service.orders.query.get: refused with Status 9: " + tt.want; err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}
