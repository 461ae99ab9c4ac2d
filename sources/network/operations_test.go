package network

import (
	"path/filepath"
	"testing"
)

// What the service answers is in the documented table, once for each side.
func TestOperationsAreDocumented(t *testing.T) {
	svc, err := Open(t.Context(), Config{DB: filepath.Join(t.TempDir(), "network.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	type name struct {
		service string
		side    Side
	}
	documented := map[name]bool{}
	for _, o := range Operations() {
		key := name{svc.name(o.Service), o.Side}
		if documented[key] || o.Purpose == "" {
			t.Errorf("%v is there twice, or without a purpose", key)
		}
		documented[key] = true
	}
	for service, by := range svc.operations {
		for side, op := range map[Side]operation{PublisherSide: by.publisher, AdvertiserSide: by.advertiser} {
			if op != nil && !documented[name{service, side}] {
				t.Errorf("%s is not documented for the %s", service, side)
			}
		}
	}
}
