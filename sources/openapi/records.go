package openapi

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/zeebo/xxh3"
)

var (
	errData   = errors.New("want a list, or an object that holds one, as Data")
	errList   = errors.New("want a list as Data.List")
	errNoList = errors.New("no list of orders in the object Data")
	errRecord = errors.New("an element of the list is no object")
)

// OrdersPage is one page of a list of orders.
type OrdersPage struct {
	// Records holds the records in the order in which they came, each with the
	// very bytes that the network sent. They all lie in one buffer, the
	// answer's body, and are not to be changed.
	Records []jsontext.Value
	// Total is the number of orders of the whole query, all pages together, as
	// the network gives it beside the list; -1 when it gives none.
	Total int
	// AnsweredAt is when the network answered, UTC; zero after [SplitOrders].
	AnsweredAt time.Time
	// Digest is the xxh3 hash of the list as it was sent, brackets included: two
	// pages that repeat each other word for word have the same, whatever page
	// number or total stands beside the list. It is 0 when there is no list.
	Digest uint64

	glances []Glance // of Records, nil for a page that was put together by hand
}

// SplitOrders splits the Data of a list of orders into its raw records, in one
// pass and without decoding them. The shape of Data is not shown by the
// specification, so these are taken:
//
//   - an array of objects;
//   - an object with a member List, which is such an array, or null or {} when
//     the page is empty. Without a List, its first array of objects is the
//     list, whatever its name; Details never is, because it holds the lines of
//     one order. The total is Total, TotalCount, total or Count, a number or a
//     string;
//   - null, {} or nothing at all, which are an empty page, as is an object
//     without a list whose total is 0.
//
// Anything else is refused: a page wrongly taken for empty would make orders
// vanish. The error is a [*BodyError].
func SplitOrders(data jsontext.Value) (OrdersPage, error) {
	if len(data) == 0 {
		return OrdersPage{Total: -1}, nil
	}
	s := scanner{b: data}
	var l listing
	if s.list(maxDepth-1, &l) && s.end() {
		return l.page(), nil
	}
	return OrdersPage{}, s.err
}

// totalNames are the members that may hold the total, the best first.
var totalNames = []string{"Total", "TotalCount", "total", "Count"}

// listing collects what the walk over Data finds.
type listing struct {
	raw     []byte           // the list as sent, nil when there is none
	records []jsontext.Value // its elements
	glances []Glance         // at the elements
	found   bool             // a list, or the place where an empty one would be
	named   bool             // it is the member List
	members int              // members of Data
	total   int              // valid when rank is positive
	rank    int              // how good the name of total is
}

func (l *listing) page() OrdersPage {
	p := OrdersPage{Records: l.records, glances: l.glances, Total: -1}
	if l.rank > 0 {
		p.Total = l.total
	}
	if l.raw != nil {
		p.Digest = xxh3.Hash(l.raw)
	}
	return p
}

// list walks the value of Data.
func (s *scanner) list(depth int, l *listing) bool {
	*l = listing{}
	switch s.peek() {
	case '[':
		return s.plainList(depth, l)
	case '{':
		return s.wrappedList(depth, l)
	case 'n':
		return s.literal("null")
	default:
		return s.refuse(depth, errData)
	}
}

// refuse reports a value of the wrong shape at i, or that it is broken.
func (s *scanner) refuse(depth int, err error) bool {
	start := s.i
	if s.value(depth) {
		s.i = start
		s.fail(BodyShape, err)
	}
	return false
}

func (s *scanner) plainList(depth int, l *listing) bool {
	start := s.i
	objects, ok := s.elements(depth, l)
	if ok && !objects {
		s.i = start
		return s.fail(BodyShape, errRecord)
	}
	l.found, l.raw = true, s.b[start:s.i]
	return ok
}

// elements walks the array at i and keeps its elements, with a glance at each;
// objects reports whether they all are objects.
func (s *scanner) elements(depth int, l *listing) (objects, ok bool) {
	l.records, l.glances = nil, nil
	if !s.opens(depth) {
		return false, false
	}
	if s.peek() == ']' {
		s.i++
		return true, true
	}
	l.records, l.glances = make([]jsontext.Value, 0, 256), make([]Glance, 0, 256)
	for objects = true; ; s.i++ {
		if !s.element(depth-1, l, &objects) {
			return false, false
		}
		if s.peek() != ',' {
			return objects, s.closes(']')
		}
	}
}

// element walks the value at i, and glances at it when it is an object.
func (s *scanner) element(depth int, l *listing, objects *bool) bool {
	var g Glance
	isObject := s.peek() == '{'
	start := s.i
	var ok bool
	if isObject {
		ok = s.order(depth, &g)
	} else {
		*objects, ok = false, s.value(depth)
	}
	l.records, l.glances = append(l.records, s.b[start:s.i:s.i]), append(l.glances, g)
	return ok
}

func (s *scanner) wrappedList(depth int, l *listing) bool {
	start := s.i
	ok := s.members(depth, func(name []byte) bool {
		l.members++
		first := s.peek()
		switch {
		case string(name) == "List":
			return s.namedList(depth-1, l)
		case first == '[' && string(name) != "Details":
			return s.candidate(depth-1, l)
		case first == '{' || first == '[':
			return s.value(depth - 1)
		default:
			return s.scalar(depth-1, name, l)
		}
	})
	if ok && !l.found && l.members > 0 && (l.rank == 0 || l.total != 0) {
		s.i = start
		return s.fail(BodyShape, errNoList)
	}
	return ok
}

// namedList walks the member List, which counts before all others.
func (s *scanner) namedList(depth int, l *listing) bool {
	l.named, l.found, l.records, l.glances, l.raw = true, true, nil, nil, nil
	switch s.peek() {
	case '[':
		return s.plainList(depth, l)
	case 'n':
		return s.literal("null")
	case '{':
		start := s.i
		raw, ok := s.span(depth)
		if ok && len(bytes.TrimSpace(raw[1:len(raw)-1])) > 0 {
			s.i = start
			return s.fail(BodyShape, errList)
		}
		return ok
	default:
		return s.refuse(depth, errList)
	}
}

// candidate walks an array under another name. It is the list when it is the
// first that holds objects and there is no List.
func (s *scanner) candidate(depth int, l *listing) bool {
	if l.named || len(l.records) > 0 {
		return s.value(depth)
	}
	start := s.i
	objects, ok := s.elements(depth, l)
	if ok && objects {
		l.found, l.raw = true, s.b[start:s.i]
	} else {
		l.records, l.glances = nil, nil
	}
	return ok
}

// scalar walks a member that is no list, and keeps it when it is a total.
func (s *scanner) scalar(depth int, name []byte, l *listing) bool {
	raw, ok := s.span(depth)
	if !ok {
		return false
	}
	i := slices.Index(totalNames, string(name))
	rank := len(totalNames) - i
	if i < 0 || rank < l.rank {
		return true
	}
	if n, ok := integer(raw); ok && n >= 0 {
		l.total, l.rank = n, rank
	}
	return true
}
