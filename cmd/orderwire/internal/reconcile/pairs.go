package reconcile

import (
	"iter"
	"slices"
)

// pair is an order as the books have it and as a side has it; one of them may be
// nil.
type pair struct{ books, there *record }

// verdict says what a pair comes to. The zero verdict: they agree.
type verdict struct {
	kinds        []string // what differs
	explained    string   // why that is no difference
	incomparable bool
	note         string
}

// either is whichever is there, that of the books first.
func (p *pair) either() *record {
	if p.books != nil {
		return p.books
	}
	return p.there
}

// pairs brings records in the order of their keys together.
func pairs(books, there iter.Seq2[record, error]) iter.Seq2[pair, error] {
	return func(yield func(pair, error) bool) {
		nextBooks, stopBooks := iter.Pull2(books)
		defer stopBooks()
		nextThere, stopThere := iter.Pull2(there)
		defer stopThere()
		b, errB := pull(nextBooks)
		t, errT := pull(nextThere)
		for b != nil || t != nil || errB != nil || errT != nil {
			if errB != nil || errT != nil {
				if errB == nil {
					errB = errT
				}
				yield(pair{}, errB)
				return
			}
			p := pair{b, t}
			if b != nil && t != nil {
				switch c := compareKeys(b.Key, t.Key); {
				case c < 0:
					p.there = nil
				case c > 0:
					p.books = nil
				}
			}
			if !yield(p, nil) {
				return
			}
			if p.books != nil {
				b, errB = pull(nextBooks)
			}
			if p.there != nil {
				t, errT = pull(nextThere)
			}
		}
	}
}

func pull(next func() (record, error, bool)) (*record, error) {
	r, err, more := next()
	if !more || err != nil {
		return nil, err
	}
	return &r, nil
}

// differences compares what both sides say of an order, with its place in the log
// when both have one.
func differences(b, t *record) []string {
	switch {
	case b == nil && t == nil:
		return nil
	case b == nil:
		return []string{KindMissing}
	case t == nil:
		return []string{KindExtra}
	}
	var kinds []string
	logged := t.Version > 0
	for _, c := range []struct {
		kind string
		is   bool
	}{
		{KindVersion, logged && b.Version != t.Version},
		{KindStatus, b.Status != t.Status},
		{KindCurrency, b.Currency != t.Currency},
		{KindAmount, b.OrderAmount != t.OrderAmount},
		{KindCommission, b.Commission != t.Commission},
		{KindDay, b.Day != t.Day},
		{KindVanished, b.Vanished != t.Vanished},
		{KindSequence, logged && b.Version == t.Version && b.Sequence != t.Sequence},
	} {
		if c.is {
			kinds = append(kinds, c.kind)
		}
	}
	return kinds
}

// inside reports whether a sequence lies in one of the gaps.
func inside(gaps []Gap, sequence uint64) bool {
	return slices.ContainsFunc(gaps, func(g Gap) bool { return g.From <= sequence && sequence <= g.Until })
}
