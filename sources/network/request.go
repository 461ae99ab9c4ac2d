package network

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/orderwire/orderwire/sources/network/internal/wire"
	"github.com/orderwire/orderwire/sources/openapi"
)

// request is a call of the API as it came.
type request struct {
	key, service string // the segments of the path
	contentType  string // of the body, "" for none
	body         []byte
	origin       string // beginning of the links that the answer holds
}

// path is what is signed (specification 5.1).
func (r request) path() string { return "/" + r.key + "/" + r.service }

// caller is who made a request: a publisher or an advertiser, the other one
// is 0.
type caller struct {
	publisher, advertiser int64
	origin                string
}

// operation answers one service name for one side: it appends the JSON of Data
// to b. A [*refusal] or a [*schema.ParamError] tells the client what is wrong.
type operation func(ctx context.Context, by caller, f *form, b []byte) ([]byte, error)

// sides are what a service name does for a publisher and for an advertiser, nil
// where it does nothing.
type sides struct{ publisher, advertiser operation }

// answer checks who calls, and that the call is signed and fresh, before it
// looks at what is asked. It appends the Data to b.
func (s *Service) answer(ctx context.Context, r request, b []byte) ([]byte, error) {
	key, err := s.access(ctx, r.key)
	if err != nil {
		return nil, err
	}
	if key.advertiser {
		return s.answerAdvertiser(ctx, r, key, b)
	}
	f, err := s.verify(r, key.secrets)
	if err != nil {
		return nil, err
	}
	op := s.operations[r.service].publisher
	if op == nil {
		return nil, refuse(StatusNoService, "no such service")
	}
	return op(ctx, caller{publisher: key.owner, origin: r.origin}, f, b)
}

// answerAdvertiser answers a call with an ADS_KEY, which nothing signs
// (specification 5.2).
func (s *Service) answerAdvertiser(ctx context.Context, r request, key access, b []byte) ([]byte, error) {
	op := s.operations[r.service].advertiser
	if op == nil {
		return nil, refuse(StatusNoService, "no such service for an ADS_KEY")
	}
	body, err := wire.Parse(r.contentType, r.body)
	if err != nil {
		return nil, err
	}
	f := &form{params: body.Params}
	if f.agreeWith(r); f.err != nil {
		return nil, f.err
	}
	return op(ctx, caller{advertiser: key.owner, origin: r.origin}, f, b)
}

// access is what a key gives access to.
type access struct {
	advertiser bool
	owner      int64
	secrets    []string // valid ones, newest first; none for an ADS_KEY
}

// access looks a key up. What cannot be a key, as what a path can hold besides,
// never reaches the database. A key that is unknown or disabled is refused
// before anything is done with a secret.
func (s *Service) access(ctx context.Context, key string) (access, error) {
	if checkKey("", key) != nil {
		return access{}, errUnknownKey()
	}
	var publisher, advertiser sql.Null[int64]
	err := s.store.row(ctx, `SELECT publisher_id, advertiser_id FROM access_keys
		WHERE access_key = ? AND disabled_at IS NULL`, []any{key}, &publisher, &advertiser)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return access{}, errUnknownKey()
	case err != nil:
		return access{}, fmt.Errorf("look a key up: %w", err)
	}
	a := access{advertiser: advertiser.Valid, owner: publisher.V + advertiser.V}
	if !a.advertiser {
		a.secrets, err = s.secrets(ctx, key)
	}
	return a, err
}

// secrets returns the secrets that a key may sign with now.
func (s *Service) secrets(ctx context.Context, key string) ([]string, error) {
	st, err := s.store.statement(ctx, `SELECT secret FROM key_secrets
		WHERE access_key = ? AND (expires_at IS NULL OR expires_at > ?) ORDER BY number DESC`)
	if err != nil {
		return nil, err
	}
	rows, err := st.QueryContext(ctx, key, s.unix())
	if err != nil {
		return nil, fmt.Errorf("look the secrets of a key up: %w", err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var secret string
		if err := rows.Scan(&secret); err != nil {
			return nil, fmt.Errorf("look the secrets of a key up: %w", err)
		}
		all = append(all, secret)
	}
	return all, rows.Err()
}

func errUnknownKey() error { return refuse(StatusUnknownKey, "the key of the path is not known") }

// verify checks the signature over the body as it was sent, and then the
// common parameters (specification 2.2). The clock comes after the signature,
// so a stale request still tells whether its signature is right, and the replay
// comes last, so that only what was signed is remembered.
func (s *Service) verify(r request, secrets []string) (*form, error) {
	body, err := wire.Parse(r.contentType, r.body)
	if err != nil {
		return nil, err
	}
	f := &form{params: body.Params}
	sign := f.required(openapi.SignField)
	if f.err != nil {
		return nil, f.err
	}
	switch ok, err := body.SignedBy(r.path(), sign, secrets); {
	case err != nil:
		return nil, err
	case !ok:
		return nil, refuse(StatusSignature, "Sign is not the signature of this request")
	}
	f.agreeWith(r)
	sent := f.requiredInteger("Timestamp")
	if f.err != nil {
		return nil, f.err
	}
	return f, s.fresh(r.key, sign, sent)
}

// fresh checks a Timestamp, and that the request was not taken before.
func (s *Service) fresh(key, sign string, sent int64) error {
	if window := s.config.TimestampWindow; window >= 0 && s.clockDistance(sent) > window {
		return refuse(StatusTimestamp, "Timestamp: want within %.0f s of the service's clock", window.Seconds())
	}
	if s.taken == nil {
		return nil
	}
	return s.taken.take(key, sign, sent, s.unix())
}

// agreeWith checks the parameters that may repeat the path (specification 2.2
// and 5.1.4).
func (f *form) agreeWith(r request) {
	f.agree("AppKey", r.key)
	f.agree("Service", r.service)
}
