//go:build linux && netns

package networks

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/test/rig"
)

// nodeCutOff cuts a node off from the others and from the database. Its players and
// servers still reach it.
func nodeCutOff(t *testing.T) {
	const cut = 2
	w := newFaultWorld(t)
	l := w.load
	c := w.Nodes[cut]
	first, err := w.signsIn(cut, "anchor")
	rig.Must(t, err)
	room := "#GSP!" + rig.TestGame
	ann, cid := rig.Chat(t, &w.Nodes[0].Running, "Ann"), rig.Chat(t, &c.Running, "Cid")
	ann.MustJoin(room)
	cid.MustJoin(room)
	ann.HearsFrom(cid, "JOIN", room)
	moved, left := l.serverOf(cut, 0), l.serverOf(cut, 1)

	l.resetTalk()
	l.unread[cut].Store(true) // it may lack the latest messages of the other nodes
	w.wires.Cut(nodeAddrs[cut:], []netip.Addr{nodeAddrs[0], nodeAddrs[1], dbAddr})
	began := time.Now()
	missed := w.within(rig.Hang, "both sides miss each other", func() error {
		for i, n := range w.Nodes {
			if got, want := n.Metric("respawnd_cluster_nodes"), []string{"2", "2", "1"}[i]; got != want {
				return fmt.Errorf("%s sees %s nodes, want %s", n.Name, got, want)
			}
		}
		return nil
	})
	for _, p := range l.pairs {
		p.quiet.Store(p.touches(cut))
	}
	cid.HearsFrom(ann, "QUIT")
	left.optional.Store(true)
	left.MustLeave() // and says so to the node that is cut off alone
	moved.reportTo(0)
	second, err := w.signsIn(0, "anchor")
	rig.Must(t, err)
	if heard, err := first.CaughtUp(); err != nil {
		t.Errorf("the session on the node that is cut off heard %q and ended: %v", heard, err)
	}
	fresh := l.newServer(cut, "Newcomer of c")
	if rows, err := w.listOf(cut); err != nil || rows[fresh.key()] == nil || len(rows) < 3*serversPerNode {
		t.Errorf("the list of the node that is cut off has %d servers, %v", len(rows), err)
	}
	w.refusesSlowly(cut)
	for time.Since(began) < faultTime(t) {
		time.Sleep(time.Second)
	}
	for _, i := range w.except(cut) {
		longest, text := l.lists[i].summary()
		w.measured("c cut off: on %s %s", w.Nodes[i].Name, text)
		if longest > settledAfter {
			t.Errorf("the list of %s was incomplete for %v", w.Nodes[i].Name, longest)
		}
	}

	w.wires.Heal()
	healed := time.Now()
	fresh.optional.Store(false)
	l.drop(left)
	l.unread[cut].Store(false)
	w.Together()
	together := time.Since(healed)
	lists := w.complete(10*time.Second, 0, 1, 2)
	kicked := w.within(10*time.Second, "one of two sessions", func() error {
		for _, n := range w.Nodes {
			if on := w.sessionsOf(n, "anchor"); !slices.Equal(on, []string{"a"}) {
				return fmt.Errorf("%s sees sessions on %q", n.Name, on)
			}
		}
		return nil
	})
	if err := displaced(first); err != nil {
		t.Errorf("the first session: %v", err)
	}
	if heard, err := second.CaughtUp(); err != nil {
		t.Errorf("the second session heard %q and ended: %v", heard, err)
	}
	owned := w.within(10*time.Second, "each server on one node", func() error {
		for _, n := range w.Nodes {
			total := 0
			for _, one := range w.status(n) {
				total += one.Servers
			}
			if _, may := l.wanted(); total != len(may) {
				return fmt.Errorf("%s counts %d servers, want %d", n.Name, total, len(may))
			}
		}
		return nil
	})
	ann.HearsFrom(cid, "JOIN", room)
	rig.Must(t, cid.Say(room, "back"))
	ann.HearsFrom(cid, "PRIVMSG", room, "back")
	rig.Must(t, ann.Say(room, "hello again"))
	cid.HearsFrom(ann, "PRIVMSG", room, "hello again")
	writes := w.writesAgain(10*time.Second, cut)
	for _, p := range l.pairs {
		if !p.touches(cut) {
			p.untouched()
			continue
		}
		if p.from.home != cut { // the cut node refused messages that it could neither forward nor store
			p.arrived(true)
		}
		p.begins()
		p.quiet.Store(false)
	}
	w.within(rig.Hang, "messages over the link", func() error {
		for _, p := range l.pairs {
			if p.sinceBase() < 10 {
				return errors.New("few came yet")
			}
		}
		return nil
	})
	for _, p := range l.pairs {
		p.untouched()
	}
	pause, _ := l.gaps(func(p *pair) bool { return !p.touches(cut) })
	w.measured("c cut off for %v: both sides missed each other after %v; longest pause between players of the others %v; after healing together after %v, lists right after %v more, the double sign-in ended by %v, each server on one node by %v, c wrote again by %v",
		round(healed.Sub(began)), round(missed), round(pause), round(together), round(lists), round(together+lists+kicked), round(together+lists+kicked+owned), round(together+lists+kicked+owned+writes))
	l.ends(t)
}

// refusesSlowly fails unless a node that does not hear from the database says so in time.
func (w *faultWorld) refusesSlowly(node int) {
	w.t.Helper()
	began := time.Now()
	if p, err := w.signsIn(node, "ab0"); err == nil {
		_ = p.Close()
		w.t.Error("sign-in without a database works")
	} else if !strings.Contains(err.Error(), "The server cannot do that now.") {
		w.t.Errorf("sign-in without a database: %v", err)
	}
	w.measured("%s does not hear from the database: it refuses a sign-in after %v", w.Nodes[node].Name, round(time.Since(began)))
}

// displaced reads up to the end of a session that a second login ended.
func displaced(p *rig.Player) error {
	for {
		m, err := p.MustNext()
		switch {
		case err != nil:
			return fmt.Errorf("it ended without the reason: %w", err)
		case strings.HasPrefix(m, `\error\\err\6\fatal\`):
			return p.Ended()
		}
	}
}

// status returns the cluster as a node sees it.
func (w *faultWorld) status(n *rig.Member) (all []operator.ClusterNode) {
	w.t.Helper()
	for line := range strings.Lines(n.Cli("cluster", "status", "--json")) {
		var one operator.ClusterNode
		rig.Must(w.t, json.Unmarshal([]byte(line), &one))
		all = append(all, one)
	}
	return all
}

// stayed fails if a node took another one for gone, although none was.
func (w *faultWorld) stayed() {
	w.t.Helper()
	for _, n := range w.Nodes {
		lines, _ := n.Log.Since(0)
		for _, e := range lines {
			if e.Text("message") == "a node of the cluster is gone" {
				w.t.Errorf("%s took %s for gone: %s", n.Name, e.Text("node"), e.Text("reason"))
			}
		}
	}
}

// secondLogins has a player sign in on one node after the other. Each login must end the
// one before.
func (w *faultWorld) secondLogins(limit time.Duration) (longest time.Duration) {
	w.t.Helper()
	var last *rig.Player
	for _, i := range []int{0, 1, 2, 1, 0} {
		p, err := w.signsIn(i, "anchor")
		rig.Must(w.t, err)
		if last != nil {
			began := time.Now()
			if err := displaced(last); err != nil {
				w.t.Errorf("login on %s: %v", w.Nodes[i].Name, err)
			}
			longest = max(longest, time.Since(began))
		}
		last = p
	}
	if longest > limit && isTimed() {
		w.t.Errorf("a second login ended the first after %v", longest)
	}
	rig.Must(w.t, last.MustLeave())
	return longest
}

// slowLinks delays and loses packets between nodes, and between nodes and the database.
func slowLinks(t *testing.T) {
	const delay, loss = 100 * time.Millisecond, 0.01
	w := newFaultWorld(t)
	l := w.load
	w.wires.Slow(append(slices.Clone(nodeAddrs), dbAddr), delay, loss)
	l.resetTalk()
	began := time.Now()
	var visible []time.Duration
	for n := 0; n == 0 || time.Since(began) < faultTime(t); n++ {
		s := l.newServer(n%3, fmt.Sprint("Newcomer ", n))
		visible = append(visible, w.within(5*time.Second, "a new server on the next node", func() error {
			if rows, err := w.listOf((n + 1) % 3); err != nil || rows[s.key()] == nil {
				return fmt.Errorf("it is missing: %w", err)
			}
			return nil
		}))
		w.negotiates(n%3, (n+1)%3)
	}
	kick := w.secondLogins(10 * time.Second)
	w.complete(5*time.Second, 0, 1, 2)
	for i := range w.Nodes {
		longest, text := l.lists[i].summary()
		w.measured("slow links: on %s %s", w.Nodes[i].Name, text)
		if longest > settledAfter {
			t.Errorf("the list of %s was incomplete for %v", w.Nodes[i].Name, longest)
		}
		w.writesAgain(rig.Hang, i)
	}
	for _, p := range l.pairs {
		p.untouched()
	}
	w.stayed()
	pause, p99 := l.gaps(func(*pair) bool { return true })
	n := w.wires.Counts()
	w.measured("links of %v each way that lose %v %% (%d of %d packets lost) for %v: a new server is on other nodes after at most %v, a second login ends the first %v after its own answer, p99 of messages %v, longest pause %v",
		delay, loss*100, n.Lost, n.Lost+n.Carried, round(time.Since(began)), round(slices.Max(visible)), round(kick), round(p99), round(pause))
	w.wires.Heal()
	l.ends(t)
}

// clocksApart has the clocks of the nodes differ by half a minute.
func clocksApart(t *testing.T) {
	w := newFaultWorld(t, []string{clockSkew + "=15s"}, []string{clockSkew + "=-15s"})
	l := w.load
	w.within(rig.Hang, "the clocks in cluster status", func() error {
		for _, one := range w.status(w.Nodes[0]) {
			want := map[string]int64{"a": 0, "b": -30_000, "c": -15_000}[one.Name]
			if one.ClockMS < want-500 || one.ClockMS > want+500 {
				return fmt.Errorf("the clock of %s is %d ms ahead, want %d", one.Name, one.ClockMS, want)
			}
		}
		return nil
	})
	l.resetTalk()
	began := time.Now()
	for n := 0; n == 0 || time.Since(began) < faultTime(t); n++ {
		w.secondLogins(5 * time.Second)
		for i, k := range []int{1, 2, 0} { // tickets of one node on another
			p, err := w.signsIn(i, "anchor")
			rig.Must(t, err)
			other := rig.Greeted(t, &w.Nodes[k].Running)
			if err := other.Enter("lt", p.Ticket, p.Ticket); err != nil {
				t.Errorf("ticket of %s on %s: %v", w.Nodes[i].Name, w.Nodes[k].Name, err)
			}
			_, _ = p.Close(), other.Close()
			w.negotiates(i, k)
		}
		s := l.serverOf(n%3, 2)
		s.reportTo((n + 1) % 3)
	}
	w.complete(5*time.Second, 0, 1, 2)
	for i := range w.Nodes {
		longest, text := l.lists[i].summary()
		w.measured("clocks apart: on %s %s", w.Nodes[i].Name, text)
		if longest > settledAfter {
			t.Errorf("the list of %s was incomplete for %v", w.Nodes[i].Name, longest)
		}
	}
	for _, p := range l.pairs {
		p.untouched()
	}
	w.stayed()
	w.measured("clocks 30 s apart for %v: nothing was noticed: %v", round(time.Since(began)), !t.Failed())
	l.ends(t)
}

// rollingRestart stops each node in turn and starts it again, at first with the same
// program and then with a newer one, whose records have a newer layout.
func rollingRestart(t *testing.T) {
	w := newFaultWorld(t)
	l := w.load
	for round, program := range []string{"", os.Getenv(faultNewer)} {
		for i, n := range w.Nodes {
			l.resetTalk()
			others := w.except(i)
			l.unread[i].Store(true)
			began := time.Now()
			rig.Must(t, n.Process.Signal(syscall.SIGTERM))
			<-n.Ended
			stopped := time.Since(began)
			if code := n.State.ExitCode(); code != 0 {
				t.Errorf("%s ended with exit code %d:\n%s", n.Name, code, n.Log)
			}
			for _, p := range l.pairs {
				for _, b := range []*buddy{p.from, p.to} {
					if b.node == i {
						w.within(rig.Hang, "return of "+b.name, func() error { return p.returns(b, others[0]) })
					}
				}
			}
			w.startAs(i, program)
			l.unread[i].Store(false)
			l.startWriters(i)
			w.Together()
			back := w.complete(30*time.Second, 0, 1, 2)
			if program != "" {
				w.schemas(i)
			}
			for _, k := range []int{0, 1, 2} {
				longest, text := l.lists[k].summary()
				if w.measured("round %d, %s restarted: on %s %s", round+1, n.Name, w.Nodes[k].Name, text); longest > settledAfter && k != i {
					t.Errorf("the list of %s was incomplete for %v", w.Nodes[k].Name, longest)
				}
				w.writesAgain(rig.Hang, k)
			}
			for _, p := range l.pairs {
				if !p.touches(i) {
					p.untouched()
					continue
				}
				for _, b := range []*buddy{p.from, p.to} {
					if b.node != b.home {
						rig.Must(t, p.returns(b, b.home))
					}
				}
				if p.from.home != i {
					p.arrived(true)
				}
				p.begins()
			}
			w.measured("round %d, %s restarted: it stopped after %v, everything was in all lists %v after its start", round+1, n.Name, stopped.Round(10*time.Millisecond), back.Round(10*time.Millisecond))
		}
	}
	l.ends(t)
	old := w.Nodes[0]
	old.Kill()
	code, _, text := rig.Command(t, append(rig.TestEnv(old.Dir, old.Vars...), "RESPAWND_STORAGE_POSTGRES_START_WAIT=1s"), "serve")
	if code != commands.ExitFailure || !strings.Contains(text, "upgraded by a newer version") {
		t.Errorf("the old program after the upgrade: %d, %s", code, text)
	}
}

// schemas fails unless the nodes up to one show the newer schema, and warn while there are
// others.
func (w *faultWorld) schemas(upto int) {
	w.t.Helper()
	for _, n := range w.Nodes {
		w.within(rig.Hang, "the schemas in the status of "+n.Name, func() error {
			numbers := make(map[string]int)
			for _, one := range w.status(n) {
				numbers[one.Name] = one.Schema
			}
			for i, other := range w.Nodes {
				if newer := numbers[other.Name] == newerLayout; newer != (i <= upto) || numbers[other.Name] == 0 {
					return fmt.Errorf("schemas %v after the restart of node %d", numbers, upto)
				}
			}
			text := n.Get("/readyz")
			if warned := strings.Contains(text, "different versions of the database schema"); warned != (upto < 2) {
				return fmt.Errorf("readyz says %q", text)
			}
			return nil
		})
	}
}
