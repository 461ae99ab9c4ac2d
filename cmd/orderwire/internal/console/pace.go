package console

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
)

// paceMinutes is how many whole minutes the chart of events shows.
const paceMinutes = 60

// pace is how many events the log stored in each minute. It asks the log at which
// sequence a minute began, once for each minute: right also in a process that has
// just started, or that does none of the work.
type pace struct {
	reading
	log Log
	now func() time.Time

	mu     sync.Mutex
	starts map[int64]uint64 // by minute, in Unix time: the first sequence at it or later
}

func newPace(log Log, now func() time.Time) *pace {
	p := &pace{log: log, now: now, starts: make(map[int64]uint64)}
	p.run = p.read
	return p
}

func (p *pace) read(ctx context.Context) error {
	last := p.now().Unix() / 60
	first := last - paceMinutes
	for _, minute := range []int64{first, last} {
		if err := p.ask(ctx, minute); err != nil {
			return err
		}
	}
	if err := p.between(ctx, first, last); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for minute := range p.starts {
		if minute < first {
			delete(p.starts, minute)
		}
	}
	return nil
}

// between finds the minutes from one to another, which are known. When nothing
// came between them there is nothing to ask.
func (p *pace) between(ctx context.Context, first, last int64) error {
	if last-first < 2 {
		return nil
	}
	middle := first + (last-first)/2
	p.mu.Lock()
	if p.starts[first] == p.starts[last] {
		p.starts[middle] = p.starts[first]
	}
	p.mu.Unlock()
	if err := p.ask(ctx, middle); err != nil {
		return err
	}
	if err := p.between(ctx, first, middle); err != nil {
		return err
	}
	return p.between(ctx, middle, last)
}

func (p *pace) ask(ctx context.Context, minute int64) error {
	p.mu.Lock()
	_, known := p.starts[minute]
	p.mu.Unlock()
	if known {
		return nil
	}
	start, err := p.log.SequenceAt(ctx, time.Unix(60*minute, 0))
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starts[minute] = start
	return nil
}

// paceChart is the picture of it.
type paceChart struct {
	Now     string // events of the last whole minute
	Top     string // of the scale
	Summary string
	Bars    []bar
	Labels  []label
	Table   table
}

// look draws the minutes; nil while they are not known yet. last is the newest
// event.
func (p *pace) look(ctx context.Context, k clock, last uint64) (*paceChart, error) {
	whole, err := p.refresh(ctx)
	if !whole || err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	counts, newest := make([]uint64, 0, paceMinutes+1), int64(0)
	for minute := range p.starts {
		newest = max(newest, minute)
	}
	for minute := newest - paceMinutes; minute <= newest; minute++ {
		end, known := p.starts[minute+1]
		if !known {
			end = last + 1
		}
		start := p.starts[minute]
		counts = append(counts, max(end, start)-start)
	}
	return drawPace(k, newest, counts), nil
}

// The drawing of the minutes, in units of the picture.
const (
	paceTop, paceBottom = 10, 116
	paceLeft, paceRight = chartLeft, chartRight
	// paceLeast is the fewest minutes that are drawn of a log that is new.
	paceLeast = 16
)

func drawPace(k clock, newest int64, counts []uint64) *paceChart {
	c := &paceChart{Table: table{ID: "minutes", Caption: "Events by minute", Head: columns("Minute", "#Events")}}
	var top, total uint64
	for _, n := range counts {
		top, total = max(top, n), total+n
	}
	c.Now, c.Top = humanize.Comma(int64(counts[len(counts)-2])), humanize.Comma(int64(top))
	c.Summary = fmt.Sprintf("Events by minute of the last hour: %s in all, at most %s in a minute. The table below has every minute.", humanize.Comma(int64(total)), c.Top)
	idle := slices.IndexFunc(counts, func(n uint64) bool { return n > 0 }) // minutes before the first event
	begin := max(0, min(idle-1, len(counts)-paceLeast))
	step := float64(paceRight-paceLeft) / float64(len(counts)-begin)
	for i, n := range counts {
		at := time.Unix(60*(newest-int64(len(counts)-1-i)), 0)
		x, shown := paceLeft+float64(i-begin)*step, at.In(k.in(""))
		if i >= begin && (i-begin)%((len(counts)-begin+5)/6) == 0 {
			c.Labels = append(c.Labels, label{coordinate(x + step/2), shown.Format("15:04")})
		}
		c.Table.Rows = append(c.Table.Rows, []cell{k.brief(at, ""), count(n)})
		if n == 0 {
			continue
		}
		class, title := "minute", fmt.Sprintf("%s: %s", shown.Format("15:04"), plural(n, "event"))
		if i == len(counts)-1 {
			class, title = "minute running", title+" so far"
		}
		height := max(float64(paceBottom-paceTop)*float64(n)/float64(top), 1)
		c.Bars = append(c.Bars, bar{coordinate(x + step*0.12), coordinate(paceBottom - height), coordinate(step * 0.76), coordinate(height), class, title})
	}
	return c
}
