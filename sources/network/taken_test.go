package network

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// takeStatus is what becomes of a request.
func (t *takenSet) takeStatus(sign int, sent, now int64) Status {
	err := t.take("k", fmt.Sprint(sign), sent, now)
	var r *refusal
	if errors.As(err, &r) {
		return r.status
	}
	return StatusSuccess
}

// The memory is bounded: a full one takes nothing, and the requests that leave
// the window make room.
func TestTakenSetIsBounded(t *testing.T) {
	set := newTakenSet(10 * time.Second)
	set.most = 100
	for i := range 100 {
		if s := set.takeStatus(i, 1000+int64(i%10), 1000); s != StatusSuccess {
			t.Fatalf("request %d: Status %d", i, s)
		}
	}
	if s := set.takeStatus(100, 1000, 1000); s != StatusTooMany {
		t.Errorf("one too many: Status %d", s)
	}
	if s := set.takeStatus(7, 1007, 1000); s != StatusReplay {
		t.Errorf("a replay to a full memory: Status %d", s)
	}
	if s := set.takeStatus(100, 1011, 1011); s != StatusSuccess || len(set.known) != 91 {
		t.Errorf("a second of requests gone: Status %d, %d known", s, len(set.known))
	}
	if s := set.takeStatus(101, 100_000, 100_000); s != StatusSuccess || len(set.known) != 1 || len(set.bySent) != 1 {
		t.Errorf("a day later: Status %d, %d known in %d seconds", s, len(set.known), len(set.bySent))
	}
	if err := set.take("another", "101", 100_000, 100_000); err != nil {
		t.Errorf("the Sign of another key: %v", err)
	}
	if s := set.takeStatus(102, 99_989, 99_990); s != StatusTimestamp {
		t.Errorf("a clock set back: Status %d", s)
	}
}
