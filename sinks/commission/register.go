package commission

import (
	"context"
	"database/sql"
)

// register numbers what repeats in the books, so that their rows are narrow: the
// numbers that are known, and those that a batch gives out.
type register[K comparable] struct{ known, fresh map[K]int64 }

func newRegister[K comparable]() register[K] {
	return register[K]{map[K]int64{}, map[K]int64{}}
}

// number returns the number of k, the next one when it has none.
func (r *register[K]) number(k K, last *int64) int64 {
	if id, known := r.known[k]; known {
		return id
	}
	if id, known := r.fresh[k]; known {
		return id
	}
	*last++
	r.fresh[k] = *last
	return *last
}

// keep remembers the numbers given out, when they are on disk.
func (r *register[K]) keep() {
	for k, id := range r.fresh {
		r.known[k] = id
	}
	clear(r.fresh)
}

// registers are what the writer of books remembers from batch to batch.
type registers struct {
	dimensions dimensions
	words      words
	keys       sumKeys
}

func newRegisters() *registers {
	return &registers{newDimensions(), newWords(), sumKeys{known: map[sumKey]struct{}{}}}
}

// begin forgets what a batch gave out that did not come on disk.
func (r *registers) begin() {
	r.dimensions.begin()
	clear(r.words.fresh)
}

func (r *registers) keep() {
	r.dimensions.keep()
	r.words.keep()
	r.keys.keep()
}

// words are the texts of commission_texts, all of them: status, currency, name
// of a program, account and kind of the ledger.
type words struct {
	register[string]
	text map[int64]string
	last int64 // the newest that is known
}

var wordColumns = join(numbers("id"), texts("text"))

const selectWords = "SELECT id, text FROM commission_texts WHERE id > ?"

func newWords() words { return words{register: newRegister[string](), text: map[int64]string{}} }

// load reads the texts up to the number given out last, by this process or another.
func (w *words) load(ctx context.Context, db querier, d *dialect, last int64) error {
	if last <= w.last {
		return nil
	}
	_, err := collect(ctx, db, func(r *sql.Rows) (text string, err error) {
		var id int64
		err = r.Scan(&id, &text)
		w.known[text], w.text[id] = id, text
		return text, err
	}, d.rebind(selectWords), w.last)
	if err == nil {
		w.last = last
	}
	return err
}

func (w *words) keep() {
	for text, id := range w.fresh {
		w.text[id] = text
		w.last = max(w.last, id)
	}
	w.register.keep()
}

func (w *words) rows() *rows {
	r := insert("commission_texts", wordColumns, "")
	for text, id := range w.fresh {
		r.add(id, text)
	}
	return r
}
