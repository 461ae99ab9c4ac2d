package network

import (
	"math/rand/v2"
	"time"
)

// newDice returns the random numbers of one occasion: the same for the same
// seed, number and turn, wherever and whenever they are drawn.
func newDice(seed, number, turn uint64) *rand.Rand {
	return rand.New(rand.NewPCG(mix(seed^mix(number)), mix(turn+1))) //nolint:gosec // a simulation has to be repeatable
}

// mix spreads the bits of a number, so that neighbours have nothing in common
// (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// span is a range of durations.
type span struct{ least, most time.Duration }

// draw returns a duration within the span.
func (s span) draw(dice *rand.Rand) time.Duration {
	return s.least + time.Duration(dice.Int64N(int64(s.most-s.least)+1))
}

// chance is true in percent of cases out of a hundred.
func chance(dice *rand.Rand, percent int) bool { return dice.IntN(100) < percent }

// pick returns one of the elements.
func pick[T any](dice *rand.Rand, from []T) T { return from[dice.IntN(len(from))] }
