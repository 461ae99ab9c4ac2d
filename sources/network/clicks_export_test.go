package network

import "context"

// Exec runs a statement that writes, as a change of its own.
func (s *Service) Exec(ctx context.Context, statement string, args ...any) error {
	return s.store.change(ctx, func(c *change) error { return c.exec(ctx, statement, args...) })
}

// Click is a row of clicks.
type Click struct {
	ID                      string
	Publisher, Link, At     int64
	Program, Website, SubID string
}

// Click writes a click and counts it.
func (s *Service) Click(ctx context.Context, k Click) error {
	return s.store.change(ctx, func(c *change) error {
		c.countClick(k.Publisher, k.Program, k.Website, k.SubID, k.At)
		return c.exec(ctx, `INSERT INTO clicks (id, link_id, publisher_id, website_id, program_id, sub_id, at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			k.ID, k.Link, k.Publisher, k.Website, k.Program, k.SubID, k.At)
	})
}
