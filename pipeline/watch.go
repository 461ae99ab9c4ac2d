package pipeline

import "time"

// patience is how long a call of a sink may take before the runner says so. A
// call is never cut off: a disk or a store that hangs may go on.
const patience = 30 * time.Second

// watch says so, in the log and as the failure of Progress, when what is about to
// be done takes longer than patience. done ends that.
func (r *Runner) watch(what string) (done func()) {
	text := what + " has taken " + patience.String() + " already and goes on"
	said := make(chan struct{})
	timer := time.AfterFunc(patience, func() {
		defer close(said)
		r.failed.Store(&text)
		r.cfg.Logger.Warn("sink stands still, the log holds its events", "sink", r.cfg.Name, "reason", text)
	})
	return func() {
		if !timer.Stop() {
			<-said
			r.failed.CompareAndSwap(&text, nil)
		}
	}
}
