package network

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/orderwire/orderwire/sources/openapi"
)

// request is a call of the API as it came.
type request struct {
	key, service string // the segments of the path
	body         []byte
	origin       string // beginning of the links that the answer holds
}

// path is what is signed (specification 5.1).
func (r request) path() string { return "/" + r.key + "/" + r.service }

// caller is the publisher that made a request.
type caller struct {
	publisher int64
	origin    string
}

// operation answers one service name of the publisher side: it appends the JSON
// of Data to b. A [*refusal] or a [*schema.ParamError] tells the client what is
// wrong.
type operation func(ctx context.Context, by caller, f *form, b []byte) ([]byte, error)

// answer checks who calls, and that the call is signed and fresh, before it
// looks at what is asked. It appends the Data to b.
func (s *Service) answer(ctx context.Context, r request, b []byte) ([]byte, error) {
	key, err := s.access(ctx, r.key)
	if err != nil {
		return nil, err
	}
	if key.advertiser {
		return nil, refuse(StatusNoService, "no such service for an ADS_KEY")
	}
	f, err := s.verify(r, key.secret)
	if err != nil {
		return nil, err
	}
	op, found := s.operations[r.service]
	if !found {
		return nil, refuse(StatusNoService, "no such service")
	}
	return op(ctx, caller{publisher: key.owner, origin: r.origin}, f, b)
}

// access is what a key gives access to.
type access struct {
	advertiser bool
	owner      int64
	secret     string
}

func (s *Service) access(ctx context.Context, key string) (access, error) {
	var publisher, advertiser sql.Null[int64]
	var secret string
	err := s.store.row(ctx, `SELECT publisher_id, advertiser_id, secret FROM access_keys WHERE access_key = ?`,
		[]any{key}, &publisher, &advertiser, &secret)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return access{}, refuse(StatusUnknownKey, "the App Key of the path is not known")
	case err != nil:
		return access{}, fmt.Errorf("look a key up: %w", err)
	}
	return access{advertiser: advertiser.Valid, owner: publisher.V, secret: secret}, nil
}

// verify checks the signature over the body as it was sent, and then the
// common parameters (specification 2.2). The clock comes after the signature,
// so a stale request still tells whether its signature is right.
func (s *Service) verify(r request, secret string) (*form, error) {
	p, err := parseParams(r.body)
	if err != nil {
		return nil, err
	}
	f := &form{params: p}
	sign := f.required(openapi.SignField)
	if f.err != nil {
		return nil, f.err
	}
	ok, err := openapi.Verify(secret, r.path(), r.body, sign)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, refuse(StatusSignature, "Sign is not the signature of this request")
	}
	f.agree("AppKey", r.key)
	f.agree("Service", r.service)
	sent := f.requiredInteger("Timestamp")
	if f.err != nil {
		return nil, f.err
	}
	if window := s.config.TimestampWindow; window >= 0 && s.clockDistance(sent) > window {
		return nil, refuse(StatusTimestamp, "Timestamp: want within %.0f s of the service's clock", window.Seconds())
	}
	return f, nil
}
