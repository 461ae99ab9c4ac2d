package pipeline_test

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderwire/orderwire/pipeline"
)

// A sink that hangs is reported while it does, and no longer when it goes on.
func TestRunnerSaysThatASinkHangs(t *testing.T) {
	for _, hanging := range []string{"position", "write", "flush"} {
		t.Run(hanging, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var lines bytes.Buffer
				log, calls := newMemoryLog(), 0
				sink := &memorySink{fail: func(call string) error {
					if call == hanging {
						if calls++; calls == 1 {
							time.Sleep(time.Minute) //nolint:forbidigo // fake time of synctest
						}
					}
					return nil
				}}
				r := pipeline.NewRunner(pipeline.RunnerConfig{
					Name: "t", Sink: sink, Follow: log.follow, Bury: log.bury, Logger: slog.New(slog.NewTextHandler(&lines, nil)),
				})
				log.add(t, events(3)...)
				stop := running(t, r.Run)
				for at, want := range []bool{false, true, false} { // after 25, 50 and 75 s
					time.Sleep(25 * time.Second) //nolint:forbidigo // fake time of synctest
					if p := r.Progress(); strings.HasPrefix(p.Failure, hanging) != want {
						t.Errorf("look %d: %+v", at, p)
					}
				}
				stop()
				if !slices.Equal(sink.durable, upTo(3)) || strings.Count(lines.String(), "sink stands still") != 1 {
					t.Errorf("durable %v, log:\n%s", sink.durable, &lines)
				}
			})
		})
	}
}
