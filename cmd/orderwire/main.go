// Command orderwire turns the orders of an affiliate network into a log of
// state changes, and feeds archives, webhooks and commission reports from it.
package main

import (
	"context"
	"os"
	_ "time/tzdata" // so that time zones work where the system has none
)

func main() {
	tuneMemory(context.Background())
	os.Exit(run(os.Args[1:], stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}
