package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ErrClosed is the error of every method after [Archive.Close].
var ErrClosed = errors.New("the archive is closed")

// ErrPosition is the error of Write and Flush between a failed commit and the
// next Position: the entries that were held are forgotten and have to come
// again.
var ErrPosition = errors.New("the last commit failed; ask for the position and write again from there")

// ErrNoArchive is the cause of a [StorageError] for a place at which no archive has
// been begun. It is an [fs.ErrNotExist], too.
var ErrNoArchive error = noArchiveError{}

type noArchiveError struct{}

// Error says it.
func (noArchiveError) Error() string { return "no archive is there" }

// Is makes it one of those that say that something does not exist.
func (noArchiveError) Is(target error) bool { return target == fs.ErrNotExist }

// ErrReplaced is the cause of a [StorageError] for a file that a compaction has
// replaced since the manifest was read. Reading again from the manifest helps.
var ErrReplaced = errors.New("a compaction has replaced it meanwhile")

// LockedError says that another process does the same work at the same place.
type LockedError struct {
	Work   string // "archiver" or "compaction"
	Dir    string // where
	Holder string // who works there, as far as it says
}

// Error says who is in the way and what to do.
func (e *LockedError) Error() string {
	if e.Work == "compaction" {
		return fmt.Sprintf("archive: another compaction (%s) works in %s; let it end first", e.Holder, e.Dir)
	}
	return fmt.Sprintf("archive: another archiver (%s) works in %s; stop one of the two, or give this one a folder of its own",
		e.Holder, e.Dir)
}

// StorageError says what could not be done on disk. A failed commit has left
// nothing that a reader sees; the log holds its events.
type StorageError struct {
	Op    string // what was tried: "write", "rename"
	Path  string // on what
	Hint  string // what to do about it
	Cause error  // the system's answer
}

// Error gives operation, path, reason and hint in one line.
func (e *StorageError) Error() string {
	return fmt.Sprintf("archive: cannot %s %s: %v; %s", e.Op, e.Path, reason(e.Cause), e.Hint)
}

// Unwrap returns the system's answer.
func (e *StorageError) Unwrap() error { return e.Cause }

// reason strips what package os adds to an answer: the path stands in the
// sentence already.
func reason(err error) error {
	var onPath *fs.PathError
	var onLink *os.LinkError
	switch {
	case errors.As(err, &onPath):
		return onPath.Err
	case errors.As(err, &onLink):
		return onLink.Err
	default:
		return err
	}
}

func storageError(op, path string, cause error) error {
	return &StorageError{Op: op, Path: path, Hint: hint(cause), Cause: cause}
}

func hint(cause error) string {
	switch {
	case errors.Is(cause, ErrNoArchive):
		return "is the address right, and the disk mounted?"
	case errors.Is(cause, errTaken):
		return "choose a place where nothing is; remove what a run that was killed has left"
	case errors.Is(cause, ErrReplaced):
		return "begin again"
	case errors.Is(cause, syscall.ENOSPC), errors.Is(cause, syscall.EDQUOT):
		return "free space there; the log holds the events until then"
	case errors.Is(cause, fs.ErrPermission):
		return "let this user write there; the log holds the events until then"
	case errors.Is(cause, syscall.EROFS):
		return "mount it for writing; the log holds the events until then"
	case errors.Is(cause, syscall.ENOTDIR):
		return "a part of the path is a file; move it away or choose another folder"
	case errors.Is(cause, fs.ErrNotExist):
		return "is it the folder of an archive, and mounted?"
	default:
		return "see to the disk; the log holds the events until then"
	}
}

// ManifestError says that the manifest, the intent or the files contradict each
// other. No retry helps, and nothing is written until a person has seen to it.
type ManifestError struct {
	Path    string // of the file that gives it away
	Problem string // what is wrong
	Cause   error  // nil when there is none
}

// Error gives path and problem, and says what to do.
func (e *ManifestError) Error() string {
	text := fmt.Sprintf("archive: %s: %s", e.Path, e.Problem)
	if e.Cause != nil {
		text += fmt.Sprintf(" (%v)", e.Cause)
	}
	return text + "; restore it from a copy, or move the archive away and let a new one be filled from the log"
}

// Unwrap returns the cause, nil when there is none.
func (e *ManifestError) Unwrap() error { return e.Cause }
