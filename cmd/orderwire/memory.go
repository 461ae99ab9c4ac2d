package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// gcPercent is how much the heap may grow before garbage is collected, unless
	// GOGC says otherwise. The embedded server's trees of subjects are long-lived
	// and full of pointers: at Go's own 100, looking through them again and again
	// costs a sixth of the processor time of a first poll.
	gcPercent = 300
	// memoryEnough is what the process may take before that growth is bounded by
	// memoryLimit, unless GOMEMLIMIT says otherwise.
	memoryEnough = 320 << 20
	// memoryRoom is the growth that is left at any size, for work between two
	// looks at the heap.
	memoryRoom = 96 << 20
)

// memoryEvery is how often the heap is looked at.
const memoryEvery = 250 * time.Millisecond

// memoryLimit returns how much memory the process may take before garbage is
// collected whatever its growth, by the bytes that the last collection found in
// use: beyond memoryEnough the heap grows by half instead of fourfold.
func memoryLimit(live uint64) int64 {
	return int64(max(memoryEnough, live+max(live/2, memoryRoom)))
}

// tuneMemory sets what the collector goes by, until ctx ends. Who sets GOGC has
// all of it in hand.
func tuneMemory(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(gcPercent)
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetMemoryLimit(memoryEnough)
	go followHeap(ctx)
}

// followHeap keeps the limit above what is in use: a collector that cannot get
// below its limit takes half of the processor's time.
func followHeap(ctx context.Context) {
	look := time.NewTicker(memoryEvery)
	defer look.Stop()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	limit := int64(memoryEnough)
	for {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
		metrics.Read(live)
		if next := memoryLimit(live[0].Value.Uint64()); next != limit {
			limit = next
			debug.SetMemoryLimit(limit)
		}
	}
}
