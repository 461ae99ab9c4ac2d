package reconcile

import (
	"bufio"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
)

const (
	// runRecords is how many records are sorted in memory.
	runRecords = 32_768
	// runBuffer is the buffer of a file that is read, in bytes.
	runBuffer = 16 << 10
)

// sorter takes records in any order and gives back the newest of each order, by
// its sequence, in the order of the keys.
type sorter struct {
	dir  string // of the temporary files, which whoever made it removes
	most int    // records in memory; 0: runRecords
	held []record
	runs []string // names of files, each sorted
}

// add takes a record in.
func (s *sorter) add(r record) error {
	most := s.most
	if most == 0 {
		most = runRecords
	}
	if s.held = append(s.held, r); len(s.held) < most {
		return nil
	}
	return s.spill()
}

// spill writes what is in memory to a file.
func (s *sorter) spill() (err error) {
	s.settle()
	file, err := os.CreateTemp(s.dir, "run-*.tmp")
	if err != nil {
		return fmt.Errorf("temporary file: %w (TMPDIR names another place)", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	s.runs = append(s.runs, file.Name())
	out := bufio.NewWriterSize(file, 4*runBuffer)
	var line []byte
	for i := range s.held {
		line = appendRecord(line[:0], &s.held[i])
		if _, err := out.Write(line); err != nil {
			return fmt.Errorf("temporary file: %w (TMPDIR names another place)", err)
		}
	}
	s.held = s.held[:0]
	if err := out.Flush(); err != nil {
		return fmt.Errorf("temporary file: %w (TMPDIR names another place)", err)
	}
	return nil
}

// settle sorts what is in memory and keeps the newest of each order.
func (s *sorter) settle() {
	slices.SortStableFunc(s.held, func(a, b record) int { return compareKeys(a.Key, b.Key) })
	kept := s.held[:0]
	for _, r := range s.held {
		if n := len(kept); n > 0 && kept[n-1].Key == r.Key {
			if r.Sequence >= kept[n-1].Sequence {
				kept[n-1] = r
			}
			continue
		}
		kept = append(kept, r)
	}
	clear(s.held[len(kept):])
	s.held = kept
}

// sorted returns the newest record of each order, by the keys. It may be called
// again, also after more has been added.
func (s *sorter) sorted() iter.Seq2[record, error] {
	s.settle()
	return func(yield func(record, error) bool) {
		var last record
		have := false
		for r, err := range s.merged() {
			if err != nil {
				yield(record{}, err)
				return
			}
			if have && last.Key == r.Key {
				if r.Sequence >= last.Sequence {
					last = r
				}
				continue
			}
			if have && !yield(last, nil) {
				return
			}
			last, have = r, true
		}
		if have {
			yield(last, nil)
		}
	}
}

// merged returns the records of all runs by their keys; of one order, those of
// older runs first.
func (s *sorter) merged() iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		var front heads
		defer func() { front.close() }()
		for i, name := range s.runs {
			file, err := os.Open(name)
			if err != nil {
				yield(record{}, err)
				return
			}
			h := &head{place: i, file: file, in: bufio.NewReaderSize(file, runBuffer)}
			front = append(front, h)
			if err := h.advance(); err != nil {
				yield(record{}, fmt.Errorf("temporary file %s: %w", name, err))
				return
			}
		}
		if len(s.held) > 0 {
			front = append(front, &head{place: len(s.runs), rest: s.held[1:], record: s.held[0]})
		}
		heap.Init(&front)
		for len(front) > 0 && !front[0].ended {
			if !yield(front[0].record, nil) {
				return
			}
			if err := front[0].advance(); err != nil {
				yield(record{}, fmt.Errorf("temporary file: %w", err))
				return
			}
			heap.Fix(&front, 0)
		}
	}
}

// head stands at one record of a run.
type head struct {
	record
	ended bool
	place int // of the run among all
	file  *os.File
	in    *bufio.Reader
	rest  []record // of the run that is in memory
}

func (h *head) advance() error {
	if h.file == nil {
		if h.ended = len(h.rest) == 0; !h.ended {
			h.record, h.rest = h.rest[0], h.rest[1:]
		}
		return nil
	}
	r, err := readRecord(h.in)
	if errors.Is(err, io.EOF) {
		h.ended, err = true, nil
	}
	h.record = r
	return err
}

// heads is a heap: the least record is first, runs that have ended are last.
type heads []*head

func (f heads) close() {
	for _, h := range f {
		if h.file != nil {
			_ = h.file.Close() // it was only read
		}
	}
}

// Len implements [heap.Interface], as the methods below do.
func (f heads) Len() int { return len(f) }

// Less puts records of one order into the order of their runs.
func (f heads) Less(i, j int) bool {
	a, b := f[i], f[j]
	if a.ended || b.ended {
		return !a.ended
	}
	if c := compareKeys(a.Key, b.Key); c != 0 {
		return c < 0
	}
	return a.place < b.place
}

// Swap changes two places.
func (f heads) Swap(i, j int) { f[i], f[j] = f[j], f[i] }

// Push appends a head.
func (f *heads) Push(x any) { *f = append(*f, x.(*head)) }

// Pop takes the last head away.
func (f *heads) Pop() any {
	last := len(*f) - 1
	h := (*f)[last]
	*f = (*f)[:last]
	return h
}
