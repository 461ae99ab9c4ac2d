package archive

import (
	"errors"
	"reflect"
	"testing"
	"time"
)

func TestInventory(t *testing.T) {
	t.Parallel()
	onPlaces(t, inventory)
}

// An inventory says what the manifest does, and reads on. A note of a verification
// is kept beside it, which no later verification finds fault with.
func inventory(t *testing.T, fresh func(testing.TB) string) {
	dir := chain(t, fresh(t))
	s := search(t, dir)
	defer func() { _ = s.Close() }()
	now, err := s.Inventory(t.Context())
	if err != nil || now.Head.Number != 3 || now.Head.Last != 9 || now.Compactions != 0 || len(now.Files) != 6 || now.Head.Totals.Rows != 9 {
		t.Fatalf("%+v, %v", now, err)
	}
	if v, err := s.Verified(t.Context()); v != nil || err != nil {
		t.Errorf("before any verification: %+v, %v", v, err)
	}
	found := verify(t, VerifyConfig{Dir: dir})
	found.Omitted = 7
	for range 30 {
		found.Findings = append(found.Findings, Finding{Kind: StrayFile, Path: "x", What: "y", Do: "z"})
	}
	note := found.Noted(time.Date(2026, 11, 1, 8, 0, 0, 0, time.FixedZone("", 3600)), 3*time.Second, true)
	if err := NoteVerified(t.Context(), dir, note); err != nil {
		t.Fatal(err)
	}
	v, err := s.Verified(t.Context())
	if err != nil || !reflect.DeepEqual(*v, note) || v.Rows != 9 || v.Findings != 37 || len(v.First) != 20 || !v.WithLog || v.Seconds != 3 || v.At.Hour() != 7 {
		t.Errorf("%+v, %v", v, err)
	}
	finds(t, verify(t, VerifyConfig{Dir: dir}))
	if err := NoteVerified(t.Context(), fresh(t), note); !errors.Is(err, ErrNoArchive) {
		t.Errorf("a place without an archive: %v", err)
	}
}
