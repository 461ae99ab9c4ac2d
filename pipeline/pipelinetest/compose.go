package pipelinetest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Compose returns the command line, up to the file, of whichever compose program
// this machine has, for deploy/compose. Without one the test is skipped, or fails if
// the environment says ORDERWIRE_CONTAINER_TESTS=required.
func Compose(tb testing.TB) []string {
	tb.Helper()
	needEngine(tb)
	program, err := composeProgram(tb.Context())
	if err != nil && os.Getenv(modeVariable) == "required" {
		tb.Fatal(err)
	}
	if err != nil {
		tb.Skip(err)
	}
	return append(program, "-f", filepath.Join(root(tb), composeFile))
}

func composeProgram(ctx context.Context) ([]string, error) {
	if exec.CommandContext(ctx, "docker", "compose", "version").Run() == nil {
		return []string{"docker", "compose"}, nil
	}
	if exec.CommandContext(ctx, "docker-compose", "version").Run() == nil {
		return []string{"docker-compose"}, nil
	}
	return nil, errors.New("neither `docker compose` nor docker-compose is here")
}
