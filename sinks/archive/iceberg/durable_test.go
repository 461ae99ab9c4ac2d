package iceberg

import (
	"os"
	"path/filepath"
	"testing"

	icebergio "github.com/apache/iceberg-go/io"
)

func TestLocalFilesAreWrittenDurably(t *testing.T) {
	t.Parallel()
	useDurable()
	for _, prefix := range []string{"", "file://"} {
		path := filepath.Join(t.TempDir(), "a", "b", "metadata.json")
		files, err := icebergio.LoadFS(t.Context(), nil, prefix+path)
		if err != nil {
			t.Fatal(err)
		}
		d, ok := files.(durable)
		if !ok {
			t.Fatalf("%q files are written by %T", prefix, files)
		}
		if err := d.WriteFile(prefix+path, []byte("content")); err != nil {
			t.Fatal(err)
		}
		if content, err := os.ReadFile(path); err != nil || string(content) != "content" {
			t.Errorf("%q, %v", content, err)
		}
		w, err := d.Create(prefix + path)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := w.(*durableFile); !ok {
			t.Errorf("a file is written by %T", w)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err == nil {
			t.Error("a file that is closed was closed again")
		}
	}
}
