package network

import (
	"context"
	"errors"
	"fmt"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/network/internal/wire"
	"github.com/orderwire/orderwire/sources/openapi"
)

// refusal is an error whose message goes to the client.
type refusal struct {
	status  Status
	message string
	err     error // cause, for the service's log; nil when there is none
}

// Error gives the message and the cause.
func (r *refusal) Error() string {
	if r.err == nil {
		return r.message
	}
	return fmt.Sprintf("%s: %v", r.message, r.err)
}

// Unwrap returns the cause.
func (r *refusal) Unwrap() error { return r.err }

func refuse(status Status, format string, args ...any) error {
	return &refusal{status: status, message: fmt.Sprintf(format, args...)}
}

// refusalOf decides what the client is told about an error. Only what was made
// for it is shown; of any other error it learns that the service failed.
func (s *Service) refusalOf(err error) *refusal {
	var r *refusal
	var param *schema.ParamError
	var body *wire.Error
	switch {
	case errors.As(err, &r):
		return r
	case errors.As(err, &param):
		return &refusal{status: StatusParameter, message: param.Error()}
	case errors.As(err, &body):
		return &refusal{status: StatusBody, message: body.Error()}
	case errors.Is(err, openapi.ErrBody):
		return &refusal{status: StatusBody, message: "body: " + err.Error()} // which quotes nothing of it
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), s.store.busy(err):
		return &refusal{status: StatusOverload, message: "service unavailable, try again later", err: err}
	default:
		return &refusal{status: StatusInternal, message: "internal error, try again later", err: err}
	}
}
