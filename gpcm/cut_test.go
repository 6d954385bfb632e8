package gpcm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// talk is what a client heard of a buddy who counts.
type talk struct {
	mu       sync.Mutex // guards the fields below
	numbers  []int
	refusals []string
	late     []int // numbers of those that took long
	began    time.Time
	pause    time.Duration                          // between two messages
	most     func(sent time.Duration) time.Duration // that one may take
}

// listen reads what a client is sent until its connection ends.
func (k *talk) listen(p *peer) {
	for {
		m, err := p.tryRecv(time.Hour)
		if err != nil {
			return
		}
		k.mu.Lock()
		switch n, err := strconv.Atoi(field(m, "msg")); {
		case strings.HasPrefix(m, `\error\`):
			k.refusals = append(k.refusals, m)
		case strings.HasPrefix(m, `\bm\1\`) && err == nil:
			k.numbers = append(k.numbers, n)
			if sent := time.Duration(n) * k.pause; time.Since(k.began)-sent > k.most(sent) {
				k.late = append(k.late, n)
			}
		}
		k.mu.Unlock()
	}
}

// TestTalkDuringCut has a player write to one on another node before, during and after a cut
// between the two nodes, which both reach the store. Each message comes once, in its order.
func TestTalkDuringCut(t *testing.T) {
	const (
		silence = 4 * time.Second // after which the nodes miss each other
		around  = 10 * time.Second
		noticed = 4500 * time.Millisecond // two seconds without an answer, and two beats
		known   = 2250 * time.Millisecond // a beat
	)
	for _, cut := range []time.Duration{time.Second, 5 * time.Second, 20 * time.Second, time.Minute} {
		for _, pause := range []time.Duration{200 * time.Millisecond, 2 * time.Second} {
			t.Run(fmt.Sprintf("%v, each %v", cut, pause), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					net, _, a, b := startPair(t)
					net.SetSilence(silence)
					annID, benID := a.register("Ann"), a.register("Ben")
					a.befriend(annID.ID, benID.ID)
					ann, ben := a.signIn(annID, 11), b.signIn(benID, 11)
					ann.want(`\bm\100\`)
					ben.want(`\bm\100\`)
					synctest.Wait()
					heard := &talk{began: time.Now(), pause: pause, most: func(sent time.Duration) time.Duration {
						switch during := sent - (around - pause); {
						case during < 0:
							return 0
						case during < silence+pause:
							return noticed
						}
						return known
					}}
					go heard.listen(ann)
					go heard.listen(ben)
					time.AfterFunc(around, func() { net.Cut("a", "b") })
					time.AfterFunc(around+cut, net.Heal)
					n := int((cut + 2*around) / pause)
					for i := range n {
						ann.send(`\bm\1\sesskey\$K\t\%d\msg\%d\final\`, ben.id, i)
						time.Sleep(pause)
					}
					time.Sleep(time.Minute)
					heard.mu.Lock()
					defer heard.mu.Unlock()
					want := make([]int, n)
					for i := range want {
						want[i] = i
					}
					if !slices.Equal(heard.numbers, want) || heard.refusals != nil || heard.late != nil {
						t.Errorf("of %d messages came %d, these late: %d; refused: %q", n, heard.numbers, heard.late, heard.refusals)
					}
				})
			})
		}
	}
}
