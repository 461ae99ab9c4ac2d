package network

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// The kinds of a [Material].
var materialKinds = []string{"banner", "text", "coupon"}

// Material is something that publishers promote a program with.
type Material struct {
	ID      string `json:"id"`      // "" for a new one, which gets a number
	Program string `json:"program"` // ProgramId
	Kind    string `json:"kind"`    // banner, text or coupon
	Title   string `json:"title"`   // at most 255 characters
	// Body is the address of a banner's picture, the text, or the coupon's code:
	// at most 2000 characters.
	Body string `json:"body"`
	// Target is the address that it advertises, within the program's domains.
	Target string     `json:"target"`
	Width  int64      `json:"width"` // pixels, 0 for what has none
	Height int64      `json:"height"`
	Starts *time.Time `json:"starts,omitzero"` // nil: always
	Ends   *time.Time `json:"ends,omitzero"`
}

// CreateMaterial adds a material to a program and returns its ID. The error is a
// [*ConfigError] for every field that is wrong, joined, or wraps [ErrNotFound].
func (s *Service) CreateMaterial(ctx context.Context, m Material) (string, error) {
	if err := m.check(); err != nil {
		return "", err
	}
	err := s.changeProgram(ctx, m.Program, func(c *change) error {
		p, err := c.storedProgram(ctx, m.Program)
		if err != nil {
			return err
		}
		if !p.leadsTo(m.Target) {
			return &ConfigError{"Target", "outside the program's domains, which are " + strings.Join(p.Domains, ", ")}
		}
		if m.ID, err = c.newID(ctx, "materials"); err != nil {
			return err
		}
		return c.exec(ctx, `INSERT INTO materials (id, program_id, kind, title, body, target, width, height, starts_at, ends_at,
			created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, m.ID, m.Program, m.Kind, m.Title, m.Body, m.Target,
			m.Width, m.Height, optionalUnix(m.Starts), optionalUnix(m.Ends), c.now, c.now)
	})
	return m.ID, err
}

// RemoveMaterial removes a material. The error wraps [ErrNotFound].
func (s *Service) RemoveMaterial(ctx context.Context, id string) error {
	return s.store.change(ctx, func(c *change) error {
		known, err := c.found(ctx, `DELETE FROM materials WHERE id = ? RETURNING 1`, []any{id}, new(int))
		if err == nil && !known {
			err = fmt.Errorf("material %q: %w", id, ErrNotFound)
		}
		return err
	})
}

// Materials returns the materials of a program, of all when it is "", by program
// and id. The error wraps [ErrNotFound] for a program that is not there.
func (s *Service) Materials(ctx context.Context, program string) ([]Material, error) {
	if program != "" {
		if err := s.mustKnowProgram(ctx, program); err != nil {
			return nil, err
		}
	}
	return listOf(ctx, s.store, `SELECT id, program_id, kind, title, body, target, width, height, starts_at, ends_at FROM materials
		WHERE program_id = ? OR ? = '' ORDER BY program_id, id`, []any{program, program}, func(scan scanner) (m Material, err error) {
		var starts, ends sql.Null[int64]
		err = scan(&m.ID, &m.Program, &m.Kind, &m.Title, &m.Body, &m.Target, &m.Width, &m.Height, &starts, &ends)
		m.Starts, m.Ends = optionalInstant(starts), optionalInstant(ends)
		return m, err
	})
}

func (m *Material) check() error {
	errs := []error{
		checkName("Title", m.Title), checkText("Body", m.Body, maxProse), checkText("Target", m.Target, maxProse),
	}
	if !slices.Contains(materialKinds, m.Kind) {
		errs = append(errs, &ConfigError{"Kind", "give " + strings.Join(materialKinds, ", ")})
	}
	switch {
	case m.Body == "":
		errs = append(errs, &ConfigError{"Body", "empty, give the address of the picture, the text, or the coupon's code"})
	case m.Kind == "banner" && !webAddress(m.Body):
		errs = append(errs, &ConfigError{"Body", "give the http or https address of the picture"})
	}
	if !webAddress(m.Target) {
		errs = append(errs, &ConfigError{"Target", "give an http or https address"})
	}
	if m.Width < 0 || m.Height < 0 {
		errs = append(errs, &ConfigError{"Width", "Width and Height: negative, give pixels, or 0 for what has none"})
	}
	if m.Starts != nil && m.Ends != nil && !m.Ends.After(*m.Starts) {
		errs = append(errs, &ConfigError{"Ends", "not after Starts"})
	}
	return errors.Join(errs...)
}

// leadsTo reports whether an address lies within the program's domains.
func (p *Program) leadsTo(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	return slices.ContainsFunc(p.Domains, func(domain string) bool { return host == domain || strings.HasSuffix(host, "."+domain) })
}
