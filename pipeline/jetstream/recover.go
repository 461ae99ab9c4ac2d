package jetstream

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// The embedded server keeps bucket "orders" in asynchronous mode: the server
// gathers what it sources and writes it in large pieces, unsynced, while every
// other stream is synced at every write. Synced one by one, the bucket would
// cost more than the log itself, and it is only a copy of the log's events.
//
// After a crash the bucket lacks what was still in memory, and the server has to
// source that again. It keeps the position to go on from in a file of its own,
// which it rewrites now and then from memory, so that the file can be ahead of
// what was written. Without the file it looks for the position in the last
// message that is really there. So the file is dropped after a crash.
//
// That covers the end of the process. When the machine itself loses power, a
// later part of the last syncInterval may be on disk and an earlier one not: the
// bucket then lacks orders until their next event. The log does not: as long as it
// holds those orders' events, publishing and loading go by it. (Known: where the
// events age out before another one comes, the order begins at version 1 again.)
//
// The mode cannot be changed on an existing stream, nor exist with replicas.
// Servers of others therefore keep the bucket in the usual mode: it may get
// replicas there, and their crashes are not ours to see.

// syncInterval is how often the embedded server syncs what was not synced when
// it was written, which is the bucket only.
const syncInterval = 2 * time.Second

// afterCrash drops the position file when the process that used the directory
// last did not close its server: then its address is still there.
func afterCrash(dir, addressFile string) error {
	if _, err := os.Stat(addressFile); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	file := filepath.Join(dir, "jetstream", server.DEFAULT_GLOBAL_ACCOUNT, "streams", stateStream, "sources.db")
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("data directory: %w", err)
	}
	return nil
}

// asyncState reports whether the bucket may be in asynchronous mode: on an
// embedded server, which drops the position after a crash.
func asyncState(connectedTo string) bool { return connectedTo == serverName }
