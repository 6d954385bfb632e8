package peerchat

import (
	"testing"
	"testing/synctest"
	"time"
)

// The answer of the owner may come before the wait for it. The command is not tried again then: a
// JOIN would be answered twice, and a PART with an error.
func TestAnswerBeforeTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startNodes(t, "a", "b")
		ann := n.of["a"].signOn("Ann")
		l := n.of["a"].server.hall.links
		const number = 7
		r := &request{ann.user().session, "b", make(chan status, 1)}
		l.hall.mu.Lock()
		l.requests[number] = r
		l.finish(number, statusDone)
		l.hall.mu.Unlock()
		if !l.await(r, number, time.Now().Add(time.Second)) {
			t.Error("a command that was carried out is tried again")
		}
	})
}
