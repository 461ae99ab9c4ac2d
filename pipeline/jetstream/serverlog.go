package jetstream

import (
	"fmt"
	"log/slog"
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

func (l *serverLog) Warnf(format string, v ...any) {
	l.log.Warn("nats-server: " + fmt.Sprintf(format, v...))
}

func (l *serverLog) Errorf(format string, v ...any) { l.fail(fmt.Sprintf(format, v...)) }
func (l *serverLog) Fatalf(format string, v ...any) { l.fail(fmt.Sprintf(format, v...)) }

func (l *serverLog) fail(s string) {
	l.last.Store(&s)
	l.log.Error("nats-server: " + s)
}
