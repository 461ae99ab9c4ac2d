package network

import (
	"hash/fnv"
	"math/rand/v2"
)

// How many clicks an order of the simulation takes on the average is drawn for each
// website, program and sub id, so that some of them sell better than others.
const (
	fewestClicks = 12
	mostClicks   = 90
)

// clicksFor draws how often the order's link was followed until the order came of it,
// the last click included. Clicks that nobody buys after stand with the next order,
// so a website, program and sub id without orders has none.
func clicksFor(dice *rand.Rand, seed uint64, o *order) int64 {
	h := fnv.New64a()
	for _, s := range []string{o.website, o.program, o.subID} {
		_, _ = h.Write(append([]byte(s), 0)) // which never fails
	}
	mean := fewestClicks + int64(mix(seed^h.Sum64())%(mostClicks-fewestClicks+1))
	return 1 + dice.Int64N(2*mean-1)
}
