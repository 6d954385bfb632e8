package gpcm

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

// pair returns two friends who are signed in, with nothing unread.
func (f *fixture) pair() (ann, ben *peer) {
	f.t.Helper()
	a, b := f.register("Ann"), f.register("Ben")
	f.befriend(a.ID, b.ID)
	ann, ben = f.signIn(a, 11), f.signIn(b, 11)
	ben.want(`\bm\100\`)
	ann.want(`\bm\100\`)
	return ann, ben
}

func TestMessageAtTheLimit(t *testing.T) {
	f := start(t, nil)
	ann, ben := f.pair()
	head := fmt.Sprintf(`\bm\1\sesskey\%s\t\%d\msg\`, ann.key, ben.id)
	longest := gamespy.MaxMessage - len(head) - len(gamespy.Final)
	ann.send("%s", head+strings.Repeat("x", longest)+gamespy.Final)
	if m := ben.want(`\bm\1\`); len(field(m, "msg")) != storage.MaxMessageText {
		t.Errorf("a text of %d bytes arrives with %d, want %d", longest, len(field(m, "msg")), storage.MaxMessageText)
	}
	ann.send("%s", head+strings.Repeat("x", longest+1)+gamespy.Final)
	ann.wantError(codeParse)
	ann.wantEnd()
	ben.want(`\bm\100\`)
	ben.wantNothing()
	if n := f.dropped.count(t, endedTooLong); n != 1 {
		t.Errorf("%d counted as too long, want 1", n)
	}
}

func TestEndlessMessageEndsTheConnection(t *testing.T) {
	for name, signedIn := range map[string]bool{"before login": false, "after login": true} {
		t.Run(name, func(t *testing.T) {
			log := verdicts.NewLog(zerolog.Nop(), 0)
			f := start(t, func(o *Options) { o.Verdicts = log })
			p := f.connect()
			if signedIn {
				p = f.signIn(f.register("Ann"), 0)
			}
			_ = p.trySend(strings.Repeat("a", 200<<10)) // the end may come before
			m := p.wantError(codeParse)
			if id := field(m, "id"); !strings.Contains(m, `\fatal\\`) || (id == "1") == signedIn {
				t.Errorf("error %q", m)
			}
			p.wantEnd()
			if got := log.Recent(1); len(got) != 1 || got[0].Verdict != verdicts.MalformedRequest {
				t.Errorf("noted %+v, want %v", got, verdicts.MalformedRequest)
			}
		})
	}
}

func TestManyFieldsEndTheConnection(t *testing.T) {
	f := start(t, nil)
	p := f.signIn(f.register("Ann"), 0)
	p.send("%s", `\updatepro\\sesskey\`+p.key+strings.Repeat(`\a\b`, gamespy.MaxFields)+gamespy.Final)
	p.wantError(codeParse)
	p.wantEnd()
	if n := f.dropped.count(t, endedMalformed); n != 1 {
		t.Errorf("%d counted as malformed, want 1", n)
	}
}

func TestSegments(t *testing.T) {
	f := start(t, nil)
	ann, ben := f.pair()
	t.Run("several commands in one", func(t *testing.T) {
		ann.send(`\bm\1\sesskey\$K\t\%d\msg\one\final\\ka\\final\\bm\1\sesskey\$K\t\%d\msg\two\final\`, ben.id, ben.id)
		ben.want(fmt.Sprintf(`\bm\1\f\%d\date\`, ann.id))
		if m := ben.recv(); field(m, "msg") != "two" {
			t.Errorf("second message %q", m)
		}
	})
	t.Run("one byte each", func(t *testing.T) {
		for _, c := range fmt.Sprintf(`\bm\1\sesskey\%s\t\%d\msg\slow\final\`, ann.key, ben.id) {
			ann.send("%s", string(c))
		}
		if m := ben.recv(); field(m, "msg") != "slow" {
			t.Errorf("message %q", m)
		}
	})
	t.Run("junk between", func(t *testing.T) {
		ann.send(`%s`, "\x00\r\n\\final\\junk\\final\\\\\\\\\\final\\"+fmt.Sprintf(`\bm\1\sesskey\%s\t\%d\msg\after\final\`, ann.key, ben.id))
		if m := ben.recv(); field(m, "msg") != "after" {
			t.Errorf("message %q", m)
		}
		if n := f.dropped.count(t, droppedEmpty); n != 3 {
			t.Errorf("%d counted as empty, want 3", n)
		}
	})
	t.Run("unknown commands", func(t *testing.T) {
		before := f.dropped.count(t, droppedUnknown)
		ann.send(`\search\\sesskey\$K\final\\aVeryLongCommandNameIndeed\1\final\`)
		ann.wantNothing()
		if n := f.dropped.count(t, droppedUnknown) - before; n != 2 {
			t.Errorf("%d counted as unknown, want 2", n)
		}
	})
}

func TestWrongSessionKey(t *testing.T) {
	f := start(t, nil)
	ann := f.register("Ann")
	other := f.signIn(f.register("Ben"), 0)
	t.Cleanup(other.wantNothing)
	for name, key := range map[string]string{
		"of another": other.key, "zero": "0", "negative": "-1", "huge": "99999999999999999999", "a word": "x",
		"empty": "", "wrapped around": "4294967297",
	} {
		who := f.register("Ann" + strings.ReplaceAll(name, " ", ""))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := f.signIn(who, 0)
			p.send(`\getprofile\\sesskey\%s\profileid\1\id\5\final\`, key)
			if m := p.wantError(codeBadSession); !strings.Contains(m, `\fatal\\`) || field(m, "id") != "5" {
				t.Errorf("error %q", m)
			}
			p.wantEnd()
		})
	}
	t.Run("missing", func(t *testing.T) {
		p := f.signIn(ann, 0)
		p.send(`\status\1\statstring\x\locstring\\final\`)
		p.wantError(codeBadSession)
		p.wantEnd()
	})
	t.Run("logout", func(t *testing.T) {
		p := f.signIn(ann, 0)
		p.send(`\logout\\sesskey\0\final\`)
		p.wantError(codeBadSession)
		p.wantEnd()
	})
}

func TestFloodOfAddBuddies(t *testing.T) {
	f := start(t, nil)
	ann, ben := f.pair()
	const n = 2000
	done := make(chan map[string]int, 1)
	go func() { // counts the flooder's errors
		codes := make(map[string]int)
		for {
			m, err := ann.tryRecv(ann.timeout)
			if err != nil || strings.HasSuffix(m, fenceID) {
				done <- codes
				return
			}
			codes[field(m, "err")]++
		}
	}()
	var flood strings.Builder
	for i := range n {
		fmt.Fprintf(&flood, `\addbuddy\\sesskey\%s\newprofileid\%d\reason\x\final\`, ann.key, 1000+i)
	}
	flood.WriteString(`\getprofile\\sesskey\` + ann.key + `\profileid\2147483647` + fenceID)
	ann.send("%s", flood.String())
	codes := <-done
	unknown, tooMany := codes["1538"], codes["1536"]
	if unknown < changeBurst || unknown+tooMany != n {
		t.Errorf("errors %v, want %d of 1538 at least and 1536 for the rest of %d", codes, changeBurst, n)
	}
	if dropped := f.dropped.count(t, droppedRate); dropped != tooMany {
		t.Errorf("%d counted, want %d", dropped, tooMany)
	}
	ben.wantNothing()
	ann.send(`\bm\1\sesskey\$K\t\%d\msg\still here\final\`, ben.id)
	ben.want(`\bm\1\`)
}

func TestKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startPipe(t, nil)
		ann, ben := f.pair()
		began := time.Now()
		for n := range 3 {
			if m := ann.recv(); m != `\ka\\final\` {
				t.Fatalf("after %v: %q", time.Since(began), m)
			}
			ben.want(`\ka\`)
			if took := time.Since(began); took != time.Duration(n+1)*defaults().KeepAlive {
				t.Errorf("keepalive %d after %v", n+1, took)
			}
		}
		// A client that hears something needs no keepalive; one of the client is not answered.
		time.Sleep(defaults().KeepAlive / 2)
		ann.send(`\ka\\final\`)
		ann.send(`\bm\1\sesskey\$K\t\%d\msg\hi\final\`, ben.id)
		ben.want(`\bm\1\`)
		said := time.Now()
		ann.want(`\ka\`)
		ben.want(`\ka\`)
		if took := time.Since(said); took != defaults().KeepAlive {
			t.Errorf("keepalive %v after the message, want %v", took, defaults().KeepAlive)
		}
		// Silence of the client means nothing.
		for time.Since(began) < 3*time.Hour {
			ann.want(`\ka\`)
			ben.want(`\ka\`)
		}
	})
}

func TestTicketIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startPipe(t, nil)
		ann := f.register("Ann")
		p := f.signIn(ann, 0)
		began := time.Now()
		m := p.recv()
		for ; m == `\ka\\final\`; m = p.recv() {
			if time.Since(began) > defaults().TicketRenewal+2*defaults().KeepAlive {
				t.Fatal("no new ticket")
			}
		}
		id, err := f.accounts.Grants.CheckTicket(field(m, "lt"))
		if err != nil || id != ann.ID || time.Since(began) < defaults().TicketRenewal {
			t.Errorf("after %v: %q, profile %d, %v", time.Since(began), m, id, err)
		}
		if strings.Contains(m, `\id\`) {
			t.Errorf("push %q has an id", m)
		}
	})
}

// TestSlowReader has a player who stops reading, so that the connection blocks, while
// other players continue.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startPipe(t, func(o *Options) { o.KeepAlive = time.Hour })
		ann, ben := f.pair()
		slow := f.register("Slow")
		f.befriend(ann.id, slow.ID)
		stuck := f.signIn(slow, 11)
		ann.want(`\bm\100\`)
		stuck.want(`\bm\100\`)
		heard := make(chan string, 10_000)
		go func() {
			for {
				m, err := ann.tryRecv(ann.timeout)
				if err != nil {
					return
				}
				heard <- m
			}
		}()
		began := time.Now()
		for n := range 1200 {
			ann.send(`\bm\1\sesskey\$K\t\%d\msg\%d\final\`, slow.ID, n)
			ann.send(`\bm\1\sesskey\$K\t\%d\msg\%d\final\`, ben.id, n)
			if m := ben.recv(); field(m, "msg") != fmt.Sprint(n) {
				t.Fatalf("message %d: %q", n, m)
			}
			if n == 0 {
				synctest.Wait() // the first write blocks, and takes no other message with it
			}
		}
		synctest.Wait()
		if took := time.Since(began); took != 0 {
			t.Errorf("others waited %v", took)
		}
		refused := len(heard)
		for range refused {
			if m := <-heard; field(m, "err") != "2304" {
				t.Fatalf("received %q", m)
			}
		}
		if refused < 600 || refused != f.dropped.count(t, droppedBusy) {
			t.Errorf("%d messages refused, %d counted", refused, f.dropped.count(t, droppedBusy))
		}
		// Statuses still have room, the latest of each profile only.
		for n := range 600 {
			ann.send(`\status\1\sesskey\$K\statstring\%d\locstring\\final\`, n)
			if m := ben.recv(); !strings.Contains(m, fmt.Sprintf("|ss|%d|", n)) {
				t.Fatalf("status %d: %q", n, m)
			}
		}
		// In the end the write takes too long. Every message that was not refused is kept.
		if m := <-heard; !strings.HasPrefix(m, fmt.Sprintf(`\bm\100\f\%d\msg\|s|0|`, slow.ID)) {
			t.Errorf("received %q", m)
		}
		if took := time.Since(began); took < defaults().Write {
			t.Errorf("gone after %v, want %v at least", took, defaults().Write)
		}
		synctest.Wait()
		_ = stuck.conn.Close()
		back := f.signIn(slow, 11)
		for n := 0; ; n++ {
			m := back.recv()
			if strings.HasPrefix(m, `\bm\100`) {
				if want := 1200 - refused; n != want {
					t.Errorf("%d messages were kept, want %d", n, want)
				}
				break
			}
		}
	})
}

func TestFullQueueEndsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startPipe(t, nil)
		p := f.signIn(f.register("Ann"), 11)
		synctest.Wait()
		n := 0
		for ; n < 2*maxQueue; n++ { // each from another, so that none replaces another
			delivered, err := f.hub.Send(t.Context(), p.id, presence.StatusChanged{From: storage.ProfileID(100 + n)})
			if err != nil {
				t.Fatal(err)
			}
			if !delivered {
				break
			}
			if n == 0 {
				synctest.Wait() // it is on its way and sticks
			}
		}
		if n != maxQueue+1 {
			t.Errorf("%d events were taken, want %d", n, maxQueue+1)
		}
		synctest.Wait()
		if f.hub.Count() != 0 || f.dropped.count(t, endedSlow) != 1 {
			t.Errorf("%d sessions, %d counted", f.hub.Count(), f.dropped.count(t, endedSlow))
		}
	})
}

func TestOutboxReplacesStatuses(t *testing.T) {
	o := newOutbox()
	status := func(from storage.ProfileID, text string) presence.StatusChanged {
		return presence.StatusChanged{From: from, Status: presence.Status{State: 1, Text: text}}
	}
	for n := range coalesceFrom {
		o.offer(status(storage.ProfileID(n+1), "old"))
	}
	o.offer(status(5, "new"))
	o.offer(presence.BuddyRevoked{From: 5})
	o.offer(status(5, "after the list changed"))
	o.offer(status(5, "the last one"))
	items, _, _ := o.take(nil)
	var about5 []string
	for _, i := range items {
		if e, ok := i.event.(presence.StatusChanged); ok && e.From == 5 {
			about5 = append(about5, e.Status.Text)
		}
	}
	if got := strings.Join(about5, ", "); len(items) != coalesceFrom+2 || got != "new, the last one" {
		t.Errorf("%d items, of profile 5: %s", len(items), got)
	}
	if o.weight != 0 {
		t.Errorf("weight %d when empty", o.weight)
	}
}

func TestOutboxBounds(t *testing.T) {
	text := func(n int) presence.Message {
		return presence.Message{From: 1, Kind: presence.UTM, Text: strings.Repeat("x", n)}
	}
	t.Run("messages by number", func(t *testing.T) {
		o := newOutbox()
		for n := range maxQueue/2 + 1 {
			if got, want := o.offer(text(1)), takenYes; n == maxQueue/2 && got != takenBusy || n < maxQueue/2 && got != want {
				t.Fatalf("offer of message %d: %d", n, got)
			}
		}
	})
	t.Run("messages by size", func(t *testing.T) {
		o := newOutbox()
		const size = 4000
		fit := maxQueueBytes / 2 / (size + itemOverhead)
		for n := range fit + 1 {
			if got := o.offer(text(size)); (got == takenYes) != (n < fit) {
				t.Fatalf("offer of message %d of %d: %d", n, fit, got)
			}
		}
		if got := o.offer(presence.BuddyRevoked{From: 1}); got != takenYes {
			t.Errorf("offer of something else: %d", got)
		}
	})
	t.Run("closed", func(t *testing.T) {
		o := newOutbox()
		o.close(nil)
		if got := o.offer(text(1)); got != takenOver {
			t.Errorf("offer: %d", got)
		}
	})
}

func TestOfflineMessagesAreBounded(t *testing.T) {
	f := start(t, nil)
	ann, ben := f.pair()
	ben.send(`\logout\\sesskey\$K\final\`)
	ben.wantEnd()
	ann.want(`\bm\100\`)
	for range storage.MaxMessagesFrom + 1 {
		ann.send(`\bm\1\sesskey\$K\t\%d\msg\x\final\`, ben.id)
	}
	ann.wantError(codeMessage)
	ann.wantNothing()
}

func TestShutdownTellsClients(t *testing.T) {
	f := start(t, nil)
	p := f.signIn(f.register("Ann"), 0)
	early := f.connect()
	go f.stop()
	if m := p.wantError(codeGeneral); !strings.Contains(m, `\fatal\\`) || strings.Contains(m, `\id\`) {
		t.Errorf("last words %q", m)
	}
	p.wantEnd()
	if m := early.wantError(codeGeneral); field(m, "id") != "1" {
		t.Errorf("last words before the login %q", m)
	}
	early.wantEnd()
	f.stop()
	if n := f.hub.Count(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

func TestClosedConnectionSignsOut(t *testing.T) {
	f := start(t, nil)
	ann, ben := f.pair()
	_ = ann.conn.Close()
	ben.want(fmt.Sprintf(`\bm\100\f\%d\msg\|s|0|`, ann.id))
}

// TestManyTalk has players do everything at the same time, for the race detector.
func TestManyTalk(t *testing.T) {
	f := start(t, nil)
	const players = 8
	people := make([]storage.Profile, players)
	for i := range people {
		people[i] = f.register(fmt.Sprintf("Player%d", i))
	}
	for i := range people {
		for j := range i {
			f.befriend(people[i].ID, people[j].ID)
		}
	}
	done := make(chan error, players)
	for i, who := range people {
		p := f.signIn(who, []int{0, 11, 15, 63}[i%4])
		go func() { done <- p.chatter(people, rand.New(rand.NewPCG(1, uint64(i)))) }()
	}
	for range people {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// chatter sends many messages and reads until the last one is answered.
func (p *peer) chatter(people []storage.Profile, r *rand.Rand) error {
	sent := make(chan error, 1)
	go func() {
		for n := range 100 {
			to := people[r.IntN(len(people))].ID
			text := [...]string{
				fmt.Sprintf(`\bm\1\sesskey\%s\t\%d\msg\%d`, p.key, to, n),
				fmt.Sprintf(`\status\%d\sesskey\%s\statstring\%d\locstring\`, n%6, p.key, n),
				fmt.Sprintf(`\addblock\\sesskey\%s\profileid\%d`, p.key, to),
				fmt.Sprintf(`\removeblock\\sesskey\%s\profileid\%d`, p.key, to),
				fmt.Sprintf(`\pinvite\\sesskey\%s\profileid\%d\productid\1\location\x`, p.key, to),
				fmt.Sprintf(`\quiet\%d\sesskey\%s`, n%8, p.key),
				fmt.Sprintf(`\delbuddy\\sesskey\%s\delprofileid\%d`, p.key, to),
				fmt.Sprintf(`\addbuddy\\sesskey\%s\newprofileid\%d\reason\x`, p.key, to),
			}[r.IntN(8)]
			if err := p.trySend(text + gamespy.Final); err != nil {
				sent <- err
				return
			}
		}
		sent <- p.trySend(`\getprofile\\sesskey\` + p.key + `\profileid\2147483647` + fenceID)
	}()
	for {
		m, err := p.tryRecv(p.timeout)
		if err != nil {
			return fmt.Errorf("%d: %w", p.id, err)
		}
		if strings.HasSuffix(m, fenceID) {
			return <-sent
		}
	}
}
