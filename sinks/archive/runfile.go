package archive

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// runFileBuffer is what each temporary file takes of memory.
const runFileBuffer = 32 << 10

// headBytes is the length of what stands before a document in a temporary file:
// sequence, time of storage and length, little endian.
const headBytes = 8 + 8 + 4

// runFile is a temporary file of events, written once and then read once.
type runFile struct {
	file *tempFile
	out  *bufio.Writer
	in   *bufio.Reader
}

func newRunFile(dir string) (*runFile, error) {
	file, err := newTempFile(dir, "orderwire-replay-*.tmp")
	if err != nil {
		return nil, runFileError(dir, err)
	}
	return &runFile{file: file, out: bufio.NewWriterSize(file, runFileBuffer)}, nil
}

func (s *runFile) write(e *replayed) error {
	var head [headBytes]byte
	binary.LittleEndian.PutUint64(head[:], e.sequence)
	binary.LittleEndian.PutUint64(head[8:], uint64(e.stored))
	binary.LittleEndian.PutUint32(head[16:], uint32(len(e.raw)))
	_, err := s.out.Write(head[:])
	if err == nil {
		_, err = s.out.Write(e.raw)
	}
	return s.explain(err)
}

// rewind ends the writing and begins to read.
func (s *runFile) rewind() error {
	err := s.out.Flush()
	if err == nil {
		_, err = s.file.Seek(0, io.SeekStart)
	}
	s.out, s.in = nil, bufio.NewReaderSize(s.file, runFileBuffer)
	return s.explain(err)
}

// read returns the next event; [io.EOF] is the end.
func (s *runFile) read() (replayed, error) {
	var head [headBytes]byte
	if _, err := io.ReadFull(s.in, head[:]); err != nil {
		return replayed{}, s.explain(err)
	}
	e := replayed{
		sequence: binary.LittleEndian.Uint64(head[:]), stored: int64(binary.LittleEndian.Uint64(head[8:])),
		raw: make([]byte, binary.LittleEndian.Uint32(head[16:])),
	}
	_, err := io.ReadFull(s.in, e.raw)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return e, s.explain(err)
}

func (s *runFile) close() error { return s.explain(s.file.Close()) }

func (s *runFile) explain(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return runFileError(s.file.Name(), err)
}

func runFileError(path string, cause error) error {
	return &StorageError{Op: "use the temporary file", Path: path, Hint: "free space there, or choose another folder for temporary files", Cause: cause}
}
