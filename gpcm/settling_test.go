package gpcm

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// reset ends a connection as a process that is killed does.
func (p *peer) reset() {
	p.t.Helper()
	if err := p.conn.(*net.TCPConn).SetLinger(0); err != nil {
		p.t.Fatal(err)
	}
	_ = p.conn.Close()
}

// gone waits until a profile is signed in no more.
func (f *fixture) gone(id storage.ProfileID) {
	f.t.Helper()
	for end := time.Now().Add(timeout); ; time.Sleep(time.Millisecond) {
		if _, there := f.hub.Status(f.t.Context(), id); !there {
			return
		}
		if time.Now().After(end) {
			f.t.Fatalf("profile %d is still signed in", id)
		}
	}
}

// empty waits until no connection is served.
func (f *fixture) empty() {
	f.t.Helper()
	for end := time.Now().Add(timeout); f.dropped.connections(f.t) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatal("connections are still served")
		}
	}
}

// messages reads the text messages that come before the answer to something sent
// now, and returns how often each came.
func (p *peer) messages() map[string]int {
	p.t.Helper()
	p.send(`\getprofile\\sesskey\$K\profileid\2147483647\id\999\final\`)
	texts := make(map[string]int)
	for {
		m := p.recv()
		switch {
		case strings.HasSuffix(m, `\id\999\final\`):
			return texts
		case strings.HasPrefix(m, `\bm\1\`):
			texts[field(m, "msg")]++
		}
	}
}

// TestResetKeepsMessages has clients that end at some time around their login, with a
// reset. Their waiting messages are delivered at the next login.
func TestResetKeepsMessages(t *testing.T) {
	const want = 60
	f := start(t, nil)
	ann := f.register("Ann")
	for n := range want {
		from := storage.ProfileID(100 + n/storage.MaxMessagesFrom)
		err := f.store.Leave(t.Context(), ann.ID, storage.Message{
			From: from, Kind: storage.MessageText, Text: fmt.Sprint(n), Sent: time.Now(),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for read := range 5 {
		p := f.connect()
		p.login("Ann", testPassword, `\namespaceid\1\sdkrevision\11`)
		for range read { // both lists, the answer, a message
			p.recv()
		}
		p.reset()
		f.empty() // else the login may be carried out after the next one, and take its place
	}
	p := f.signIn(ann, 11)
	got := p.messages()
	if len(got) != want {
		t.Errorf("%d of %d messages came", len(got), want)
	}
	for text, n := range got {
		if n != 1 {
			t.Errorf("message %s came %d times in one session", text, n)
		}
	}
	p.send(`\logout\\sesskey\$K\final\`)
	p.wantEnd()
	if again := f.signIn(ann, 11).messages(); len(again) != 0 {
		t.Errorf("%d messages came again after a logout", len(again))
	}
}

// TestUnreadMessagesWait has a player whose client stops reading and then ends.
// Messages sent meanwhile are delivered at the next login.
func TestUnreadMessagesWait(t *testing.T) {
	f := start(t, nil)
	ann, ben := f.register("Ann"), f.register("Ben")
	f.befriend(ann.ID, ben.ID)
	stuck, writer := f.signIn(ann, 11), f.signIn(ben, 11)
	const want = 50
	for n := range want {
		writer.send(`\bm\1\sesskey\$K\t\%d\msg\%d %s\final\`, ann.ID, n, strings.Repeat("x", 1000))
	}
	if got := writer.messages(); len(got) != 0 {
		t.Fatalf("the writer received %v", got)
	}
	stuck.reset()
	f.gone(ann.ID)
	// More than the mailbox holds for an absent player: they were sent during the
	// session.
	back, got := f.signIn(ann, 11), make(map[string]bool)
	for len(got) < want {
		if m := back.recv(); strings.HasPrefix(m, `\bm\1\`) {
			got[field(m, "msg")] = true
		}
	}
}

// TestReturnedMessagesReachTheNextSession has a client that ends and signs in again at
// once, while its earlier session may still be there.
func TestReturnedMessagesReachTheNextSession(t *testing.T) {
	f := start(t, nil)
	ann, ben := f.register("Ann"), f.register("Ben")
	f.befriend(ann.ID, ben.ID)
	before, writer := f.signIn(ann, 11), f.signIn(ben, 11)
	writer.send(`\bm\1\sesskey\$K\t\%d\msg\hello\final\`, ann.ID)
	writer.messages()
	before.reset()
	back := f.signIn(ann, 11)
	for {
		m := back.recv()
		if strings.HasPrefix(m, `\bm\1\`) {
			if field(m, "msg") != "hello" {
				t.Errorf("received %q", m)
			}
			return
		}
	}
}

// TestTakeOverRepeatsNothing has a player read a message and sign in somewhere else.
func TestTakeOverRepeatsNothing(t *testing.T) {
	f := start(t, nil)
	ann, ben := f.register("Ann"), f.register("Ben")
	f.befriend(ann.ID, ben.ID)
	before, writer := f.signIn(ann, 11), f.signIn(ben, 11)
	before.want(`\bm\100\`)
	writer.send(`\bm\1\sesskey\$K\t\%d\msg\hello\final\`, ann.ID)
	before.want(`\bm\1\`)
	f.signIn(ann, 11)
	before.wantError(codeForced)
	before.wantEnd()
	if messages, _, err := f.store.CountMessages(t.Context()); messages != 0 || err != nil {
		t.Errorf("%d messages wait after a take-over, %v, want none", messages, err)
	}
}

// TestMessagesAreRemovedInTime looks at the mailbox of a player who remains signed in.
func TestMessagesAreRemovedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startPipe(t, nil)
		ann := f.register("Ann")
		err := f.store.Leave(t.Context(), ann.ID, storage.Message{From: 100, Kind: storage.MessageText, Text: "hi", Sent: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		waiting := func() int {
			synctest.Wait()
			n, _, err := f.store.CountMessages(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		p := f.signIn(ann, 11)
		p.want(`\bm\1\`)
		if n := waiting(); n != 1 {
			t.Errorf("%d messages wait just after the login, want 1", n)
		}
		if _, err := f.hub.Send(t.Context(), ann.ID, presence.MessagesWaiting{}); err != nil {
			t.Fatal(err)
		}
		if got := p.messages(); len(got) != 0 {
			t.Errorf("received %v, which is under way already", got)
		}
		time.Sleep(defaults().UserTimeout - settleTime) // a pipe does not acknowledge delivery
		if n := waiting(); n != 1 {
			t.Errorf("%d messages wait before the user time-out, want 1", n)
		}
		time.Sleep(2 * settleTime)
		if n := waiting(); n != 0 {
			t.Errorf("%d messages wait after the user time-out, want none", n)
		}
	})
}
