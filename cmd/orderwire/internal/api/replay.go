package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/replay"
)

// Replayer delivers events again.
type Replayer interface {
	// Replay delivers a range of events to an endpoint again, or counts them, until
	// ctx ends. Report.Next says where to go on after an error. The error is a
	// [replay.RequestError] when the request is wrong, and wraps
	// [endpoints.ErrUnknown] when there is no endpoint of that name.
	Replay(ctx context.Context, name string, q replay.Request) (replay.Report, error)
}

// replay goes on for as long as the caller waits.
func (s *service) replay(w http.ResponseWriter, r *http.Request) error {
	var q replay.Request
	if err := read(w, r, &q); err != nil {
		return err
	}
	report, err := s.Replay.Replay(r.Context(), r.PathValue("name"), q)
	var wrong *replay.RequestError
	switch {
	case errors.As(err, &wrong):
		detail := strings.ReplaceAll(wrong.Problem, "--", "") // which name flags
		if wrong.Field != "" {
			detail = wrong.Field + ": " + detail
		}
		return malformed(detail, "see /api/v1/openapi.yaml")
	case err != nil && report.Next > 0:
		return problem(http.StatusBadGateway, err.Error(), "go on with from: "+strconv.FormatUint(report.Next, 10))
	case err != nil:
		return err
	}
	return reply(w, http.StatusOK, report)
}
