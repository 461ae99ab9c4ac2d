package webhook

import "github.com/orderwire/orderwire/schema"

// filter lets an event through when each of its sets is empty or holds the
// event's value, and the expression, if there is one, is true of it.
type filter struct {
	events   map[schema.EventType]bool
	accounts map[string]bool
	programs map[string]bool
	where    *where
}

func newFilter(c *Config, where *where) filter {
	return filter{events: set(c.Events), accounts: set(c.Accounts), programs: set(c.Programs), where: where}
}

// selects reports whether there is an event that is not let through.
func (f *filter) selects() bool {
	return len(f.events)+len(f.accounts)+len(f.programs) > 0 || f.where != nil
}

// match's error is [ErrWhere].
func (f *filter) match(e *schema.Event) (bool, error) {
	if !allows(f.events, e.Type) || !allows(f.accounts, e.Data.Account) {
		return false, nil
	}
	if len(f.programs) > 0 && !f.programs[e.Data.Order.ProgramID.String()] {
		return false, nil
	}
	if f.where == nil {
		return true, nil
	}
	return f.where.match(e)
}

func set[T comparable](values []T) map[T]bool {
	m := make(map[T]bool, len(values))
	for _, v := range values {
		m[v] = true
	}
	return m
}

func allows[T comparable](m map[T]bool, v T) bool { return len(m) == 0 || m[v] }
