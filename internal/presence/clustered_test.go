package presence

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/cluster/clustertest"
	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/storagetest"
)

func TestStatusCrossesNodes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newTowns(t, "a", "b", "c")
		w.watch(1, 2)
		w.watch(3, 2)
		watcher, me, here := newPeer(1), newPeer(2), newPeer(3)
		me.from = netip.MustParseAddrPort("192.0.2.7:1234")
		w.enter("a", watcher, KickProfile)
		w.enter("b", here, KickProfile)
		w.enter("b", me, KickProfile)
		a, b := w.hubs["a"], w.hubs["b"]
		wantEvents(t, "sign-in", watcher, changed(2, online()))
		wantEvents(t, "sign-in on the same node", here, changed(2, online()))
		playing := Status{State: Playing, Text: "dm1", Location: "gs://x", Product: 11, Quiet: 5, Rich: &Rich{HostIP: 7, QueryPort: 1, GameMap: "dm1"}}
		if err := b.SetStatus(t.Context(), me, playing); err != nil {
			t.Fatal(err)
		}
		settle()
		wantEvents(t, "a status", watcher, changed(2, playing))
		if st, ok := a.Status(t.Context(), 2); !ok || !st.Equal(playing) || st.Quiet != 5 {
			t.Errorf("Status() elsewhere = %+v, %v", st, ok)
		}
		if !a.CheckKey(t.Context(), 2, 1002) || a.CheckKey(t.Context(), 2, 1003) || a.CheckKey(t.Context(), 2, 0) {
			t.Error("CheckKey() elsewhere is wrong")
		}
		if !a.SignedInFrom(t.Context(), 2, netip.MustParseAddr("::ffff:192.0.2.7")) || a.SignedInFrom(t.Context(), 2, netip.MustParseAddr("192.0.2.8")) {
			t.Error("SignedInFrom() elsewhere is wrong")
		}
		if n := a.Count(); n != 3 {
			t.Errorf("Count() = %d, want 3", n)
		}
		if got := a.Match(t.Context(), 11, 10); len(got) != 1 || got[0].Profile != 2 {
			t.Errorf("Match() = %+v", got)
		}
		if err := b.SetInvitable(t.Context(), here, []int{12}); err != nil {
			t.Fatal(err)
		}
		settle()
		if got := a.Match(t.Context(), 12, 10); len(got) != 1 || got[0].Profile != 3 {
			t.Errorf("Match() of an invitable one = %+v", got)
		}
		a.Tell(t.Context(), watcher, 2)
		a.Show(t.Context(), 3, 2) // neither is here
		b.Hide(t.Context(), 1, 2)
		settle()
		wantEvents(t, "Tell, Hide", watcher, changed(2, playing), changed(2, Status{}))
		wantEvents(t, "status, Show", here, changed(2, playing), changed(2, playing))
		b.SignOut(t.Context(), me)
		settle()
		wantEvents(t, "sign-out", watcher, changed(2, Status{}))
		if _, ok := w.hubs["c"].Status(t.Context(), 2); ok {
			t.Error("Status() after the sign-out = true")
		}
		time.Sleep(time.Second)
		if rows := w.base.Rows(); len(rows) != 2 {
			t.Errorf("%d rows are left, want 2", len(rows))
		}
	})
}

func TestSecondSignInElsewhere(t *testing.T) {
	tests := map[string]struct {
		policy       Policy
		kicked       [2]bool // same profile, other profile of the user
		watcherHears []Event
		count        int
	}{
		"kick by profile": {KickProfile, [2]bool{true, false}, nil, 3},
		"kick by user":    {KickUser, [2]bool{true, true}, []Event{changed(2, Status{})}, 2},
		"allow":           {Allow, [2]bool{false, false}, nil, 4},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				w := newTowns(t, "a", "b", "c")
				watcher, same, other, second := newPeer(3), newPeer(1), newPeer(2), newPeer(1)
				other.user = 1
				w.watch(3, 1, 2)
				w.enter("a", same, KickProfile)
				w.enter("b", other, KickProfile)
				w.enter("c", watcher, KickProfile)
				w.enter("b", second, tt.policy)
				for i, old := range []*peer{same, other} {
					var want []error
					if tt.kicked[i] {
						want = []error{ErrDisplaced}
					}
					wantKicked(t, fmt.Sprint("session ", i), old, want...)
				}
				wantEvents(t, "the take-over", watcher, tt.watcherHears...)
				a := w.hubs["a"]
				if tt.kicked[0] {
					a.SignOut(t.Context(), same) // late
					if err := a.SetStatus(t.Context(), same, Status{State: Away}); !errors.Is(err, ErrNotSignedIn) {
						t.Errorf("SetStatus() of a displaced session = %v", err)
					}
				}
				time.Sleep(10 * time.Second) // several beats
				wantEvents(t, "the late sign-out", watcher)
				wantKicked(t, "the newer session", second)
				if got := len(same.reasons()); got > 1 {
					t.Errorf("the older session was kicked %d times", got)
				}
				for node, c := range w.hubs {
					if st, ok := c.Status(t.Context(), 1); !ok || st.State != Online {
						t.Errorf("Status() at %s = %+v, %v", node, st, ok)
					}
					if c.Count() != tt.count {
						t.Errorf("Count() at %s = %d, want %d", node, c.Count(), tt.count)
					}
				}
			})
		})
	}
}

// Two halves of a cluster reach the store but not each other.
func TestCutKeepsOneSession(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newTowns(t, "a", "b")
		w.watch(9, 1)
		first, second, watcher := newPeer(1), newPeer(1), newPeer(9)
		w.enter("a", first, KickProfile)
		w.enter("b", watcher, KickProfile)
		w.net.Cut("a", "b")
		time.Sleep(time.Second)
		wantEvents(t, "the cut", watcher, changed(1, Status{}))
		w.enter("b", second, KickProfile)
		time.Sleep(2 * beatEvery)
		wantKicked(t, "the session that was overtaken", first, ErrDisplaced)
		wantKicked(t, "the newer one", second)
		w.hubs["a"].SignOut(t.Context(), first)
		w.net.Heal()
		time.Sleep(2 * beatEvery)
		wantEvents(t, "the new session", watcher, changed(1, online()), MessagesWaiting{})
		for node, c := range w.hubs {
			if _, ok := c.Status(t.Context(), 1); !ok || c.Count() != 2 {
				t.Errorf("at %s profile 1 is there: %v; %d sessions, want 2", node, ok, c.Count())
			}
		}
	})
}

// A node is cut off from the store and the cluster; meanwhile a player of it signs in
// elsewhere, and leaves again.
func TestOvertakenWhileCutOff(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newTowns(t, "a", "b")
		stays, goes := newPeer(1), newPeer(2)
		w.enter("a", stays, KickProfile)
		w.enter("a", goes, KickProfile)
		w.net.Isolate("a")
		w.links["a"].fail(errors.New("no route"))
		time.Sleep(10 * time.Second)
		if _, err := w.hubs["a"].SignIn(t.Context(), newPeer(3), KickProfile, online()); !errors.Is(err, ErrNoStore) {
			t.Errorf("SignIn() without the store = %v, want ErrNoStore", err)
		}
		second := newPeer(2)
		w.enter("b", second, KickProfile)
		w.hubs["b"].SignOut(t.Context(), second)
		time.Sleep(2 * time.Second)
		wantKicked(t, "while it is cut off", goes)
		w.links["a"].fail(nil)
		w.net.Heal()
		time.Sleep(2 * beatEvery)
		wantKicked(t, "after it is back", goes, ErrDisplaced)
		wantKicked(t, "the other", stays)
		if n := w.hubs["b"].Count(); n != 1 {
			t.Errorf("Count() = %d, want 1", n)
		}
		w.enter("a", newPeer(3), KickProfile)
	})
}

// Looks at the store that fail, because packets are lost or a lock of a node that was cut off
// delays them, do not keep players from signing in.
func TestFewFailures(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newTowns(t, "a")
		w.links["a"].fail(errors.New("slow"))
		time.Sleep(beatEvery + beatAgain + beatAgain/2)
		w.links["a"].fail(nil)
		w.enter("a", newPeer(1), KickProfile)
		time.Sleep(time.Minute)
		w.links["a"].fail(errors.New("away"))
		time.Sleep(beatEvery + lostBeats*beatAgain)
		if _, err := w.hubs["a"].SignIn(t.Context(), newPeer(2), KickProfile, online()); fmt.Sprint(err) != ErrNoStore.Error() { // not one of the store, which wraps it
			t.Errorf("SignIn() = %v, want ErrNoStore at once", err)
		}
	})
}

func TestStoreIsDown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newTowns(t, "a", "b")
		w.watch(1, 2, 3)
		watcher, me, leaver := newPeer(1), newPeer(2), newPeer(3)
		w.enter("a", watcher, KickProfile)
		w.enter("b", me, KickProfile)
		w.enter("b", leaver, KickProfile)
		watcher.heard()
		w.base.fail(errors.New("down"))
		time.Sleep(5 * time.Second)
		b := w.hubs["b"]
		if err := b.SetStatus(t.Context(), me, Status{State: Away}); err == nil {
			t.Error("SetStatus() without the store = nil")
		}
		b.SignOut(t.Context(), leaver)
		if _, err := b.SignIn(t.Context(), newPeer(4), KickProfile, online()); !errors.Is(err, ErrNoStore) {
			t.Errorf("SignIn() without the store = %v, want ErrNoStore", err)
		}
		if ok, err := b.Send(t.Context(), 1, Message{From: 2, Kind: Text, Text: "still here"}); !ok || err != nil {
			t.Errorf("Send() without the store = %v, %v", ok, err)
		}
		settle()
		wantEvents(t, "a message", watcher, Message{From: 2, Kind: Text, Text: "still here"})
		time.Sleep(time.Minute)
		w.base.fail(nil)
		time.Sleep(5 * time.Second)
		wantKicked(t, "a session without fault", me)
		got := watcher.heard()
		for _, want := range []Event{changed(2, Status{State: Away}), changed(3, Status{})} {
			if !slices.Contains(got, want) {
				t.Errorf("the watcher did not hear %+v after the store was back, but %+v", want, got)
			}
		}
		w.enter("b", newPeer(4), KickProfile)
		if rows := w.base.Rows(); len(rows) != 3 {
			t.Errorf("%d rows, want 3", len(rows))
		}
	})
}

func TestStoreLosesTheRows(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newTowns(t, "a", "b")
		stays, old, second := newPeer(1), newPeer(2), newPeer(2)
		w.enter("a", stays, KickProfile)
		w.enter("a", old, KickProfile)
		w.net.Cut("a", "b")
		w.links["a"].fail(errors.New("no route"))
		time.Sleep(time.Second)
		w.base.Lose(t)
		w.enter("b", second, KickProfile) // restores the run of b
		w.links["a"].fail(nil)
		time.Sleep(3 * beatEvery)
		wantKicked(t, "the one that was overtaken", old, ErrDisplaced)
		wantKicked(t, "the newer one", second)
		wantKicked(t, "the one that was not", stays)
		if rows := w.base.Rows(); len(rows) != 2 {
			t.Errorf("rows = %+v, want 2", rows)
		}
	})
}

func TestDeadNode(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newTowns(t, "a", "b", "c")
		w.watch(1, 2)
		watcher, me := newPeer(1), newPeer(2)
		w.enter("a", watcher, KickProfile)
		w.enter("b", me, KickProfile)
		watcher.heard()
		w.kill("b")
		time.Sleep(time.Second)
		wantEvents(t, "the death", watcher, changed(2, Status{}))
		if n := w.hubs["a"].Count(); n != 1 {
			t.Errorf("Count() = %d, want 1", n)
		}
		if rows := w.base.Rows(); len(rows) != 2 {
			t.Errorf("%d rows right after the death, want 2", len(rows))
		}
		time.Sleep(goneFor + time.Minute)
		if rows := w.base.Rows(); len(rows) != 1 {
			t.Errorf("%d rows long after the death, want 1", len(rows))
		}
		w.enter("c", newPeer(2), KickProfile)
		wantEvents(t, "a sign-in elsewhere", watcher, changed(2, online()))
		w.restart("b")
		time.Sleep(time.Second)
		if n := w.hubs["b"].Count(); n != 2 {
			t.Errorf("a node that is back knows %d sessions, want 2", n)
		}
	})
}

func TestMessageToDeadNodeIsStored(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newTowns(t, "a", "b")
		sender, me := newPeer(1), newPeer(2)
		w.enter("a", sender, KickProfile)
		w.enter("b", me, KickProfile)
		a := w.hubs["a"]
		text := func(s string) Message { return Message{From: 1, Kind: Text, Text: s, Sent: time.Unix(7, 0).UTC()} }
		send := func(s string) {
			t.Helper()
			if ok, err := a.Send(t.Context(), 2, text(s)); !ok || err != nil {
				t.Fatalf("Send() = %v, %v", ok, err)
			}
			settle()
		}
		send("arrives")
		wantEvents(t, "a message", me, text("arrives"))
		time.Sleep(time.Second) // it is reported as settled
		send("one")
		send("two")
		if n := a.post.held(); n != 2 {
			t.Errorf("%d events are kept, want 2", n)
		}
		w.kill("b")
		time.Sleep(deadFor + 2*beatEvery)
		if diff := cmp.Diff([]string{"one", "two"}, w.base.mail(2)); diff != "" {
			t.Errorf("mailbox (-want +got):\n%s", diff)
		}
		if ok, err := a.Send(t.Context(), 2, text("later")); ok || err != nil {
			t.Errorf("Send() to a player who is gone = %v, %v", ok, err)
		}
		if n := a.post.held(); n != 0 {
			t.Errorf("%d events are kept, want none", n)
		}
	})
}

// The store is down when the node dies.
func TestLostMessagesAreStoredLater(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newTowns(t, "a", "b")
		w.enter("a", newPeer(1), KickProfile)
		w.enter("b", newPeer(2), KickProfile)
		if ok, err := w.hubs["a"].Send(t.Context(), 2, BuddyRevoked{From: 1}); !ok || err != nil {
			t.Fatalf("Send() = %v, %v", ok, err)
		}
		w.base.fail(errors.New("down"))
		w.kill("b")
		time.Sleep(time.Minute)
		w.base.fail(nil)
		time.Sleep(deadFor + 2*beatEvery)
		if n := len(w.base.mail(2)); n != 1 {
			t.Errorf("%d messages are stored, want 1", n)
		}
	})
}

func TestUnansweredMessage(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newTowns(t, "a", "b")
		me := newPeer(2)
		w.enter("a", newPeer(1), KickProfile)
		w.enter("b", me, KickProfile)
		acks := 0
		w.net.Lose(func(from, _, of string) bool { // the first answer is lost
			if from == "b" && of == subject {
				acks++
			}
			return from == "b" && of == subject && acks <= 1
		})
		m := Message{From: 1, Kind: Text, Text: "once"}
		if ok, err := w.hubs["a"].Send(t.Context(), 2, m); !ok || err != nil {
			t.Errorf("Send() = %v, %v", ok, err)
		}
		settle()
		wantEvents(t, "a message that was repeated", me, m)
		w.net.Lose(func(from, _, _ string) bool { return from == "a" })
		if ok, err := w.hubs["a"].Send(t.Context(), 2, m); ok || !errors.Is(err, ErrUnreachable) {
			t.Errorf("Send() without an answer = %v, %v, want ErrUnreachable", ok, err)
		}
		w.net.Lose(nil)
		w.hubs["b"].dropOne(me)
		if ok, err := w.hubs["a"].Send(t.Context(), 2, m); ok || !errors.Is(err, ErrUnreachable) {
			t.Errorf("Send() to a player who just left = %v, %v, want ErrUnreachable", ok, err)
		}
	})
}

// While the store is away a message can only be refused instead: its node gets more time to answer.
func TestSlowNodeWithoutAStore(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newTowns(t, "a", "b")
		w.net.SetSilence(time.Hour)
		me := newPeer(2)
		w.enter("a", newPeer(1), KickProfile)
		w.enter("b", me, KickProfile)
		m := Message{From: 1, Kind: Text, Text: "late"}
		send := func(answeredAfter time.Duration) bool {
			w.net.Lose(func(from, _, of string) bool { return from == "b" && of == subject })
			time.AfterFunc(answeredAfter, func() { w.net.Lose(nil) })
			ok, _ := w.hubs["a"].Send(t.Context(), 2, m)
			time.Sleep(time.Minute)
			return ok
		}
		if send(passTries*passWait + passWait/2) {
			t.Error("a message waits for a node that does not answer, although it could be stored")
		}
		me.heard()
		w.base.fail(storage.ErrUnavailable)
		time.Sleep(5 * beatEvery)
		if !send((passTriesAlone-1)*passWait - passWait/2) {
			t.Error("a message that cannot be stored did not wait for its node")
		}
		wantEvents(t, "once", me, MessagesWaiting{}, m) // as older ones may be in the mailbox
		if send(passTriesAlone*passWait + passWait/2) {
			t.Error("a message waits without an end")
		}
	})
}

// A cut that is too short for the nodes to miss each other: what was stored meanwhile comes before
// what the bus carries after it.
func TestStoredBeforeSent(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newTowns(t, "a", "b")
		w.net.SetSilence(time.Hour)
		sender, me := newPeer(1), newPeer(2)
		w.enter("a", sender, KickProfile)
		w.enter("b", me, KickProfile)
		a := w.hubs["a"]
		text := func(s string) Message { return Message{From: 1, Kind: Text, Text: s, Sent: time.Unix(7, 0).UTC()} }
		w.net.Cut("a", "b")
		if ok, err := a.Send(t.Context(), 2, text("stored")); ok || !errors.Is(err, ErrUnreachable) {
			t.Fatalf("Send() during the cut = %v, %v", ok, err)
		}
		w.net.Heal()
		settle()
		me.heard()
		for _, s := range []string{"sent", "later"} {
			if ok, err := a.Send(t.Context(), 2, text(s)); !ok || err != nil {
				t.Fatalf("Send() after the cut = %v, %v", ok, err)
			}
		}
		settle()
		wantEvents(t, "the receiver looks into the mailbox before the first of them", me, MessagesWaiting{}, text("sent"), text("later"))
	})
}

func TestEventsCrossNodes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newTowns(t, "a", "b")
		me := newPeer(2)
		me.room = 6
		w.enter("a", newPeer(1), KickProfile)
		w.enter("b", me, KickProfile)
		sent := time.Unix(5, 6).UTC()
		events := []Event{
			Message{From: 1, Kind: UTM, Text: "\xff\\", Sent: sent},
			BuddyRequest{From: 1, Reason: "please", Signature: "0123456789abcdef0123456789abcdef", Sent: sent},
			BuddyAuthorized{From: 1, Sent: sent},
			BuddyRevoked{From: 1, Sent: sent},
			Invite{From: 1, Product: 3, Location: "here"},
			Ticket{Value: "t"},
		}
		for _, e := range events {
			if ok, err := w.hubs["a"].Send(t.Context(), 2, e); !ok || err != nil {
				t.Errorf("Send(%T) = %v, %v", e, ok, err)
			}
		}
		if ok, err := w.hubs["a"].Send(t.Context(), 2, Ticket{}); ok || err != nil {
			t.Errorf("Send() to a full queue = %v, %v, want false", ok, err)
		}
		wantEvents(t, "events in their order", me, events...)
		settle()
		late := newPeer(3)
		if _, _, err := w.hubs["b"].enter(late, Allow, online(), 99); err != nil { // a does not know yet
			t.Fatal(err)
		}
		request := BuddyRequest{From: 1, Signature: "s"}
		w.hubs["a"].waiting(3)
		_, _ = w.hubs["a"].Send(t.Context(), 3, request)
		settle()
		wantEvents(t, "one who just came", late, MessagesWaiting{}, request)
	})
}

func TestKickEverywhere(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newTowns(t, "a", "b", "c")
		one, two, cutOff := newPeer(1), newPeer(2), newPeer(3)
		two.user, cutOff.user = 1, 1
		chat := &attached{user: 1}
		w.enter("a", one, KickProfile)
		w.enter("b", two, KickProfile)
		w.enter("c", cutOff, KickProfile)
		w.hubs["b"].Attach(chat)
		w.net.Isolate("c")
		time.Sleep(time.Second)
		if n := w.hubs["a"].KickUser(t.Context(), 1, ErrBanned); n != 3 {
			t.Errorf("KickUser() = %d, want 3", n)
		}
		again := newPeer(1)
		again.user = 1
		w.enter("a", again, Allow) // allowed again: it is newer
		time.Sleep(2 * beatEvery)
		wantKicked(t, "here", one, ErrBanned)
		wantKicked(t, "elsewhere", two, ErrBanned)
		wantKicked(t, "on a node that was cut off", cutOff, ErrBanned)
		if chat.kicks != 1 {
			t.Errorf("the attached session was kicked %d times, want once", chat.kicks)
		}
		w.net.Heal()
		time.Sleep(2 * time.Minute)
		wantKicked(t, "a newer one", again)
		if n := w.hubs["b"].KickProfile(t.Context(), 1, ErrKicked); n != 2 {
			t.Errorf("KickProfile() = %d, want 2: one is not signed out yet", n)
		}
		wantKicked(t, "a newer one", again, ErrKicked)
	})
}

// attached is an Attached that counts kicks.
type attached struct {
	user  storage.UserID
	kicks int
}

func (a *attached) Profile() storage.ProfileID { return 77 }
func (a *attached) User() storage.UserID       { return a.user }
func (a *attached) Client() Client             { return Client{} }
func (a *attached) Kick(error)                 { a.kicks++ }

// A session of an account that ends while the session is signing in ends too.
func TestEndWhileSigningIn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newTowns(t, "a", "b")
		slow := newPeer(1)
		w.links["a"].hook(func() {
			w.hubs["b"].KickUser(context.Background(), 1, ErrBanned)
			settle()
		})
		w.enter("a", slow, KickProfile)
		wantKicked(t, "the session", slow, ErrBanned)
		first := newPeer(2)
		w.links["a"].hook(func() { w.enter("b", newPeer(2), KickProfile) })
		w.enter("a", first, KickProfile)
		wantKicked(t, "one that was overtaken before it was there", first, ErrDisplaced)
		time.Sleep(2 * beatEvery)
		if n := w.hubs["b"].Count(); n != 2 { // slow has not signed out
			t.Errorf("Count() = %d, want 2", n)
		}
	})
}

func TestListOfAllNodes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newTowns(t, "a", "b")
		for i := 1; i <= 9; i++ {
			w.enter([]string{"a", "b"}[i%2], newPeer(i), KickProfile)
		}
		w.enter("a", newPeer(5), Allow)
		want := []string{"1 b", "2 a", "3 b", "4 a", "5 a", "5 b", "6 a", "7 b", "8 a", "9 b"}
		for _, limit := range []int{1, 2, 3, 4, 100} {
			var got []string
			for after := storage.ProfileID(0); ; {
				list, more := w.hubs["a"].List(after, limit)
				for _, s := range list {
					got = append(got, fmt.Sprint(s.Profile, " ", s.Node))
				}
				if !more {
					break
				}
				after = list[len(list)-1].Profile
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("pages of %d (-want +got):\n%s", limit, diff)
			}
		}
	})
}

// A player of a node that was cut off reads the mailbox before the other node can pass
// on newer messages.
func TestMailboxBeforeNews(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newTowns(t, "a", "b")
		sender, me := newPeer(1), newPeer(2)
		w.enter("a", sender, KickProfile)
		w.enter("b", me, KickProfile)
		w.base.delay(time.Second) // the chores of the cut are not done when it ends
		w.net.Cut("a", "b")
		time.Sleep(500 * time.Millisecond)
		w.net.Heal()
		a := w.hubs["a"]
		for {
			if _, there := a.Status(t.Context(), 2); there {
				break
			}
			time.Sleep(time.Millisecond)
		}
		m := Message{From: 1, Kind: Text, Text: "newer"}
		if ok, err := a.Send(t.Context(), 2, m); !ok || err != nil {
			t.Fatalf("Send() = %v, %v", ok, err)
		}
		time.Sleep(time.Minute)
		wantEvents(t, "after the cut", me, MessagesWaiting{}, m)
	})
}

// The news that there is something in a mailbox may be lost.
func TestLossOfWaitingMessages(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newTowns(t, "a", "b")
		me := newPeer(2)
		w.enter("b", me, KickProfile)
		me.heard()
		w.net.Lose(func(from, _, _ string) bool { return from == "a" })
		a := w.hubs["a"]
		for range 50 {
			a.waiting(2)
		}
		w.net.Lose(nil)
		a.waiting(3) // a is heard again
		time.Sleep(time.Minute)
		wantEvents(t, "after the loss", me, MessagesWaiting{})
	})
}

// Lost messages are made good by a snapshot.
func TestLossIsMadeGood(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newTowns(t, "a", "b")
		w.watch(1, 2, 3)
		watcher, stays, goes := newPeer(1), newPeer(2), newPeer(3)
		w.enter("a", watcher, KickProfile)
		w.enter("b", goes, KickProfile)
		watcher.heard()
		w.net.Lose(func(from, _, _ string) bool { return from == "b" })
		w.enter("b", stays, KickProfile)
		w.hubs["b"].SignOut(t.Context(), goes)
		settle()
		w.net.Lose(nil)
		_ = w.hubs["b"].SetInvitable(t.Context(), stays, nil) // b is heard again
		time.Sleep(time.Second)
		got := watcher.heard()
		for _, want := range []Event{changed(2, online()), changed(3, Status{})} {
			if !slices.Contains(got, want) {
				t.Errorf("the watcher did not hear %+v, but %+v", want, got)
			}
		}
		if n := w.hubs["a"].Count(); n != 2 {
			t.Errorf("Count() = %d, want 2", n)
		}
	})
}

func TestManyPlayersArriveInParts(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newTowns(t, "a")
		const n = 400
		for i := range n {
			w.enter("a", newPeer(i+1), KickProfile)
		}
		w.net.Start("b")
		w.start("b")
		if missing := w.hubs["b"].AwaitNodes(t.Context()); missing != nil {
			t.Errorf("the players of %q are missing", missing)
		}
		if got := w.hubs["b"].Count(); got != n {
			t.Errorf("a new node knows %d sessions, want %d", got, n)
		}
	})
}

func TestTwinIsNoticed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newTowns(t, "a")
		me := newPeer(1)
		w.enter("a", me, KickProfile)
		if _, err := w.base.BeginRun(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * beatEvery)
		if _, err := w.hubs["a"].SignIn(t.Context(), newPeer(2), KickProfile, online()); !errors.Is(err, ErrNoStore) {
			t.Errorf("SignIn() beside a twin = %v, want ErrNoStore", err)
		}
		wantKicked(t, "a session", me)
	})
}

// Sign-ins of one player everywhere at once leave one session.
func TestManySignInsAtOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		policy Policy
		cut    bool
	}{
		"profile": {KickProfile, false}, "user": {KickUser, false},
		"profile, cut": {KickProfile, true}, "user, cut": {KickUser, true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				w := newTowns(t, "a", "b", "c")
				if tt.cut {
					w.net.Isolate("a")
				}
				var all sync.WaitGroup
				var peers []*peer
				for i := range 60 {
					p := newPeer(1)
					if tt.policy == KickUser {
						p = newPeer(1 + i%2)
						p.user = 1
					}
					peers = append(peers, p)
					c := w.hubs[[]string{"a", "b", "c"}[i%3]]
					all.Go(func() {
						if _, err := c.SignIn(context.Background(), p, tt.policy, online()); err != nil {
							t.Errorf("SignIn() = %v", err)
						}
					})
				}
				all.Wait()
				time.Sleep(3 * beatEvery)
				w.net.Heal()
				time.Sleep(3 * beatEvery)
				left := 0
				for _, p := range peers {
					switch n := len(p.reasons()); n {
					case 0:
						left++
					case 1:
					default:
						t.Errorf("a session was kicked %d times", n)
					}
				}
				for node, c := range w.hubs {
					if n := c.Count(); n != 1 {
						t.Errorf("Count() at %s = %d, want 1", node, n)
					}
				}
				if left != 1 || len(w.base.Rows()) != 1 {
					t.Errorf("%d sessions and %d rows are left, want one", left, len(w.base.Rows()))
				}
			})
		})
	}
}

func TestSessionModel(t *testing.T) {
	storagetest.RunSessions(t, func(*testing.T) storagetest.LosingSessions { return storagetest.NewSessionModel() })
}

func TestClusterMetricsAreRegistered(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		net := clustertest.New(t, "a")
		r := prometheus.NewRegistry()
		NewClustered(New(deaf{}, Options{}), ClusterOptions{Bus: net.Bus("a"), Sessions: storagetest.NewSessionModel(), Registerer: r})
		if got := metrictest.Value(t, r, "respawnd_presence_store_up"); got != 1 {
			t.Errorf("respawnd_presence_store_up = %v, want 1", got)
		}
	})
}
