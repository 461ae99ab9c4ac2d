package archive

import (
	"cmp"
	"container/heap"
	"errors"
	"io"
	"slices"
)

// sorter puts events into the order of their sequences. It holds sorted runs, in
// memory up to a limit and in temporary files beyond it, and merges
// them as they are asked for.
type sorter struct {
	limit int64  // bytes of events in memory
	temp  string // folder of the temporary files, "" for the system's
	held  int64  // bytes of events in memory now
	chunk []replayed
	runs  runs
}

// add takes an event in.
func (s *sorter) add(e replayed) error {
	s.chunk = append(s.chunk, e)
	s.held += e.size()
	if s.held < s.limit {
		return nil
	}
	return s.spill()
}

// seal makes a run of what was added since the last one.
func (s *sorter) seal() {
	if len(s.chunk) == 0 {
		return
	}
	slices.SortFunc(s.chunk, func(a, b replayed) int { return cmp.Compare(a.sequence, b.sequence) })
	heap.Push(&s.runs, &run{head: s.chunk[0], rest: s.chunk[1:]})
	s.chunk = nil
}

// spill merges all runs that are in memory into one in a temporary file.
func (s *sorter) spill() error {
	s.seal()
	var inMemory, inFiles runs
	for _, r := range s.runs {
		if r.file == nil {
			inMemory = append(inMemory, r)
		} else {
			inFiles = append(inFiles, r)
		}
	}
	file, err := newRunFile(s.temp)
	if err != nil {
		return err
	}
	merged := &run{file: file}
	inFiles = append(inFiles, merged)
	s.runs = inFiles
	heap.Init(&inMemory)
	for len(inMemory) > 0 {
		e, err := inMemory.pop()
		if err == nil {
			err = file.write(&e)
		}
		if err != nil {
			return err
		}
	}
	s.held = 0
	if err := file.rewind(); err != nil {
		return err
	}
	if merged.head, err = file.read(); err != nil {
		return err
	}
	heap.Init(&s.runs)
	return nil
}

// before reports whether there is an event before a sequence.
func (s *sorter) before(end uint64) bool {
	s.seal()
	return len(s.runs) > 0 && s.runs[0].head.sequence < end
}

// pop returns the first event of all.
func (s *sorter) pop() (replayed, error) {
	inMemory := s.runs[0].file == nil
	e, err := s.runs.pop()
	if inMemory {
		s.held -= e.size()
	}
	return e, err
}

// close removes the temporary files.
func (s *sorter) close() error {
	var errs []error
	for _, r := range s.runs {
		if r.file != nil {
			errs = append(errs, r.file.close())
		}
	}
	s.runs, s.chunk = nil, nil
	return errors.Join(errs...)
}

// run is a sorted sequence of events that has not come to its end.
type run struct {
	head replayed
	rest []replayed // in memory
	file *runFile   // nil for one in memory
}

// advance goes on to the next event; [io.EOF] is the end.
func (r *run) advance() (err error) {
	if r.file != nil {
		r.head, err = r.file.read()
		return err
	}
	if len(r.rest) == 0 {
		return io.EOF
	}
	r.head, r.rest[0] = r.rest[0], replayed{}
	r.rest = r.rest[1:]
	return nil
}

// runs is a heap of runs by their heads.
type runs []*run

func (h runs) Len() int           { return len(h) }
func (h runs) Less(i, j int) bool { return h[i].head.sequence < h[j].head.sequence }
func (h runs) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements [heap.Interface].
func (h *runs) Push(x any) { *h = append(*h, x.(*run)) }

// Pop implements [heap.Interface].
func (h *runs) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// pop returns the first event of all runs, of which there is one.
func (h *runs) pop() (replayed, error) {
	first := (*h)[0]
	e := first.head
	switch err := first.advance(); {
	case errors.Is(err, io.EOF):
		heap.Pop(h)
		if first.file != nil {
			return e, first.file.close()
		}
	case err != nil:
		return e, err
	default:
		heap.Fix(h, 0)
	}
	return e, nil
}
