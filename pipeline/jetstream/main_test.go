package jetstream_test

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// childVariable names the child that this test binary is to be, with its
// argument in childArgument; see children.
const (
	childVariable = "ORDERWIRE_TEST_CHILD"
	childArgument = "ORDERWIRE_TEST_CHILD_ARGUMENT"
)

// children are what tests run as a process of its own, to kill it.
var children = map[string]func(ctx context.Context, argument string) error{
	"keeper": keeper,
}

func TestMain(m *testing.M) {
	child, ok := children[os.Getenv(childVariable)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := child(context.Background(), os.Getenv(childArgument)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
