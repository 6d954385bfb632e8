package presence

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/storage"
)

func TestMailbag(t *testing.T) {
	var b mailbag
	beat := func(ids ...storage.ProfileID) storage.NodeRun {
		for _, id := range ids {
			b.add(id)
		}
		mail := b.get()
		b.beaten(mail)
		return storage.NodeRun{Run: 7, Mail: mail}
	}
	want := func(what string, was, is storage.NodeRun, missed bool, ids ...storage.ProfileID) {
		t.Helper()
		if got, more := newMail(&was, &is); !slices.Equal(got, ids) || more != missed {
			t.Errorf("%s: mail for %d, missed %v, want %d, %v", what, got, more, ids, missed)
		}
	}
	none := beat()
	first := beat(3, 1, 3)
	second := beat(2)
	want("the first", none, first, false, 1, 3)
	want("the second", first, second, false, 2)
	want("nothing new", second, second, false)
	want("two at once", none, second, false, 1, 2, 3)
	want("of a node that was not known", storage.NodeRun{}, second, false, 1, 2, 3)
	want("of another run", storage.NodeRun{Run: 6, Mail: storage.Mail{Last: 9}}, second, false, 1, 2, 3)
	var last storage.NodeRun
	for range mailBeats {
		last = beat()
	}
	if len(last.Mail.To) != 0 {
		t.Errorf("after %d beats the bag has %d", mailBeats, last.Mail.To)
	}
	want("long ago", none, last, true)
	for range storage.MaxMail + 1 {
		b.add(5)
	}
	want("too many", last, storage.NodeRun{Run: 7, Mail: b.get()}, true, 5)
}

// toldOf signs a player in at a and another one at b, who is sent a message that its client may
// not have yet.
func toldOf(t *testing.T) (w *towns, m Message, me *peer) {
	t.Helper()
	w = newTowns(t, "a", "b")
	me = newPeer(2)
	w.enter("a", newPeer(1), KickProfile)
	w.enter("b", me, KickProfile)
	time.Sleep(2 * beatEvery)
	m = Message{From: 1, Kind: Text, Text: "once", Number: NextNumber()}
	if ok, err := w.hubs["a"].Send(t.Context(), 2, m); !ok || err != nil {
		t.Fatalf("Send() = %v, %v", ok, err)
	}
	synctest.Wait()
	return w, m, me
}

// A node that cannot be reached but lives keeps what it delivered. Its report that a message
// arrived is made good after the cut.
func TestCutStoresNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, m, me := toldOf(t)
		w.net.Cut("a", "b")
		time.Sleep(time.Minute)
		w.base.wantMail(t)
		if n := w.hubs["a"].post.held(); n != 1 {
			t.Errorf("%d events are kept, want 1", n)
		}
		wantEvents(t, "the message", me, m) // and settles it
		w.net.Heal()
		time.Sleep(beatEvery)
		w.base.wantMail(t)
		if n := w.hubs["a"].post.held(); n != 0 {
			t.Errorf("%d events are kept after the cut, want none", n)
		}
	})
}

// The report that a message arrived may be lost without a cut.
func TestLossOfReport(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, m, me := toldOf(t)
		w.net.Lose(func(from, _, _ string) bool { return from == "b" })
		wantEvents(t, "the message", me, m)
		time.Sleep(time.Second)
		w.net.Lose(nil)
		time.Sleep(heldLong + 2*beatEvery)
		if n := w.hubs["a"].post.held(); n != 0 {
			t.Errorf("%d events are kept, want none", n)
		}
	})
}

// A node that cannot be reached is dead when its run has ended, or another one has begun.
func TestDeadByItsRun(t *testing.T) {
	for name, end := range map[string]func(w *towns) error{
		"ended":     func(w *towns) error { return w.base.EndRun(w.t.Context(), w.hubs["b"].run.Load()) },
		"restarted": func(w *towns) error { _, err := w.base.BeginRun(w.t.Context(), "b"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				w, _, _ := toldOf(t)
				w.links["b"].fail(errors.New("it does not run"))
				w.net.Cut("a", "b")
				if err := end(w); err != nil {
					t.Fatal(err)
				}
				time.Sleep(beatEvery)
				w.base.wantMail(t, "once")
			})
		})
	}
}

// A player gets a message from the other side of a cut with the next beats.
func TestBeatsSayWhoHasMail(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, m, me := toldOf(t)
		wantEvents(t, "the message", me, m)
		w.net.Cut("a", "b")
		time.Sleep(time.Minute)
		wantEvents(t, "the cut", me)
		began := time.Now()
		for _, to := range []storage.ProfileID{2, 3} {
			if err := w.hubs["a"].Leave(t.Context(), to, stored("left")); err != nil {
				t.Fatal(err)
			}
		}
		for len(me.all()) == 0 && time.Since(began) < time.Minute {
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(began); took > beatEvery {
			t.Errorf("the player learned of it after %v, want at most %v", took, beatEvery)
		}
		time.Sleep(time.Minute)
		wantEvents(t, "the mail", me, MessagesWaiting{})
		// A node that was without the store for longer has all its players look.
		w.links["b"].fail(errors.New("away"))
		for range 2 * mailBeats {
			if err := w.hubs["a"].Leave(t.Context(), 3, stored("left")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * beatEvery)
		}
		w.links["b"].fail(nil)
		time.Sleep(2 * beatEvery)
		wantEvents(t, "the missed beats", me, MessagesWaiting{})
	})
}
