package commission

import (
	"context"
	"database/sql"
	"strings"

	"golang.org/x/sync/errgroup"
)

// dayChanges is a row of commission_changes.
type dayChanges struct {
	day     int64
	entries string
}

// changeReaders is how many texts are read at a time: that is most of the time of a
// report by day of posting.
const changeReaders = 2

// addChanges adds what the days of posting changed.
func (r *Reader) addChanges(ctx context.Context, tx *sql.Tx, q *Query, c *cells) error {
	status, currency := c.only(r.text(statusValue(q.Status))), c.only(r.text(q.Currency))
	if status < 0 || currency < 0 {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	texts, readers := make(chan dayChanges, changeReaders), [changeReaders]*nearby{}
	for i := range readers {
		n := &nearby{cells: c.empty(), status: status, currency: currency}
		readers[i] = n
		group.Go(func() error {
			for text := range texts {
				if err := n.read(text); err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		defer close(texts)
		return r.eachChanges(ctx, tx, q, texts)
	})
	if err := group.Wait(); err != nil {
		return err
	}
	for _, n := range readers {
		if err := c.addAll(n.cells); err != nil {
			return err
		}
	}
	return nil
}

// eachChanges sends the texts of the days that are chosen, in their order.
func (r *Reader) eachChanges(ctx context.Context, tx *sql.Tx, q *Query, to chan<- dayChanges) error {
	days := Filter{From: q.From, To: q.To}
	where, args := days.numbersWhere(r.text)
	query := r.rebind("SELECT day, entries FROM commission_changes" + strings.Replace(where, " AND ", " WHERE ", 1) + " ORDER BY day, part")
	return each(ctx, tx, func(rows *sql.Rows) (bool, error) {
		var text dayChanges
		if err := rows.Scan(&text.day, &text.entries); err != nil {
			return false, err
		}
		select {
		case to <- text:
			return true, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}, query, args...)
}

// nearby adds changes to cells. They come day by day and, for a while, dimension by
// dimension, so the places of cells are kept in that order: to look each of them up
// in a map would take as long as to read it.
type nearby struct {
	*cells
	status, currency int64 // of those that are chosen, 0 for all

	day    int64
	pairs  []pairOfWords
	places [][]int32 // by pair and group: the place in sums behind it, 0 when it is not known
}

type pairOfWords struct{ currency, status int64 }

// mostPairs bounds the memory, and the time to find one.
const mostPairs = 16

func (n *nearby) read(text dayChanges) error {
	if n.period(text.day) != n.period(n.day) {
		for _, places := range n.places {
			clear(places)
		}
	}
	n.day = text.day
	return readChanges(text.entries, n.add)
}

func (n *nearby) add(e change) error {
	group := n.group(e.dimension)
	if group == 0 || n.status > 0 && e.status != n.status || n.currency > 0 && e.currency != n.currency {
		return nil
	}
	places := n.of(pairOfWords{e.currency, e.status})
	if places == nil {
		return n.cells.add(e.dimension, n.day, e.currency, e.status, e.sum)
	}
	if places[group] == 0 {
		i, err := n.place(group, n.day, e.currency, e.status)
		if err != nil {
			return err
		}
		places[group] = i + 1
	}
	return n.sums[places[group]-1].add(e.sum)
}

// of returns the places of a pair, nil when there are too many pairs.
func (n *nearby) of(p pairOfWords) []int32 {
	for i, known := range n.pairs {
		if known == p {
			return n.places[i]
		}
	}
	if len(n.pairs) == mostPairs {
		return nil
	}
	n.pairs, n.places = append(n.pairs, p), append(n.places, make([]int32, len(n.groups)))
	return n.places[len(n.places)-1]
}
