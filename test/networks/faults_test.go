//go:build linux && netns

package networks

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/test/rig"
)

// nodeKilled kills each node in turn as a power cut does.
func nodeKilled(t *testing.T) {
	w := newFaultWorld(t)
	l := w.load
	for victim, n := range w.Nodes {
		others := w.except(victim)
		untouched := func(p *pair) bool { return !p.touches(victim) && p.from.ended.Load() == nil }
		l.resetTalk()
		l.unread[victim].Store(true)
		n.Kill()
		killed := time.Now()
		for i, s := range l.servers { // its servers find another node
			if int(s.node.Load()) == victim {
				s.reportTo(others[i%2])
			}
		}
		for _, p := range l.pairs { // and so do its players
			for _, b := range []*buddy{p.from, p.to} {
				if b.node == victim {
					w.within(rig.Hang, "return of "+b.name, func() error { return p.returns(b, others[len(p.from.name)%2]) })
				}
			}
		}
		back := time.Since(killed)
		w.within(rig.Hang, "the others miss "+n.Name, func() error {
			for _, i := range others {
				if got := w.Nodes[i].Metric("respawnd_cluster_nodes"); got != "2" {
					return fmt.Errorf("%s sees %s nodes", w.Nodes[i].Name, got)
				}
				if text := w.Nodes[i].Get("/readyz"); !strings.HasPrefix(text, "ready\nwarning: ") || !strings.Contains(text, "gone: "+n.Name) {
					return fmt.Errorf("readyz of %s says %q", w.Nodes[i].Name, text)
				}
			}
			return nil
		})
		missed := time.Since(killed)
		complete := w.complete(30*time.Second, others...)
		for _, i := range others {
			longest, text := l.lists[i].summary()
			w.measured("%s killed: on %s %s", n.Name, w.Nodes[i].Name, text)
			if longest > 30*time.Second {
				t.Errorf("the list of %s was incomplete for %v", w.Nodes[i].Name, longest)
			}
			w.writesAgain(rig.Hang, i)
		}
		for _, p := range l.pairs {
			if untouched(p) {
				p.untouched()
			}
		}
		pause, _ := l.gaps(untouched)
		w.measured("%s killed: its players were back after %v, the others missed it after %v, their lists were complete %v later; longest pause between players of the others %v",
			n.Name, round(back), round(missed), round(complete), round(pause))
		w.negotiates(others[0], others[1])
		w.Start(victim)
		l.unread[victim].Store(false)
		l.startWriters(victim)
		w.Together()
		w.measured("%s back: its list was complete after %v", n.Name, round(w.complete(30*time.Second, 0, 1, 2)))
		w.writesAgain(rig.Hang, victim)
		for _, p := range l.pairs {
			for _, b := range []*buddy{p.from, p.to} { // as they were, for the next one
				if b.node != b.home {
					rig.Must(t, p.returns(b, b.home))
				}
			}
		}
		for _, s := range l.servers {
			s.reportTo(slices.IndexFunc(w.Nodes, func(n *rig.Member) bool { return strings.HasSuffix(s.name, n.Name) }))
		}
		w.complete(30*time.Second, 0, 1, 2)
		for _, p := range l.pairs {
			p.settles(p.from.home != victim)
			p.begins()
		}
	}
	l.ends(t)
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }

// databaseStopped stops PostgreSQL, once as its service manager does and once as a crash
// does.
func databaseStopped(t *testing.T) {
	w := newFaultWorld(t)
	l := w.load
	for _, how := range []struct {
		name string
		stop func(testing.TB)
	}{{"stopped", w.db.Stop}, {"killed", w.db.Kill}} {
		l.resetTalk()
		how.stop(t)
		began := time.Now()
		away := w.within(rig.Hang, "the nodes report it", func() error {
			for _, n := range w.Nodes {
				if text := n.Get("/readyz"); !strings.Contains(text, "the database has been away for ") {
					return fmt.Errorf("readyz of %s: %q", n.Name, text)
				}
			}
			return nil
		})
		fresh := l.newServer(0, "Newcomer "+how.name)
		l.servers[1].reportTo(2) // from the first node
		for i := range w.Nodes {
			w.refusesClearly(i)
			w.negotiates(i, (i+1)%3)
		}
		for time.Since(began) < faultTime(t) {
			time.Sleep(time.Second) // the load continues meanwhile
		}
		w.complete(5*time.Second, 0, 1, 2)
		var before [3]int
		for i := range w.Nodes {
			before[i], _ = l.writes(i)
		}
		w.db.Start(t)
		back := time.Now()
		ready := w.within(5*time.Second, "the nodes are ready again", func() error {
			for _, n := range w.Nodes {
				if text := n.Get("/readyz"); !strings.HasPrefix(text, "ready") {
					return fmt.Errorf("readyz of %s: %q", n.Name, text)
				}
			}
			return nil
		})
		w.within(5*time.Second, "writes and sign-ins on all nodes", func() error {
			for i := range w.Nodes {
				if now, r := l.writes(i); now == before[i] {
					return fmt.Errorf("node %d: %w", i, r.last)
				}
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
			longest, text := l.lists[i].summary()
			_, r := l.writes(i)
			w.measured("database %s: on %s %s; %d refusals, the slowest after %v", how.name, w.Nodes[i].Name, text, r.n, round(r.longest))
			if longest > settledAfter {
				t.Errorf("the list of %s was incomplete for %v", w.Nodes[i].Name, longest)
			}
		}
		for _, p := range l.pairs {
			p.untouched()
		}
		pause, p99 := l.gaps(func(*pair) bool { return true })
		w.measured("database %s for %v: reported after %v, ready %v after its return, everything works after %v; longest pause between players %v, p99 of their messages %v",
			how.name, round(back.Sub(began)), round(away), round(ready), round(works), round(pause), p99.Round(100*time.Microsecond))
		l.drop(fresh)
		fresh.MustLeave()
		w.complete(10*time.Second, 0, 1, 2)
	}
	l.ends(t)
}

// refusesClearly fails unless a node answers each request that needs the database with
// an error.
func (w *faultWorld) refusesClearly(node int) {
	w.t.Helper()
	began := time.Now()
	if p, err := w.signsIn(node, "anchor"); err == nil {
		_ = p.Close()
		w.t.Errorf("sign-in on node %d without a database works", node)
	} else if !strings.Contains(err.Error(), "The server cannot do that now.") {
		w.t.Errorf("sign-in on node %d without a database: %v", node, err)
	}
	signIn := time.Since(began)
	n := w.Nodes[node]
	began = time.Now()
	code, _, errOut := rig.Command(w.t, n.CliEnv(), "account", "show", "anchor")
	if code != commands.ExitFailure || !strings.Contains(errOut, "the database is not available") {
		w.t.Errorf("account show on node %d without a database: %d, %s", node, code, errOut)
	}
	w.measured("without a database %s refuses a sign-in after %v, a command after %v", n.Name, round(signIn), round(time.Since(began)))
}

// settles checks a pair whose node died after both players came back. heard: every message
// must have arrived by now, because the node of the sender did not die.
func (p *pair) settles(heard bool) {
	p.l.w.t.Helper()
	for _, b := range []*buddy{p.from, p.to} {
		if err := b.ended.Load(); err != nil {
			p.l.w.t.Errorf("%s did not come back: %v", b.name, *err)
		}
	}
	if heard {
		p.arrived(true)
	}
}
