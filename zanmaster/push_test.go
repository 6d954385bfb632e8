package zanmaster

import (
	"context"
	"sync"
	"testing"
	"time"
)

// A list that changes while parts of the list before are sent reaches servers that
// have that one.
func TestListChangesDuringPush(t *testing.T) {
	z := newZan(t, nil)
	g := z.server("192.0.2.1:10666")
	g.register()
	ctx, cancel := context.WithCancel(t.Context())
	var pushing sync.WaitGroup
	pushing.Go(func() {
		for ctx.Err() == nil {
			z.pushBans(z.w, time.Now())
			z.w.Take()
		}
	})
	for range 5000 {
		next := *z.access.Load()
		z.mu.Lock()
		h, _ := z.hosts.known.Get(g.addr)
		h.push.has = next.version // it has acknowledged
		z.mu.Unlock()
		next.version++
		z.access.Store(&next)
		z.enforce()
		z.mu.Lock()
		lost := h.push.has != next.version && z.hosts.behind[g.addr] == nil
		z.mu.Unlock()
		if lost {
			t.Error("a server is not sent the list that replaced its own")
			break
		}
	}
	cancel()
	pushing.Wait()
}
