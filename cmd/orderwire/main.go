// Command orderwire turns the orders of an affiliate network into a log of
// state changes, and feeds archives, webhooks and commission reports from it.
package main

import (
	"os"
	"runtime/debug"
	_ "time/tzdata" // so that time zones work where the system has none
)

func main() {
	tuneMemory()
	os.Exit(run(os.Args[1:], stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

// gcPercent is how much the heap may grow before garbage is collected, unless
// GOGC says otherwise. The embedded server's trees of subjects are long-lived and
// full of pointers: at Go's own 100, looking through them again and again costs
// a sixth of the processor time of a first poll.
const gcPercent = 300

func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
