package pipeline

import (
	"container/heap"
	"slices"
	"time"
)

// agenda holds the orders that wait, the next one first.
type agenda []*order

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].Next.Before(a[j].Next) }
func (a agenda) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }

// Push implements [heap.Interface].
func (a *agenda) Push(o any) { *a = append(*a, o.(*order)) } //nolint:forcetypeassert // only rest pushes

// Pop implements [heap.Interface].
func (a *agenda) Pop() any {
	last := len(*a) - 1
	o := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	return o
}

// remove takes an order out.
func (a *agenda) remove(o *order) {
	if at := slices.Index(*a, o); at >= 0 {
		heap.Remove(a, at)
	}
}

// rest lets an order wait for its next attempt, or for a person.
func (r *route) rest(o *order) {
	if o.Held {
		o.state = held
		return
	}
	o.state = waiting
	heap.Push(&r.agenda, o)
}

// wake makes those ready whose time has come.
func (r *route) wake() {
	for len(r.agenda) > 0 && !r.agenda[0].Next.After(r.now) {
		o := heap.Pop(&r.agenda).(*order) //nolint:forcetypeassert // only rest pushes
		o.state = ready
		r.due.push(o)
	}
}

// alarm sets the timer to the next moment at which something can begin.
func (r *route) alarm() {
	var next time.Time
	for _, at := range []time.Time{r.agendaNext(), r.resume, r.lookAt()} {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if next.Equal(r.alarmAt) {
		return
	}
	r.alarmAt = next
	if next.IsZero() {
		r.timer.Stop()
		return
	}
	r.timer.Reset(max(0, next.Sub(r.now)))
}

func (r *route) agendaNext() time.Time {
	if len(r.agenda) == 0 {
		return time.Time{}
	}
	return r.agenda[0].Next
}

// fifo is a queue of orders that are ready.
type fifo struct {
	all  []*order
	head int
}

func (q *fifo) len() int { return len(q.all) - q.head }

func (q *fifo) push(o *order) { q.all = append(q.all, o) }

func (q *fifo) pop() *order {
	o := q.all[q.head]
	q.all[q.head] = nil
	if q.head++; q.head == len(q.all) || q.head >= 1024 {
		n := copy(q.all, q.all[q.head:])
		clear(q.all[n:])
		q.all, q.head = q.all[:n], 0
	}
	return o
}
