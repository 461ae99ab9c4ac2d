package network

import (
	"context"
	"database/sql"
	"strconv"

	"github.com/orderwire/orderwire/schema"
)

// materialData is a promotional material in an answer.
type materialData struct {
	MaterialID string `json:"MaterialId"`
	ProgramID  string `json:"ProgramId"`
	Kind       string // banner, text, coupon
	Title      string `json:",omitempty"`
	Body       string `json:",omitempty"` // address of the picture, the text, or the coupon's code
	TargetURL  string `json:"TargetUrl,omitempty"`
	Width      string `json:",omitempty"` // pixels, of a banner
	Height     string `json:",omitempty"`
	StartTime  string `json:",omitempty"` // absent: always
	EndTime    string `json:",omitempty"` // from then on it is no longer shown
}

const materialQuery = `SELECT m.id, m.program_id, m.kind, m.title, m.body, m.target, m.width, m.height, m.starts_at, m.ends_at
	FROM materials m JOIN programs p ON p.id = m.program_id
	WHERE p.status = 'open' AND (m.starts_at IS NULL OR m.starts_at <= ?) AND (m.ends_at IS NULL OR m.ends_at > ?)`

// queryMaterials answers materials.query.get: the materials of open programs,
// within their time.
func (s *Service) queryMaterials(ctx context.Context, _ caller, f *form, b []byte) ([]byte, error) {
	now := s.unix()
	q := &selection{paging: parsePaging(f), query: materialQuery, args: []any{now, now}, order: "2, 1"}
	q.equal("m.program_id", f.text("ProgramId"))
	q.equal("m.kind", f.choice("Kind", "banner, text or coupon", "", "banner", "text", "coupon"))
	if f.err != nil {
		return nil, f.err
	}
	return s.store.page(ctx, q, b, func(row scan) (any, error) {
		var m materialData
		var width, height int64
		var from, to sql.Null[int64]
		err := row(&m.MaterialID, &m.ProgramID, &m.Kind, &m.Title, &m.Body, &m.TargetURL, &width, &height, &from, &to)
		m.Width, m.Height, m.StartTime, m.EndTime = pixels(width), pixels(height), s.clockText(from), s.clockText(to)
		return m, err
	})
}

// pixels writes a size, "" for what has none.
func pixels(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// clockText writes Unix seconds as a time in the service's zone, "" for null.
func (s *Service) clockText(at sql.Null[int64]) string {
	if !at.Valid {
		return ""
	}
	return calendar{zone: s.config.TimeZone}.at(at.V).Format(schema.TimeLayout)
}
