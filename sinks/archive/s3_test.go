package archive

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// Two archivers of one prefix cut differently: the entry of the manifest decides,
// and the loser leaves nothing and removes nothing of the winner's.
func TestTwoArchiversOfABucket(t *testing.T) {
	t.Parallel()
	dir, log := newPrefix(t), entries(t, 12)
	winner, loser := open(t, Config{Dir: dir}), open(t, Config{Dir: dir})
	if err := loser.Write(t.Context(), log[:6]); err != nil {
		t.Fatal(err)
	}
	write(t, winner, log[:4])
	var locked *LockedError
	if err := loser.Flush(t.Context()); !errors.As(err, &locked) || !strings.Contains(err.Error(), "commit 1") {
		t.Fatalf("error %v", err)
	}
	exactlyOnce(t, dir, log[:4])
	if position, err := loser.Position(t.Context()); err != nil || position != 4 {
		t.Fatalf("position %d, %v", position, err)
	}
	write(t, loser, log[4:])
	exactlyOnce(t, dir, log)
}

// An archiver opens while another one has its files in place and is about to
// commit them: they stay, and the second repeats the very same batch.
func TestOpenBesideACommitUnderWay(t *testing.T) {
	t.Parallel()
	dir, log := newPrefix(t), entries(t, 8)
	var second *Archive
	at, err := openAt(t.Context(), dir, func(op, path string) error {
		if second == nil && strings.Contains(path, manifestDir) {
			second = open(t, Config{Dir: dir, RollBytes: 1})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	first, err := openPlace(t.Context(), Config{Dir: dir}, at)
	if err != nil {
		t.Fatal(err)
	}
	write(t, first, log[:4])
	exactlyOnce(t, dir, log[:4])
	if s := second.Stats(); s.Repeating != 4 {
		t.Fatalf("figures %+v", s)
	}
	before := tree(t, dir)
	write(t, second, log[:4]) // the same batch once more
	sameTree(t, before, tree(t, dir))
	write(t, second, log[4:])
	exactlyOnce(t, dir, log)
}

// The winner commits between the loser's intent and its files, and removes that
// intent: what the loser writes then goes all the same.
func TestLoserWhoseIntentIsGone(t *testing.T) {
	t.Parallel()
	dir, log := newPrefix(t), entries(t, 12)
	winner, winning := open(t, Config{Dir: dir}), false
	at, err := openAt(t.Context(), dir, func(op, _ string) error {
		if !winning && op == "create" {
			winning = true
			write(t, winner, log[:4])
		}
		return nil
	})
	noError(t, err)
	loser, err := openPlace(t.Context(), Config{Dir: dir}, at)
	noError(t, err)
	noError(t, loser.Write(t.Context(), log[:6]))
	var locked *LockedError
	if err := loser.Flush(t.Context()); !errors.As(err, &locked) {
		t.Fatalf("error %v", err)
	}
	exactlyOnce(t, dir, log[:4])
}

// A batch that the log has lost in part is cut otherwise; what the crash has
// left of it goes with the next commit.
func TestUnfinishedBatchOfATrimmedLogInABucket(t *testing.T) {
	t.Parallel()
	for _, from := range []int{3, 8} {
		dir, log := newPrefix(t), entries(t, 12)
		crash := func(_, path string) error {
			if strings.Contains(path, manifestDir) {
				return errCrash
			}
			return nil
		}
		if err := runUntil(t.Context(), Config{Dir: dir}, log[:8], 4, nil, crash); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		if n := len(visible(t, dir)); n != 2 {
			t.Fatalf("%d files before the restart", n)
		}
		write(t, open(t, Config{Dir: dir}), log[from:])
		exactlyOnce(t, dir, log[from:])
		for name := range tree(t, dir) {
			if strings.HasPrefix(name, intentDir) {
				t.Errorf("%s is left", name)
			}
		}
	}
}

// An upload that is not completed leaves no object.
func TestUploadThatEndsEarly(t *testing.T) {
	t.Parallel()
	dir := newPrefix(t)
	crash := func(op, _ string) error {
		if op == "complete" {
			return errCrash
		}
		return nil
	}
	if err := runUntil(t.Context(), Config{Dir: dir}, entries(t, 4), 4, nil, crash); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	if got := visible(t, dir); len(got) != 0 {
		t.Errorf("readers see %v", got)
	}
}

// What a store refuses is said with what to do.
func TestUnusableBucket(t *testing.T) {
	t.Parallel()
	dir := newPrefix(t)
	answer := func(code string, status int) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte("<Error><Code>" + code + "</Code><Message>no</Message></Error>"))
		}))
		t.Cleanup(server.Close)
		return "s3://lake/x?region=us-east-1&endpoint=" + server.URL
	}
	tests := []struct {
		name, address, want string
		is                  error
	}{
		{"no bucket", strings.Replace(dir, "//lake", "//pond", 1), "NoSuchBucket: ", nil},
		{"refused", answer("AccessDenied", 403), "let these credentials read, write, list and delete there", fs.ErrPermission},
		{"wrong secret", answer("SignatureDoesNotMatch", 403), "AWS_ACCESS_KEY_ID", fs.ErrPermission},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Open(t.Context(), Config{Dir: tt.address})
			var storage *StorageError
			if !errors.As(err, &storage) || !strings.Contains(err.Error(), tt.want) || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("error %v", err)
			}
			if !strings.Contains(err.Error(), "the log holds the events until then") {
				t.Errorf("no hint: %v", err)
			}
		})
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	tests := []struct{ address, want string }{
		{"s3://AKIA:s3cret@lake/x", "holds credentials"},
		{"s3://lake/x?region=a&secret_access_key=s3cret", "parameter other than one region"},
		{"s3://lake/x?region=a&region=b", "parameter other than one region"},
		{"s3://lake/x?endpoint=http://AKIA:s3cret@host", "has an endpoint that is no"},
		{"s3://lake/x?endpoint=host:9000", "has an endpoint that is no"},
		{"s3:///x", "names no bucket"},
		{"s3://host:9000/lake", "names no bucket"},
		{"s3://lake/%zz?s3cret", "is no address"},
		{"s3://lake/x?a=%zzs3cret", "parameters that cannot be read"},
	}
	for _, tt := range tests {
		err := CheckAddress(tt.address)
		var wrong *ConfigError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", tt.address, err)
		}
	}
	good := []string{"s3://lake", "s3://lake/a/b/?region=eu-central-1&endpoint=https://host:9000", "data/archive", "/srv/s3"}
	if i := slices.IndexFunc(good, func(a string) bool { return CheckAddress(a) != nil }); i >= 0 {
		t.Errorf("%s: %v", good[i], CheckAddress(good[i]))
	}
}

// An object that is too large to be held is read through a temporary file, which is
// gone afterwards.
func TestLargeObject(t *testing.T) {
	b, temporary := testBucket(t, newPrefix(t)), t.TempDir()
	t.Setenv("TMPDIR", temporary)
	content := make([]byte, heldBytes+1)
	for i := range content {
		content[i] = byte(i / 1000)
	}
	noError(t, b.put(t.Context(), "large", content))
	file, err := b.open(t.Context(), "large")
	noError(t, err)
	got := make([]byte, file.size)
	_, err = file.ReadAt(got, 0)
	noError(t, errors.Join(err, file.Close()))
	if !bytes.Equal(got, content) {
		t.Errorf("%d bytes, not those that were written", len(got))
	}
	if left := namesIn(t, temporary); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}
