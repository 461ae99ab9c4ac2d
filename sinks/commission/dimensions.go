package commission

import (
	"context"
	"database/sql"
	"iter"
	"slices"
)

// Levels of detail, see [sums]. The number of a kind of sums in the database is
// that of the day and three times that of the level.
const (
	inFull    = iota // by all of a dimension
	byProgram        // by account and program
	bySubID          // by account and sub id
	byWebsite        // by account and website
	byLink           // by account and link
	levels
)

// dimension is what orders are summed up by, beside day, currency and status.
// The books number them.
type dimension struct{ account, program, website, subID, link string }

// levels returns what a dimension belongs to on each level.
func (d dimension) levels() [levels]dimension {
	return [levels]dimension{
		inFull:    d,
		byProgram: {account: d.account, program: d.program},
		bySubID:   {account: d.account, subID: d.subID},
		byWebsite: {account: d.account, website: d.website},
		byLink:    {account: d.account, link: d.link},
	}
}

// dimensions are those that the books have numbered, as far as batches have
// asked for them.
type dimensions struct {
	register[dimension]
	levels map[int64][levels]int64 // by the number in full
	added  []int64                 // to levels, by a batch
}

func newDimensions() dimensions {
	return dimensions{register: newRegister[dimension](), levels: map[int64][levels]int64{}}
}

// mostDimensions bounds the memory of the known ones.
const mostDimensions = 200_000

var (
	dimensionTexts   = texts("account", "program_id", "website_id", "sub_id", "link_id")
	dimensionColumns = join(numbers("id"), dimensionTexts)
)

const (
	dimensionsByKey  = " SELECT d.id, d.account, d.program_id, d.website_id, d.sub_id, d.link_id FROM k JOIN commission_dimensions d ON "
	selectDimensions = dimensionsByKey +
		"d.account = k.account AND d.program_id = k.program_id AND d.website_id = k.website_id AND d.sub_id = k.sub_id AND d.link_id = k.link_id"
	selectNumbered = dimensionsByKey + "d.id = k.id"
)

// dimensionsOf yields those of a batch.
func dimensionsOf(states []state) iter.Seq[dimension] {
	return func(yield func(dimension) bool) {
		for i := range states {
			if !yield(states[i].dimension()) {
				return
			}
		}
	}
}

// load reads the numbers of dimensions, on each level, that are not known yet.
func (d *dimensions) load(ctx context.Context, s *session, all iter.Seq[dimension]) error {
	wanted := lookup(dimensionTexts, selectDimensions)
	seen, asked := map[dimension]bool{}, map[dimension]bool{}
	for full := range all {
		if _, known := d.levels[d.known[full]]; known || seen[full] {
			continue
		}
		seen[full] = true
		for _, k := range full.levels() {
			if _, known := d.known[k]; !known && !asked[k] {
				asked[k] = true
				wanted.add(k.account, k.program, k.website, k.subID, k.link)
			}
		}
	}
	return s.read(ctx, wanted, func(r *sql.Rows) error {
		_, err := d.scan(r)
		return err
	})
}

func (d *dimensions) scan(r *sql.Rows) (k dimension, err error) {
	var id int64
	err = r.Scan(&id, &k.account, &k.program, &k.website, &k.subID, &k.link)
	if err == nil {
		d.known[k] = id
	}
	return k, err
}

// loadNumbered reads what stands behind numbers whose levels are not known yet.
func (d *dimensions) loadNumbered(ctx context.Context, s *session, ids map[int64]bool, last *int64) error {
	if len(ids) == 0 {
		return nil
	}
	wanted := lookup(numbers("id"), selectNumbered)
	for id := range ids {
		wanted.add(id)
	}
	var found []dimension
	err := s.read(ctx, wanted, func(r *sql.Rows) error {
		k, err := d.scan(r)
		found = append(found, k)
		return err
	})
	if err == nil {
		err = d.load(ctx, s, slices.Values(found))
	}
	for _, k := range found {
		d.numbers(k, last)
	}
	return err
}

// numbers returns the numbers of a dimension on each level.
func (d *dimensions) numbers(full dimension, last *int64) (ids [levels]int64) {
	id := d.number(full, last)
	if ids, known := d.levels[id]; known {
		return ids
	}
	for level, k := range full.levels() {
		ids[level] = d.number(k, last)
	}
	d.levels[id], d.added = ids, append(d.added, id)
	return ids
}

// begin forgets what a batch gave out that did not come on disk, and what has
// become too much.
func (d *dimensions) begin() {
	for _, id := range d.added {
		delete(d.levels, id)
	}
	d.added = nil
	clear(d.fresh)
	if len(d.known) > mostDimensions {
		clear(d.known)
		clear(d.levels)
	}
}

func (d *dimensions) keep() {
	d.register.keep()
	d.added = nil
}

func (d *dimensions) rows() *rows {
	r := insert("commission_dimensions", dimensionColumns, "")
	for k, id := range d.fresh {
		r.add(id, k.account, k.program, k.website, k.subID, k.link)
	}
	return r
}
