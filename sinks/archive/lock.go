package archive

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gofrs/flock"
)

// The locks of an archive's folder, of which a process holds each for as long as it
// does that work.
const (
	lockName        = ownDir + "/lock"         // one archiver
	compactLockName = ownDir + "/compact.lock" // one compaction
)

// lock takes a lock. The system lets go of it when the process ends, however it
// ends. Another holder is a [LockedError].
func (f *folder) lock(name string) (io.Closer, error) {
	work := "archiver"
	if name == compactLockName {
		work = "compaction"
	}
	name = f.path(name)
	lock := flock.New(name)
	mine, err := lock.TryLock()
	if err != nil {
		return nil, storageError("lock", name, err)
	}
	if !mine {
		holder, err := os.ReadFile(name)
		if err != nil || len(holder) == 0 {
			holder = []byte("unknown process")
		}
		return nil, &LockedError{Work: work, Dir: f.root, Holder: strings.TrimSpace(string(holder))}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "this host"
	}
	holder := fmt.Sprintf("process %d on %s\n", os.Getpid(), host)
	if err := os.WriteFile(name, []byte(holder), 0o600); err != nil {
		return nil, errors.Join(storageError("write", name, err), lock.Close())
	}
	return lock, nil
}
