package network_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sources/network"
	"github.com/orderwire/orderwire/sources/openapi/openapitest"
)

// The signatures that PHP computed are accepted as posted bodies, in both forms
// of the ampersand, and refused when the secret is another one.
func TestSignVectors(t *testing.T) {
	f := start(t, nil)
	f.putProgram(network.TestProgram{ID: "900", Domains: []string{"example.com", "e.com"}})
	for _, v := range openapitest.Vectors(t) {
		t.Run(v.Name+"/"+v.Variant, func(t *testing.T) {
			var body struct{ Timestamp json.Number }
			if err := json.Unmarshal([]byte(strings.ReplaceAll(v.Body, `"Timestamp":"1692696195"`, `"Timestamp":1692696195`)), &body); err != nil {
				t.Fatal(err)
			}
			sent, err := body.Timestamp.Int64()
			if err != nil {
				t.Fatal(err)
			}
			f.clock.unix.Store(sent)
			key, _, _ := strings.Cut(v.Path[1:], "/")
			p := network.Publisher{AppKey: key, AppSecret: v.Secret, Websites: []string{website, "7"}}
			f.publisher(p)
			want := network.StatusSuccess
			if strings.Contains(v.Name, "detail") {
				want = network.StatusNotFound
			}
			if a := f.post(v.Path, []byte(v.Body)); a.HTTP != 200 || a.Status != want {
				t.Errorf("HTTP %d, Status %d: %s; want Status %d", a.HTTP, a.Status, a.Message, want)
			}
			p.AppSecret += "x"
			f.publisher(p)
			if a := f.post(v.Path, []byte(v.Body)); a.Status != network.StatusSignature {
				t.Errorf("with another secret: Status %d: %s", a.Status, a.Message)
			}
			f.clock.advance(time.Hour)
			p.AppSecret = v.Secret
			f.publisher(p)
			if a := f.post(v.Path, []byte(v.Body)); a.Status != network.StatusTimestamp {
				t.Errorf("an hour later: Status %d: %s", a.Status, a.Message)
			}
		})
	}
}
