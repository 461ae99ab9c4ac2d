package iceberg

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	icebergio "github.com/apache/iceberg-go/io"
)

// useDurable makes iceberg-go write local files durably in this process. Its own
// way leaves them to the system: after a power cut the catalog could name metadata
// that was never on disk.
var useDurable = sync.OnceFunc(func() {
	for _, scheme := range []string{"file", ""} {
		icebergio.Unregister(scheme)
		icebergio.Register(scheme, func(context.Context, *url.URL, map[string]string) (icebergio.IO, error) { return durable{}, nil })
	}
})

// durable is the local file system; a file that is closed or written is on disk.
type durable struct{ icebergio.LocalFS }

// Create makes a file and its folders.
func (d durable) Create(name string) (icebergio.FileWriter, error) {
	w, err := d.LocalFS.Create(name)
	if err != nil {
		return nil, err
	}
	f, ok := w.(*os.File)
	if !ok {
		return w, nil
	}
	return &durableFile{f}, nil
}

// WriteFile writes a whole file.
func (d durable) WriteFile(name string, content []byte) error {
	w, err := d.Create(name)
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	return errors.Join(err, w.Close())
}

type durableFile struct{ *os.File }

// Close makes the content durable, and the file's name in its folder.
func (f *durableFile) Close() error {
	if err := errors.Join(f.Sync(), f.File.Close()); err != nil {
		return err
	}
	folder := filepath.Dir(f.Name())
	return errors.Join(syncFolder(folder), syncFolder(filepath.Dir(folder)))
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
