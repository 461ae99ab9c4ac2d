package reconcile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// spool keeps differences in a file.
type spool struct {
	file *os.File
	out  *bufio.Writer
}

func newSpool(dir string) (*spool, error) {
	file, err := os.CreateTemp(dir, "differences-*.tmp")
	if err != nil {
		return nil, fmt.Errorf("temporary file: %w (TMPDIR names another place)", err)
	}
	return &spool{file: file, out: bufio.NewWriter(file)}, nil
}

func (s *spool) add(d *Difference) error {
	line, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if _, err := s.out.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("temporary file: %w (TMPDIR names another place)", err)
	}
	return nil
}

// all returns the differences in the order in which they came.
func (s *spool) all() iter.Seq2[*Difference, error] {
	return func(yield func(*Difference, error) bool) {
		err := s.out.Flush()
		if err == nil {
			_, err = s.file.Seek(0, io.SeekStart)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for in := json.NewDecoder(bufio.NewReader(s.file)); ; {
			var d Difference
			err := in.Decode(&d)
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(&d, err) || err != nil {
				return
			}
		}
	}
}

func (s *spool) close() error { return s.file.Close() }
