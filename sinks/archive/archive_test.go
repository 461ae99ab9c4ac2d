package archive

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestSecondArchiverLoses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := entries(t, 4)
	first := open(t, Config{Dir: dir})
	write(t, first, log[:2])
	before := tree(t, dir)
	_, err := Open(t.Context(), Config{Dir: dir})
	var locked *LockedError
	if !errors.As(err, &locked) || locked.Dir != dir || !strings.Contains(err.Error(), "process") {
		t.Fatalf("error %v", err)
	}
	sameTree(t, before, tree(t, dir))
	write(t, first, log[2:])
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := open(t, Config{Dir: dir})
	if position, err := second.Position(t.Context()); err != nil || position != 4 {
		t.Errorf("position %d, %v", position, err)
	}
}

// On a file system without locks the manifest still takes each number once.
func TestManifestTakesEachNumberOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := entries(t, 8)
	a := open(t, Config{Dir: dir})
	write(t, a, log[:2])
	if err := a.Write(t.Context(), log[2:6]); err != nil {
		t.Fatal(err)
	}
	rival := &Archive{cfg: a.cfg, place: a.place, buffer: newBuffer(), encoder: a.encoder, lock: a.lock}
	if _, err := rival.Position(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, rival, log[2:4])
	var locked *LockedError
	if err := a.Flush(t.Context()); !errors.As(err, &locked) || !strings.Contains(err.Error(), "commit 2") {
		t.Fatalf("error %v", err)
	}
	exactlyOnce(t, dir, log[:4])
	if position, err := a.Position(t.Context()); err != nil || position != 4 {
		t.Fatalf("position %d, %v", position, err)
	}
	write(t, a, log[2:])
	exactlyOnce(t, dir, log)
}

func TestClosedArchive(t *testing.T) {
	t.Parallel()
	a := open(t, Config{Dir: t.TempDir()})
	for range 2 {
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, err := a.Position(t.Context())
	for _, err := range []error{err, a.Write(t.Context(), entries(t, 1)), a.Flush(t.Context())} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("error %v", err)
		}
	}
}

func TestWrongConfig(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), Config{RollBytes: -1, RollEvery: -1, ZstdLevel: 23})
	for _, field := range []string{"url", "roll_bytes", "roll_every", "zstd_level"} {
		if err == nil || !strings.Contains(err.Error(), "archive: "+field+": ") {
			t.Errorf("nothing about %s in: %v", field, err)
		}
	}
	var wrong *ConfigError
	if !errors.As(err, &wrong) {
		t.Errorf("error %v", err)
	}
	if _, err := Open(t.Context(), Config{Dir: t.TempDir(), RollBytes: 2 << 30}); !errors.As(err, &wrong) {
		t.Errorf("error %v", err)
	}
}

func TestUnusableFolder(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), Config{Dir: filepath.Join(file, "archive")})
	var storage *StorageError
	if !errors.As(err, &storage) || !strings.Contains(err.Error(), "a part of the path is a file") {
		t.Errorf("error %v", err)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	tests := []struct {
		cause error
		want  string
	}{
		{&fs.PathError{Op: "write", Path: "/a/b", Err: syscall.ENOSPC}, "archive: cannot write /a/b: no space left on device; free space there; the log holds the events until then"},
		{&os.LinkError{Op: "link", Old: "/a", New: "/b", Err: syscall.EACCES}, "archive: cannot write /a/b: permission denied; let this user write there; the log holds the events until then"},
		{syscall.EROFS, "archive: cannot write /a/b: read-only file system; mount it for writing; the log holds the events until then"},
		{syscall.EIO, "archive: cannot write /a/b: input/output error; see to the disk; the log holds the events until then"},
	}
	for _, tt := range tests {
		err := storageError("write", "/a/b", tt.cause)
		if err.Error() != tt.want || !errors.Is(err, tt.cause) {
			t.Errorf("%v", err)
		}
	}
}

func TestCancelledCommitIsTakenBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := entries(t, 4)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a, err := openPlace(ctx, Config{Dir: dir}, &cancelling{folder: &folder{root: dir}, cancel: cancel})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	if err := a.Write(ctx, log); err != nil {
		t.Fatal(err)
	}
	if err := a.Flush(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if got := visible(t, dir); len(got) != 0 {
		t.Errorf("readers see %v", got)
	}
	if _, err := a.Position(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, a, log)
	exactlyOnce(t, dir, log)
}

// cancelling is a folder in which the archiver is told to end while a file of a
// batch is begun.
type cancelling struct {
	*folder
	cancel context.CancelFunc
	once   sync.Once
}

// create goes on when the commit has heard of it. The batch that comes again is not
// cancelled.
func (c *cancelling) create(ctx context.Context, name string) (draft, error) {
	c.once.Do(func() {
		c.cancel()
		<-ctx.Done()
	})
	return c.folder.create(ctx, name)
}

// Stats is for a display that runs beside the writer.
func TestStatsFromAnotherGoroutine(t *testing.T) {
	t.Parallel()
	log := entries(t, 40)
	a := open(t, Config{Dir: t.TempDir(), RollEvery: 3 * time.Second})
	var display sync.WaitGroup
	done := make(chan struct{})
	display.Go(func() {
		var last Stats
		for {
			s := a.Stats()
			if s.Rows < last.Rows || s.LastSequence < last.LastSequence || s.Commits < last.Commits {
				t.Errorf("figures fell from %+v to %+v", last, s)
			}
			last = s
			select {
			case <-done:
				return
			default:
			}
		}
	})
	write(t, a, log)
	close(done)
	display.Wait()
	s := a.Stats()
	if s.Rows != 40 || s.Commits != 10 || s.Files != 20 || s.LastSequence != 40 || s.Buffered != 0 || s.Bytes == 0 {
		t.Errorf("figures %+v", s)
	}
}
