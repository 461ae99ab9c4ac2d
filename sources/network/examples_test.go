package network_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/sources/network"
)

// The scripts that show the service to people: from a link to a commission, in
// each content type, with curl and openssl alone.
func TestExampleScripts(t *testing.T) {
	needPrograms(t, "sh", "curl", "openssl")
	f := start(t, func(c *network.Config) { c.Now = nil }) // the scripts ask the machine's clock
	f.openMarket()
	for _, script := range []string{"network-json.sh", "network-form.sh", "network-multipart.sh"} {
		t.Run(script, func(t *testing.T) {
			out, err := f.script(t, script, "APP_SECRET="+appSecret)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, want := range []string{"get a link", "click it", "report order", "SiterCommission is 13.00", "Clicks is 1", "earns 13.00"} {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in:\n%s", want, out)
				}
			}
		})
		t.Run(script+" with a wrong secret", func(t *testing.T) {
			out, err := f.script(t, script, "APP_SECRET=another")
			if err == nil || !strings.Contains(out, "failed: svc.service.links.post as publisher: want Status 0") || strings.Contains(out, "another") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// script runs a script against the fixture and returns all that it prints.
func (f *fixture) script(t *testing.T, name string, env ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "../../deploy/examples/"+name)
	cmd.Env = append(os.Environ(), "BASE="+f.server.URL, "APP_KEY="+appKey, "ADS_KEY="+marketKey, "WEBSITE_ID="+website, "TARGET="+marketTarget)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// needPrograms skips the test when one of the programs is missing. CI has all
// of them.
func needPrograms(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err == nil {
			continue
		}
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is missing, and CI has to run this test", name)
		}
		t.Skipf("this machine has no %s, which the scripts need", name)
	}
}
