// Package progress shows how far a long command is: on a terminal as a bar with
// rate and time left, elsewhere as a log line now and then.
package progress

import (
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/schollz/progressbar/v3"
)

const (
	drawEvery = 100 * time.Millisecond
	logEvery  = 10 * time.Second
)

// Meter shows the progress of one piece of work. Its methods are for one
// goroutine.
type Meter struct {
	out    io.Writer
	log    *slog.Logger
	what   string
	unit   string
	bar    *progressbar.ProgressBar
	onTerm bool
	now    func() time.Time
	began  time.Time
	logged time.Time // zero before the first line
}

// New makes a meter. It draws on out when that is a terminal, and logs
// otherwise. what names the work ("verify"), unit what is counted ("rows").
func New(out io.Writer, log *slog.Logger, what, unit string) *Meter {
	m := &Meter{out: out, log: log, what: what, unit: unit, now: time.Now, began: time.Now()}
	if f, ok := out.(*os.File); ok {
		m.onTerm = isatty.IsTerminal(f.Fd())
	}
	return m
}

// Step tells how much of all is done.
func (m *Meter) Step(done, total int64) {
	if m.onTerm {
		m.draw(done, total)
		return
	}
	now := m.now()
	if now.Sub(m.began) < logEvery || now.Sub(m.logged) < logEvery || done <= 0 {
		return
	}
	m.logged = now
	took := now.Sub(m.began)
	left := time.Duration(float64(took) / float64(done) * float64(total-done))
	m.log.Info(m.what, "done", done, "total", total, "unit", m.unit,
		"per_second", int64(float64(done)/took.Seconds()), "left", left.Round(time.Second))
}

func (m *Meter) draw(done, total int64) {
	if m.bar == nil {
		m.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(m.out), progressbar.OptionSetDescription(m.what),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString(m.unit),
			progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(drawEvery), progressbar.OptionClearOnFinish())
	}
	_ = m.bar.Set64(done) // a bar that cannot be drawn stops no work
}

// Close takes the bar away.
func (m *Meter) Close() {
	if m.bar != nil {
		_ = m.bar.Clear()
	}
}
