package main

import "testing"

// A collector that has its limit below what is in use would run all the time.
func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for live, want := range map[uint64]int64{
		0: 320 * mib, 100 * mib: 320 * mib, 224 * mib: 336 * mib, 300 * mib: 450 * mib, 2000 * mib: 3000 * mib,
	} {
		if got := memoryLimit(live); got != want {
			t.Errorf("limit %d MiB for %d MiB in use, want %d", got/mib, live/mib, want/mib)
		}
	}
}
