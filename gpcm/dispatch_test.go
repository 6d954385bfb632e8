package gpcm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/cluster/clustertest"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/storagetest"
)

// startPair runs the service on two nodes of a cluster with one store.
func startPair(t *testing.T) (net *clustertest.Net, store *awayStore, a, b *fixture) {
	t.Helper()
	net = clustertest.New(t, "a", "b")
	sessions := storagetest.NewSessionModel()
	join := func(name string, o *Options) {
		hub := presence.NewClustered(presence.New(store, presence.Options{}), presence.ClusterOptions{
			Bus: net.Bus(name), Sessions: sessions, Log: zerolog.Nop(),
		})
		if err := hub.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { defer close(done); hub.Run(ctx) }()
		t.Cleanup(func() { cancel(); <-done })
		o.Hub = hub
	}
	a = startPipe(t, func(o *Options) {
		store = newAwayStore(o)
		join("a", o)
	})
	b = startPipe(t, func(o *Options) {
		o.Store, o.Accounts = store, a.accounts
		join("b", o)
	})
	return net, store, a, b
}

// TestMessagesToAnotherNode writes many messages at once to a buddy on another node. They
// do not wait for each other's answers, and those that cannot be delivered are stored in
// their order.
func TestMessagesToAnotherNode(t *testing.T) {
	const delay, n = 100 * time.Millisecond, 15
	synctest.Test(t, func(t *testing.T) {
		net, _, a, b := startPair(t)
		annID, benID := a.register("Ann"), a.register("Ben")
		a.befriend(annID.ID, benID.ID)
		ann, ben := a.signIn(annID, 11), b.signIn(benID, 11)
		ann.want(`\bm\100\`)
		ben.want(`\bm\100\`)
		net.SetDelay(delay)
		say := func() (texts []string) {
			var all strings.Builder
			for i := range n {
				texts = append(texts, fmt.Sprint("text ", i))
				fmt.Fprintf(&all, `\bm\1\sesskey\%s\t\%d\id\%d\msg\text %[3]d\final\`, ann.key, ben.id, i)
			}
			ann.send("%s", all.String())
			return texts
		}
		began := time.Now()
		ben.wantTexts(say()...)
		if took := time.Since(began); took != delay {
			t.Errorf("%d messages took %v, want one way of %v", n, took, delay)
		}
		ann.wantNothing()
		net.SetSilence(time.Minute)
		net.Cut("a", "b")
		texts := say() // before a misses b
		time.Sleep(time.Minute)
		ann.want(`\bm\100\`)
		ann.wantNothing()
		_ = ben.conn.Close()
		net.Heal()
		time.Sleep(time.Minute)
		b.signIn(benID, 11).wantTexts(texts...)
	})
}

// TestLostWithoutDatabase has a client vanish to which messages were sent while the database is
// away. They are stored when it is back.
func TestLostWithoutDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, store, a, b := startPair(t)
		annID, benID := a.register("Ann"), a.register("Ben")
		a.befriend(annID.ID, benID.ID)
		ann, ben := a.signIn(annID, 11), b.signIn(benID, 11)
		ann.want(`\bm\100\`)
		ben.want(`\bm\100\`)
		ann.send(`\bm\1\sesskey\$K\t\%d\msg\one\final\`, ben.id)
		ann.send(`\bm\1\sesskey\$K\t\%d\msg\two\final\`, ben.id)
		store.lateAway.Store("return")
		time.Sleep(time.Hour) // the client no longer reads
		store.lateAway.Store("")
		time.Sleep(time.Minute)
		b.signIn(benID, 11).wantTexts("one", "two")
	})
}

// TestLateStore has a client vanish while the store takes nothing in time. What it was sent
// is stored later, and before newer messages.
func TestLateStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store *awayStore
		f := startPipe(t, func(o *Options) { store = newAwayStore(o) })
		annID, benID := f.register("Ann"), f.register("Ben")
		f.befriend(annID.ID, benID.ID)
		ann, ben := f.signIn(annID, 11), f.signIn(benID, 11)
		ann.want(`\bm\100\`)
		for _, words := range []string{"one", "two"} {
			ann.send(`\bm\1\sesskey\$K\t\%d\msg\%s\final\`, ben.id, words)
		}
		ann.wantNothing()
		store.lateAway.Store("late")
		_ = ben.conn.Close()
		ann.want(`\bm\100\`)
		ann.send(`\bm\1\sesskey\$K\t\%d\msg\refused\final\`, ben.id)
		ann.wantError(codeMessage)
		store.lateAway.Store("")
		ann.send(`\bm\1\sesskey\$K\t\%d\msg\three\final\`, ben.id)
		ann.wantNothing()
		f.signIn(benID, 11).wantTexts("one", "two", "three")
	})
}

// TestCopiesComeOnce has the node of a sender store messages that it cannot know to be
// delivered. Their receiver, who has them, does not get them a second time.
func TestCopiesComeOnce(t *testing.T) {
	talk := func(t *testing.T) (net *clustertest.Net, a *fixture, ann, ben *peer) {
		net, _, a, b := startPair(t)
		annID, benID := a.register("Ann"), a.register("Ben")
		a.befriend(annID.ID, benID.ID)
		ann, ben = a.signIn(annID, 11), b.signIn(benID, 11)
		ann.want(`\bm\100\`)
		ben.want(`\bm\100\`)
		return net, a, ann, ben
	}
	say := func(p *peer, to storage.ProfileID, words ...string) {
		for _, w := range words {
			p.send(`\bm\1\sesskey\$K\t\%d\msg\%s\final\`, to, w)
		}
	}
	t.Run("after a cut", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			net, a, ann, ben := talk(t)
			say(ann, ben.id, "one", "two")
			ben.wantTexts("one", "two")
			net.Cut("a", "b")
			ann.want(`\bm\100\`)
			ben.want(`\bm\100\`)
			net.Heal()
			ann.want(`\bm\100\`)
			say(ann, ben.id, "three")
			synctest.Wait()
			if got := ben.inOrder(); !slices.Equal(got, []string{"three"}) {
				t.Errorf("after the cut came %q, want three", got)
			}
			ben.send(`\logout\\sesskey\$K\final\`)
			ben.wantEnd()
			synctest.Wait()
			if n, _, err := a.store.CountMessages(t.Context()); n != 0 || err != nil {
				t.Errorf("%d messages wait after the end of a client that has them, %v", n, err)
			}
		})
	})
	t.Run("without an answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			net, _, ann, ben := talk(t)
			net.Lose(func(from, _, _ string) bool { return from == "b" })
			say(ann, ben.id, "one", "two")
			ben.wantTexts("one", "two")
			ann.wantNothing()
			time.Sleep(time.Minute)
			net.Lose(nil)
			say(ann, ben.id, "three")
			synctest.Wait()
			if got := ben.inOrder(); !slices.Equal(got, []string{"three"}) {
				t.Errorf("then came %q, want three", got)
			}
		})
	})
}

// TestMailboxDuringCut has two players on nodes that reach the store but not each other.
// What they write arrives all the same, in its order.
func TestMailboxDuringCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, _, a, b := startPair(t)
		annID, benID := a.register("Ann"), a.register("Ben")
		a.befriend(annID.ID, benID.ID)
		ann, ben := a.signIn(annID, 11), b.signIn(benID, 11)
		ann.want(`\bm\100\`)
		ben.want(`\bm\100\`)
		net.Cut("a", "b")
		ann.want(`\bm\100\`)
		ben.want(`\bm\100\`)
		for n := range storage.MaxMessagesFrom {
			ann.send(`\bm\1\sesskey\$K\t\%d\msg\%d\final\`, ben.id, n)
			ben.wantTexts(fmt.Sprint(n))
		}
		net.Heal()
		ann.want(`\bm\100\`)
		ben.want(`\bm\100\`)
		ann.send(`\bm\1\sesskey\$K\t\%d\msg\last\final\`, ben.id)
		ben.wantTexts("last")
	})
}

// TestOrderAcrossNodes has messages come while the session of their receiver on another node
// is ending, which has not delivered older ones.
func TestOrderAcrossNodes(t *testing.T) {
	stuck := func(t *testing.T) (net *clustertest.Net, a, b *fixture, ann *peer, benID storage.Profile) {
		net, _, a, b = startPair(t)
		annID, benID := a.register("Ann"), a.register("Ben")
		a.befriend(annID.ID, benID.ID)
		ann = a.signIn(annID, 11)
		b.signIn(benID, 11)
		ann.want(`\bm\100\`)
		for _, words := range []string{"one", "two"} {
			ann.send(`\bm\1\sesskey\$K\t\%d\msg\%s\final\`, benID.ID, words)
		}
		ann.wantNothing()
		synctest.Wait()
		return net, a, b, ann, benID
	}
	for name, delay := range map[string]time.Duration{"moved": 0, "moved, and the node before says so late": time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net, a, _, ann, benID := stuck(t)
				net.SetDelay(delay)
				ben := a.signIn(benID, 11)
				ann.send(`\bm\1\sesskey\$K\t\%d\msg\three\final\`, benID.ID)
				ben.want(`\bm\100\`)
				ben.wantTexts("one", "two", "three")
			})
		})
	}
	t.Run("signed out", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, a, b, ann, benID := stuck(t)
			b.server.opt.Hub.KickProfile(t.Context(), benID.ID, presence.ErrKicked)
			ann.want(`\bm\100\`)
			ann.send(`\bm\1\sesskey\$K\t\%d\msg\three\final\`, benID.ID)
			ann.wantNothing()
			a.signIn(benID, 11).wantTexts("one", "two", "three")
		})
	})
}
