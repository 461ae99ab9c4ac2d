package commission

import (
	"context"
	"database/sql"
	"slices"
)

// newCells returns cells without sums, for the dimensions that q chooses.
func newCells(ctx context.Context, db querier, d *dialect, q *Query, columns []string) (*cells, error) {
	at := func(name string) int { return slices.Index(columns, name) }
	c := &cells{
		columns: columns, day: at("day"), month: at("month"), status: at("status"), currency: at("currency"),
		numbers: map[string]int64{}, days: map[int32]string{}, at: map[cell]int32{},
	}
	words, err := collect(ctx, db, scanWord, "SELECT id, text FROM commission_texts")
	if err != nil {
		return nil, err
	}
	c.rankWords(words)
	where, args := dimensionWhere(d.text, &q.Filter, q.LinkID)
	if where != "" {
		where = " WHERE " + where
	}
	dimensions, err := collect(ctx, db, scanDimension,
		d.rebind("SELECT id, account, program_id, website_id, sub_id, link_id FROM commission_dimensions"+where), args...)
	if err != nil {
		return nil, err
	}
	c.rankDimensions(dimensions)
	var last int
	err = db.QueryRowContext(ctx, "SELECT last_dimension FROM commission_position").Scan(&last)
	c.few = len(dimensions) < last/few
	return c, err
}

// few is the part of the dimensions up to which an index is quicker than all orders:
// a third took as long with it as all of them.
const few = 4

type word struct {
	id   int64
	text string
}

func scanWord(rows *sql.Rows) (w word, err error) {
	err = rows.Scan(&w.id, &w.text)
	return w, err
}

type numberedDimension struct {
	id int64
	dimension
}

func scanDimension(rows *sql.Rows) (d numberedDimension, err error) {
	err = rows.Scan(&d.id, &d.account, &d.program, &d.website, &d.subID, &d.link)
	return d, err
}

// ranked returns texts sorted, each once, and the rank of each of them there.
func ranked(texts []string) (sorted []string, ranks []int32) {
	sorted = slices.Compact(slices.Sorted(slices.Values(texts)))
	at := make(map[string]int32, len(sorted))
	for i, text := range sorted {
		at[text] = int32(i)
	}
	ranks = make([]int32, len(texts))
	for i, text := range texts {
		ranks[i] = at[text]
	}
	return sorted, ranks
}

func (c *cells) rankWords(all []word) {
	texts, last := make([]string, len(all)), int64(0)
	for i := range all {
		texts[i], last = all[i].text, max(last, all[i].id)
	}
	sorted, ranks := ranked(texts)
	c.words = make([]int32, last+1)
	for i := range all {
		c.words[all[i].id], c.numbers[all[i].text] = ranks[i], all[i].id
	}
	c.texts[c.currency] = sorted
	if c.status >= 0 {
		c.texts[c.status] = sorted
	}
}

// dimensionText are the groupings that are texts of a dimension.
var dimensionText = map[string]func(*dimension) string{
	"account": func(d *dimension) string { return d.account },
	"program": func(d *dimension) string { return d.program },
	"website": func(d *dimension) string { return d.website },
	"sub_id":  func(d *dimension) string { return d.subID },
	"link":    func(d *dimension) string { return d.link },
}

func (c *cells) rankDimensions(all []numberedDimension) {
	keys, last := make([]cellKey, len(all)), int64(0)
	for i := range all {
		last = max(last, all[i].id)
	}
	texts := make([]string, len(all))
	for column, name := range c.columns {
		text, found := dimensionText[name]
		if !found {
			continue
		}
		for i := range all {
			texts[i] = text(&all[i].dimension)
		}
		var ranks []int32
		c.texts[column], ranks = ranked(texts)
		for i, rank := range ranks {
			keys[i][column] = rank
		}
	}
	c.dimensions, c.groups = make([]int32, last+1), make([]cellKey, 1, len(all)+1)
	groups := map[cellKey]int32{}
	for i := range all {
		if groups[keys[i]] == 0 {
			groups[keys[i]] = int32(len(c.groups))
			c.groups = append(c.groups, keys[i])
		}
		c.dimensions[all[i].id] = groups[keys[i]]
	}
}
