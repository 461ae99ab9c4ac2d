package jetstream

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
)

// serverLog passes the embedded server's warnings and errors to slog and drops
// its notices, which repeat what Orderwire says itself.
type serverLog struct {
	log  *slog.Logger
	last atomic.Pointer[string]
}

func newServerLog(log *slog.Logger) *serverLog {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &serverLog{log: log}
}

// lastError returns the newest error, or a sentence that there was none.
func (l *serverLog) lastError() string {
	if s := l.last.Load(); s != nil {
		return *s
	}
	return "it gave no reason"
}

func (l *serverLog) Noticef(string, ...any) {}
func (l *serverLog) Debugf(string, ...any)  {}
func (l *serverLog) Tracef(string, ...any)  {}

// expected are warnings of a start that goes well: the bucket is recovered
// before the stream that it sources, and after a crash it looks for its place.
var expected = []string{"create source consumer", "Sourcing state is outdated"}

func (l *serverLog) Warnf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	level := slog.LevelWarn
	if slices.ContainsFunc(expected, func(part string) bool { return strings.Contains(text, part) }) {
		level = slog.LevelDebug
	}
	l.log.Log(context.Background(), level, "nats-server: "+text)
}

func (l *serverLog) Errorf(format string, v ...any) { l.fail(fmt.Sprintf(format, v...)) }
func (l *serverLog) Fatalf(format string, v ...any) { l.fail(fmt.Sprintf(format, v...)) }

func (l *serverLog) fail(s string) {
	l.last.Store(&s)
	l.log.Error("nats-server: " + s)
}
