package network

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/orderwire/orderwire/schema"
)

const day = 24 * time.Hour

// stage is a state of a line that does not last: how long a line stays, and
// where it goes from there, with weights.
type stage struct {
	stay span
	next []edge
}

type edge struct {
	to     schema.LineStatus
	weight int
}

// parcel is the life of an order line (specification 3.2, which lists the
// states and gives no transitions). A state that is not in it is at rest:
// completed, refund, invalid.
var parcel = map[schema.LineStatus]stage{
	schema.LineToBePaid: {span{10 * time.Minute, 4 * time.Hour}, []edge{{schema.LinePaid, 92}, {schema.LineInvalid, 8}}},
	schema.LinePaid: {span{time.Hour, 12 * time.Hour}, []edge{
		{schema.LineInProgress, 78}, {schema.LineShipped, 10}, {schema.LineRefund, 5},
		{schema.LineSystemLocked, 4}, {schema.LineUnknown, 3},
	}},
	schema.LineUnknown:         {span{2 * time.Hour, day}, []edge{{schema.LineInProgress, 1}}},
	schema.LineSystemLocked:    {span{6 * time.Hour, 2 * day}, []edge{{schema.LineInProgress, 70}, {schema.LineInvalid, 30}}},
	schema.LineInProgress:      {span{6 * time.Hour, 36 * time.Hour}, []edge{{schema.LineShipped, 96}, {schema.LineRefund, 4}}},
	schema.LineShipped:         {span{4 * time.Hour, day}, []edge{{schema.LineInDelivery, 1}}},
	schema.LineInDelivery:      {span{12 * time.Hour, 4 * day}, []edge{{schema.LineReceived, 95}, {schema.LineRejected, 5}}},
	schema.LineRejected:        {span{6 * time.Hour, 2 * day}, []edge{{schema.LineReturn, 1}}},
	schema.LineReceived:        {span{day, 4 * day}, []edge{{schema.LineSettling, 88}, {schema.LineReturn, 7}, {schema.LineInDispute, 5}}},
	schema.LineSettling:        {span{6 * time.Hour, 2 * day}, []edge{{schema.LineSettled, 1}}},
	schema.LineSettled:         {span{12 * time.Hour, 2 * day}, []edge{{schema.LineCompleted, 1}}},
	schema.LineInDispute:       {span{day, 5 * day}, []edge{{schema.LineDisputeResolved, 1}, {schema.LineDisputeFailed, 1}}},
	schema.LineDisputeResolved: {span{6 * time.Hour, 2 * day}, []edge{{schema.LineRefund, 1}}},
	schema.LineDisputeFailed:   {span{6 * time.Hour, 2 * day}, []edge{{schema.LineCompleted, 1}}},
	schema.LineReturn:          {span{day, 4 * day}, []edge{{schema.LineRefund, 1}}},
}

// late is where a completed line may still go.
var late = []edge{{schema.LineInDispute, 1}, {schema.LineReturn, 1}}

// follow draws one of the edges by its weight.
func follow(dice *rand.Rand, edges []edge) schema.LineStatus {
	sum := 0
	for _, e := range edges {
		sum += e.weight
	}
	n := dice.IntN(sum)
	for _, e := range edges {
		if n -= e.weight; n < 0 {
			return e.to
		}
	}
	return edges[0].to
}

// lineState returns the state of a line that the simulation wrote.
func lineState(l *schema.OrderLine) schema.LineStatus {
	s, err := schema.ParseLineStatus(l.LbOrderStatus.String())
	if err != nil {
		return schema.LineUnknown
	}
	return s
}

// moving returns the lines that are not at rest, and in how many states they
// are.
func (l *life) moving() (lines []int, states int) {
	seen := make([]schema.LineStatus, 0, len(l.lines))
	for i := range l.lines {
		s := lineState(&l.lines[i])
		if _, passing := parcel[s]; !passing {
			continue
		}
		lines = append(lines, i)
		if !slices.Contains(seen, s) {
			seen = append(seen, s)
		}
	}
	return lines, len(seen)
}

// planLines moves a line and most of those that are in the same state, as if
// they were in one parcel. Parcels move side by side: the more there are, the
// shorter is the time until one of them moves.
func (l *life) planLines(moving []int, states int) (time.Duration, act) {
	first := pick(l.dice, moving)
	from := lineState(&l.lines[first])
	stay := parcel[from].stay.draw(l.dice) / time.Duration(states)
	to := follow(l.dice, parcel[from].next)
	var together []int
	for _, i := range moving {
		if i == first || lineState(&l.lines[i]) == from && chance(l.dice, 80) {
			together = append(together, i)
		}
	}
	return stay, func(int64) string { return l.moveLines(together, from, to) }
}

// moveLines sets the state of lines and returns the reason for the history.
func (l *life) moveLines(which []int, from, to schema.LineStatus) string {
	names := make([]string, len(which))
	for n, i := range which {
		l.setState(&l.lines[i], to)
		names[n] = strconv.Itoa(i + 1)
	}
	return "line " + strings.Join(names, ",") + ": " + from.String() + " to " + to.String()
}

// setState writes both forms of a line's state.
func (l *life) setState(line *schema.OrderLine, s schema.LineStatus) {
	line.LbOrderStatus = schema.NewText(s.Value())
	line.OrderStatus = schema.NewText(l.program.words[s])
}
