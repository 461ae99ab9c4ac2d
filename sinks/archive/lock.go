package archive

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/gofrs/flock"
)

// lockFolder takes the lock of an archive's folder. The system lets go of it
// when the process ends, however it ends. Another holder is a [LockedError].
func lockFolder(f *folder) (*flock.Flock, error) {
	name := f.path(lockName)
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
		return nil, &LockedError{Dir: f.root, Holder: strings.TrimSpace(string(holder))}
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
