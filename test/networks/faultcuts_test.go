//go:build linux && netns

package networks

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/test/rig"
)

// Paces of players who talk while the bus is cut. What waits in a mailbox of theirs stays
// below the limit of one sender.
const (
	quickPace = 200 * time.Millisecond
	humanPace = 2 * time.Second
)

// busCut cuts a node off from the others, but not from the database: both ways, and in one
// direction only. Messages between the sides go through the database.
func busCut(t *testing.T) {
	const cut = 2
	w := newFaultWorld(t)
	l := w.load
	for _, p := range l.pairs {
		pace := quickPace
		if p.from.home == 1 || p.to.home == 1 {
			pace = humanPace
		}
		p.pace.Store(int64(pace))
	}
	lone, others := nodeAddrs[cut:], nodeAddrs[:cut]
	for _, how := range []struct {
		name  string
		cut   func()
		lasts time.Duration
	}{
		{"both ways", func() { w.wires.Cut(lone, others) }, 5 * time.Second},
		{"both ways", func() { w.wires.Cut(lone, others) }, faultTime(t) * 5 / 3}, // 20 s in CI
		{"from c", func() { w.wires.CutFrom(lone, others) }, faultTime(t)},
		{"to c", func() { w.wires.CutFrom(others, lone) }, faultTime(t)},
	} {
		for _, p := range l.pairs {
			p.begins()
		}
		l.resetTalk()
		for i := range w.Nodes {
			l.unread[i].Store(true) // each side knows its own servers
		}
		how.cut()
		began := time.Now()
		for time.Since(began) < how.lasts {
			time.Sleep(time.Second) // the load continues meanwhile
		}
		for i := range w.Nodes {
			w.writesAgain(rig.Hang, i)
		}
		w.wires.Heal()
		healed := time.Now()
		w.Together()
		together := time.Since(healed)
		for i := range w.Nodes {
			l.unread[i].Store(false)
		}
		lists := w.complete(10*time.Second, 0, 1, 2)
		for _, p := range l.pairs {
			p.untouched()
		}
		for _, pace := range []time.Duration{quickPace, humanPace} {
			some := func(p *pair) bool { return p.touches(cut) && p.pace.Load() == int64(pace) }
			pause, p99 := l.gaps(some)
			sent := 0
			for _, p := range l.pairs {
				if some(p) {
					sent += p.sinceBase()
				}
			}
			w.measured("bus cut %s for %v: of %d messages, one each %v, none was lost, refused or came twice: %v; longest pause %v, p99 of their times %v",
				how.name, round(healed.Sub(began)), sent, pace, !t.Failed(), round(pause), round(p99))
		}
		w.measured("bus cut %s: together %v after it healed, lists right after %v more", how.name, round(together), round(lists))
	}
	l.ends(t)
}

// databaseUnreachable loses all packets between the nodes and the database, so that only
// time tells.
func databaseUnreachable(t *testing.T) {
	w := newFaultWorld(t)
	l := w.load
	l.resetTalk()
	w.wires.Cut(nodeAddrs, []netip.Addr{dbAddr})
	began := time.Now()
	w.refusesClearly(0)
	first := time.Since(began)
	noticed := w.within(rig.Hang, "the nodes report it", func() error {
		for _, n := range w.Nodes {
			if text := n.Get("/readyz"); !strings.Contains(text, "the database has been away for ") {
				return fmt.Errorf("readyz of %s: %q", n.Name, text)
			}
		}
		return nil
	})
	for i := range w.Nodes {
		w.refusesClearly(i)
		w.negotiates(i, (i+1)%3)
	}
	for time.Since(began) < faultTime(t) {
		time.Sleep(time.Second) // the load continues meanwhile
	}
	w.complete(5*time.Second, 0, 1, 2)
	w.wires.Heal()
	back := time.Now()
	w.within(10*time.Second, "writes and sign-ins on all nodes", func() error {
		for i := range w.Nodes {
			p, err := w.signsIn(i, "anchor")
			if err != nil {
				return err
			}
			_ = p.Close()
		}
		return nil
	})
	works := time.Since(back)
	for i := range w.Nodes {
		w.writesAgain(rig.Hang, i)
	}
	for _, p := range l.pairs {
		p.untouched()
	}
	pause, p99 := l.gaps(func(*pair) bool { return true })
	w.measured("packets to the database dropped for %v: the first refusal after %v, reported %v later, sign-ins work %v after it healed; longest pause between players %v, p99 of their messages %v",
		round(back.Sub(began)), round(first), round(noticed), round(works), round(pause), round(p99))
	l.ends(t)
}

// lossyLinks loses many packets between nodes and the database, and then delays them too.
func lossyLinks(t *testing.T) {
	w := newFaultWorld(t)
	l := w.load
	for _, p := range l.pairs {
		p.pace.Store(int64(quickPace))
	}
	all := append([]netip.Addr{dbAddr}, nodeAddrs...)
	for _, how := range []struct {
		delay time.Duration
		loss  float64
	}{{0, 0.15}, {150 * time.Millisecond, 0.05}} {
		for _, p := range l.pairs {
			p.begins()
		}
		l.resetTalk()
		w.wires.Slow(all, how.delay, how.loss)
		began := time.Now()
		tries, refused := 0, 0
		var slowest time.Duration
		for ; tries == 0 || time.Since(began) < faultTime(t); tries++ {
			asked := time.Now()
			p, err := w.signsIn(tries%3, "anchor")
			slowest = max(slowest, time.Since(asked))
			if err != nil {
				refused++
				continue
			}
			rig.Must(t, p.MustLeave())
		}
		w.wires.Heal()
		if refused == tries && how.delay == 0 { // a step of several trips may take longer than its deadline
			t.Errorf("all of %d sign-ins were refused", tries)
		}
		w.Together()
		w.complete(10*time.Second, 0, 1, 2)
		for _, p := range l.pairs {
			p.untouched()
		}
		pause, p99 := l.gaps(func(*pair) bool { return true })
		w.measured("links of %v each way that lose %v %%: %d of %d sign-ins refused, the slowest took %v; p99 of messages %v, longest pause %v",
			how.delay, how.loss*100, refused, tries, round(slowest), round(p99), round(pause))
		within := w.within(10*time.Second, "sign-ins after it", func() error {
			p, err := w.signsIn(0, "anchor")
			if err == nil {
				err = p.Close()
			}
			return err
		})
		w.measured("sign-ins work %v after the links are well", round(within))
	}
	l.ends(t)
}
