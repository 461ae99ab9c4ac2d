package network_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/network"
)

// accepted is what the service says to a call with a key and a secret.
func (f *fixture) accepted(key, secret string) network.Status {
	f.tb.Helper()
	now := f.clock.unix.Load()
	return f.callAs(key, secret, ordersQuery, params{"Stime": now, "Etime": now}).Status
}

// Old and new secret are both good during the overlap; the old one is refused
// when it ends.
func TestRotateSecret(t *testing.T) {
	f := start(t, nil)
	made, err := f.svc.RotateSecret(t.Context(), appKey, "", time.Hour)
	if err != nil || made.AppKey != appKey || len(made.AppSecret) < 26 || made.AppSecret == appSecret {
		t.Fatalf("secret of %d characters, %v", len(made.AppSecret), err)
	}
	check := func(when, secret string, want network.Status) {
		t.Helper()
		if got := f.accepted(appKey, secret); got != want {
			t.Errorf("%s: Status %d, want %d", when, got, want)
		}
	}
	check("at once, old", appSecret, network.StatusSuccess)
	check("at once, new", made.AppSecret, network.StatusSuccess)
	f.clock.advance(time.Hour - time.Second)
	check("just before the end, old", appSecret, network.StatusSuccess)
	f.clock.advance(time.Second)
	check("at the end, old", appSecret, network.StatusSignature)
	check("at the end, new", made.AppSecret, network.StatusSuccess)

	second, err := f.svc.RotateSecret(t.Context(), appKey, "chosen", 24*time.Hour)
	if err != nil || second.AppSecret != "chosen" {
		t.Fatalf("%v", err)
	}
	check("what has ended stays so", appSecret, network.StatusSignature)
	third, err := f.svc.RotateSecret(t.Context(), appKey, "", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	f.clock.advance(time.Minute)
	check("the overlap before is cut to the last one", made.AppSecret, network.StatusSignature)
	check("replaced", "chosen", network.StatusSignature)
	check("newest", third.AppSecret, network.StatusSuccess)

	f.publisher(network.Publisher{AppKey: appKey, AppSecret: third.AppSecret})
	check("set to what it is", third.AppSecret, network.StatusSuccess)
	if _, err := f.svc.RotateSecret(t.Context(), appKey, "", 0); err != nil {
		t.Fatal(err)
	}
	check("without overlap", third.AppSecret, network.StatusSignature)
}

// A secret is set on a key whose secrets have all ended, and AddPublisher ends
// an overlap.
func TestSecretAfterAllHaveEnded(t *testing.T) {
	f := start(t, nil)
	if _, err := f.svc.RotateSecret(t.Context(), appKey, "second", time.Hour); err != nil {
		t.Fatal(err)
	}
	f.publisher(network.Publisher{AppKey: appKey, AppSecret: "third"})
	for secret, want := range map[string]network.Status{
		appSecret: network.StatusSignature, "second": network.StatusSignature, "third": network.StatusSuccess,
	} {
		if got := f.accepted(appKey, secret); got != want {
			t.Errorf("%s: Status %d, want %d", secret, got, want)
		}
	}
	f.exec(`UPDATE key_secrets SET expires_at = 1`)
	if got := f.accepted(appKey, "third"); got != network.StatusSignature {
		t.Errorf("none is valid: Status %d", got)
	}
	for _, secret := range []string{"third", "fourth"} { // the one that has ended is good again too
		f.publisher(network.Publisher{AppKey: appKey, AppSecret: secret})
		if got := f.accepted(appKey, secret); got != network.StatusSuccess {
			t.Errorf("%s: Status %d", secret, got)
		}
	}
}

func TestKeys(t *testing.T) {
	f := start(t, nil)
	ctx := t.Context()
	if err := f.svc.CreatePublisher(ctx, "Blog 7"); err != nil {
		t.Fatal(err)
	}
	random, err := f.svc.CreateKey(ctx, network.NewKey{Publisher: "Blog 7"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.svc.CreateKey(ctx, network.NewKey{Publisher: "Blog 7", AppKey: "k2", AppSecret: "s2"}); err != nil {
		t.Fatal(err)
	}
	if a, b := f.accepted(random.AppKey, random.AppSecret), f.accepted("k2", "s2"); a != 0 || b != 0 {
		t.Errorf("Status %d and %d", a, b)
	}
	ads, err := f.svc.CreateBrand(ctx, "Kettle World", "")
	if err != nil {
		t.Fatal(err)
	}
	f.clock.advance(time.Minute)
	for _, key := range []string{"k2", ads} {
		if err := f.svc.DisableKey(ctx, key); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.accepted("k2", "s2"); got != network.StatusUnknownKey {
		t.Errorf("a disabled key: Status %d", got)
	}
	if a := f.post("/"+ads+"/svc.none", []byte(`{}`)); a.Status != network.StatusUnknownKey {
		t.Errorf("a disabled ADS_KEY: Status %d", a.Status)
	}
	f.checkKeys(t, "k2", ads)
	if err := f.svc.EnableKey(ctx, "k2"); err != nil {
		t.Fatal(err)
	}
	if got := f.accepted("k2", "s2"); got != network.StatusSuccess {
		t.Errorf("an enabled key: Status %d", got)
	}
}

func (f *fixture) checkKeys(t *testing.T, disabled ...string) {
	t.Helper()
	keys, err := f.svc.Keys(t.Context(), "")
	if err != nil || len(keys) != 4 {
		t.Fatalf("%+v, %v", keys, err)
	}
	if k := keys[0]; k.Key != appKey || k.Owner != appKey || k.Secrets != 1 || k.Disabled != nil {
		t.Errorf("%+v", k)
	}
	off := 0
	for _, k := range keys {
		if k.Disabled != nil {
			off++
			if !k.Disabled.Equal(f.clock.Now()) || !strings.Contains(strings.Join(disabled, " "), k.Key) {
				t.Errorf("disabled: %+v", k)
			}
		}
	}
	if k := keys[3]; off != 2 || k.Side != "brand" || k.Owner != "Kettle World" || k.Secrets != 0 {
		t.Errorf("%d disabled, last %+v", off, k)
	}
	if one, err := f.svc.Keys(t.Context(), "Blog 7"); err != nil || len(one) != 2 {
		t.Errorf("%+v, %v", one, err)
	}
}

func TestKeysRefused(t *testing.T) {
	f := open(t, nil)
	ctx := t.Context()
	ads, err := f.svc.CreateBrand(ctx, "Kettle World", "")
	if err != nil {
		t.Fatal(err)
	}
	create := func(k network.NewKey) error { _, err := f.svc.CreateKey(ctx, k); return err }
	rotate := func(key, secret string, overlap time.Duration) error {
		_, err := f.svc.RotateSecret(ctx, key, secret, overlap)
		return err
	}
	f.wants(map[string]outcome{
		"unknown publisher": {create(network.NewKey{Publisher: "nobody"}), "", network.ErrNotFound},
		"key twice":         {create(network.NewKey{Publisher: appKey, AppKey: appKey}), "", network.ErrTaken},
		"key of a brand":    {create(network.NewKey{Publisher: appKey, AppKey: ads}), "", network.ErrTaken},
		"slash":             {create(network.NewKey{Publisher: appKey, AppKey: "a/b"}), "AppKey", nil},
		"rotate unknown":    {rotate("none", "", 0), "", network.ErrNotFound},
		"rotate an ADS_KEY": {rotate(ads, "", 0), "AppKey", nil},
		"the same secret":   {rotate(appKey, appSecret, 0), "AppSecret", nil},
		"negative overlap":  {rotate(appKey, "", -1), "Overlap", nil},
		"disable unknown":   {f.svc.DisableKey(ctx, "none"), "", network.ErrNotFound},
		"enable unknown":    {f.svc.EnableKey(ctx, "none"), "", network.ErrNotFound},
	})
	secret := strings.Repeat("k", 256)
	var param *schema.ParamError
	for _, err := range []error{create(network.NewKey{Publisher: appKey, AppSecret: secret}), rotate(appKey, secret, 0)} {
		if !errors.As(err, &param) || strings.Contains(err.Error(), secret) {
			t.Errorf("secret too long: %v", err)
		}
	}
	if n := f.number(`SELECT COUNT(*) FROM key_secrets`); n != 1 {
		t.Errorf("%d secrets after refusals, want 1", n)
	}
}
