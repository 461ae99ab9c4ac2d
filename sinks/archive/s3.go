package archive

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// bucket is a prefix of an S3 bucket. Names are keys below the prefix. Every
// error is a [StorageError].
type bucket struct {
	at     *s3Address
	bucket *blob.Bucket
	// before is called ahead of every change, with the address; an error stops
	// the change. Only tests set it.
	before func(op, path string) error
}

func (b *bucket) path(name string) string { return b.at.join(name) }

// do runs one change.
func (b *bucket) do(op, name string, change func() error) error {
	if b.before != nil {
		if err := b.before(op, b.path(name)); err != nil {
			return storageError(op, b.path(name), err)
		}
	}
	if err := change(); err != nil {
		return s3Error(op, b.path(name), err)
	}
	return nil
}

func (b *bucket) read(ctx context.Context, name string) ([]byte, error) {
	data, err := b.bucket.ReadAll(ctx, name)
	if err != nil {
		return nil, s3Error("read", b.path(name), err)
	}
	return data, nil
}

// list returns the names of all objects below a folder; S3 lists in ascending
// order.
func (b *bucket) list(ctx context.Context, dir string) ([]string, error) {
	prefix := dir + "/"
	if dir == "." {
		prefix = ""
	}
	var names []string
	pages := b.bucket.List(&blob.ListOptions{Prefix: prefix})
	for {
		object, err := pages.Next(ctx)
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err != nil {
			return nil, s3Error("list", b.path(dir), err)
		}
		// A console marks a folder by an empty object that ends in a slash.
		if strings.HasSuffix(object.Key, "/") || dir == "." && strings.HasPrefix(object.Key, ownDir+"/") {
			continue
		}
		names = append(names, object.Key)
	}
}

// put writes a small object, in place of one of that name.
func (b *bucket) put(ctx context.Context, name string, data []byte) error {
	return b.write(ctx, name, data, &blob.WriterOptions{ContentType: jsonType})
}

func (b *bucket) write(ctx context.Context, name string, data []byte, options *blob.WriterOptions) error {
	return b.do("write", name, func() error { return b.bucket.WriteAll(ctx, name, data, options) })
}

// putNew writes a small object only if there is none of that name. The store may
// have taken a former attempt of which the answer was lost: an object that is
// there with the very same content is ours.
func (b *bucket) putNew(ctx context.Context, name string, data []byte) error {
	err := b.write(ctx, name, data, &blob.WriterOptions{ContentType: jsonType, IfNotExist: true})
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	there, readErr := b.read(ctx, name)
	if readErr != nil {
		return readErr
	}
	if slices.Equal(there, data) {
		return nil
	}
	return err
}

// remove deletes an object; one that is not there is no error.
func (b *bucket) remove(ctx context.Context, name string) error {
	return b.do("remove", name, func() error {
		if err := b.bucket.Delete(ctx, name); gcerrors.Code(err) != gcerrors.NotFound || noBucket(err) {
			return err
		}
		return nil
	})
}

const (
	jsonType    = "application/json"
	parquetType = "application/vnd.apache.parquet"
	// partBytes is the size of a part; a smaller file is sent in one request.
	partBytes = 16 << 20
)

// upload is a file being written. Readers see it, whole, when it is sealed.
type upload struct {
	to     *bucket
	name   string
	writer *blob.Writer
	cancel context.CancelFunc
}

// draftName is the file's own name: an object appears whole or not at all, and
// until the commit the intent names it.
func (b *bucket) draftName(in *intent, i int) string { return in.Files[i] }

// create begins an object.
func (b *bucket) create(ctx context.Context, name string) (draft, error) {
	ctx, cancel := context.WithCancel(ctx)
	u := &upload{to: b, name: name, cancel: cancel}
	err := b.do("create", u.name, func() (err error) {
		u.writer, err = b.bucket.NewWriter(ctx, u.name, &blob.WriterOptions{
			BufferSize: partBytes, MaxConcurrency: 2, ContentType: parquetType,
		})
		return err
	})
	if err != nil {
		cancel()
		return nil, err
	}
	return u, nil
}

// Write appends to the file.
func (u *upload) Write(p []byte) (int, error) {
	n, err := u.writer.Write(p)
	if err != nil {
		return n, s3Error("write", u.to.path(u.name), err)
	}
	return n, nil
}

// seal sends what is left and completes the upload.
func (u *upload) seal() error {
	defer u.cancel()
	if err := u.to.do("complete", u.name, u.writer.Close); err != nil {
		return errors.Join(err, u.drop())
	}
	return nil
}

// drop ends the upload without an object.
func (u *upload) drop() error {
	u.cancel()
	_ = u.writer.Close() // says only that it was cancelled, or closed before
	return nil
}

// publish has nothing to do: a sealed file is in its place.
func (b *bucket) publish(context.Context, *intent) error { return nil }

// move copies an object within the store, and removes it under its old name.
func (b *bucket) move(ctx context.Context, from, to string) error {
	err := b.do("copy to", to, func() error { return b.bucket.Copy(ctx, to, from, nil) })
	if err != nil {
		return err
	}
	return b.remove(ctx, from)
}

func (b *bucket) removeAll(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := b.remove(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// syncDir does nothing: a bucket has no folders.
func (b *bucket) syncDir(string) error { return nil }

// lock does nothing: a bucket has no locks.
func (b *bucket) lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// Close lets go of the connections.
func (b *bucket) Close() error { return b.bucket.Close() }

// enter asks the store for the archive, so that a wrong address is refused now,
// and ends the uploads that a crash has left.
// There is no lock: the entry of the manifest decides between two archivers.
func (b *bucket) enter(ctx context.Context) (io.Closer, error) {
	if err := setMark(ctx, b); err != nil {
		return nil, err
	}
	return b, b.dropUploads(ctx)
}
