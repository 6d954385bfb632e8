package ssq

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	wire "github.com/respawnd/respawnd/internal/ssq"
)

// proof returns the token that a client is sent for its first question.
func (f *fixture) proof(from netip.AddrPort) string {
	f.t.Helper()
	f.query(from, "SELECT hostip                ")
	t := f.table("SELECT hostip")
	if len(t.Columns) != 1 || t.Columns[0] != wire.TokenColumn || len(t.Rows) != 1 || len(f.sent) != 1 {
		f.t.Fatalf("answer %+v in %d packets, want one with a token", t, len(f.sent))
	}
	return t.Rows[0][0]
}

func TestStrangersMustRepeatAToken(t *testing.T) {
	f := newFixture(t)
	f.threeServers()
	token := f.proof(stranger)
	const query = "SELECT hostip"
	f.query(stranger, query+" X-TOKEN "+token)
	if got := f.table(query); len(got.Rows) != 3 {
		t.Errorf("with the token: %+v", got)
	}
	f.query(netip.AddrPortFrom(stranger.Addr(), 4001), query+" X-TOKEN "+token)
	if got := f.table(query); len(got.Rows) != 3 {
		t.Errorf("from another port: %+v", got)
	}
	for name, tc := range map[string]struct {
		from  netip.AddrPort
		token string
	}{
		"of another address": {netip.MustParseAddrPort("198.51.100.8:4000"), token},
		"wrong":              {stranger, strings.ToUpper(token) + "x"},
		"cut":                {stranger, token[:len(token)-1]},
	} {
		f.query(tc.from, query+" X-TOKEN "+tc.token)
		if got := f.table(query); got.Columns[0] != wire.TokenColumn {
			t.Errorf("with a token that is %s: %+v", name, got)
		}
	}
	if got := f.value("tokens"); got != 4 {
		t.Errorf("%v tokens counted, want 4", got)
	}
}

func TestNoStrangerIsSentMoreThanHeSent(t *testing.T) {
	f := newFixture(t)
	f.many(300)
	for _, query := range []string{
		"SELECT hostip", "SELECT hostip,hostname,map,game", "SP x-servers", "SP info", "CL LONG", "CL", "VERSION", "AUTH john", "AUTH " + password,
		"PING", "SP ping", "x", "SELECT", "SELECT port WHERE", `SELECT "` + strings.Repeat("'", 100), strings.Repeat("SELECT \\", 30), "", " ",
	} {
		for pad := range 60 {
			f.query(stranger, query+strings.Repeat(" ", pad))
			if in := wire.HeaderLen + len(query) + pad; f.bytesSent() > in || len(f.sent) > 1 {
				t.Fatalf("%q and %d spaces: %d bytes in, %d out in %d packets", query, pad, in, f.bytesSent(), len(f.sent))
			}
		}
	}
}

func TestQuestionsTooShortForToken(t *testing.T) {
	f := newFixture(t)
	const least = 26
	for n := range least + 4 {
		text := "CL" + strings.Repeat("\x00", n)
		f.query(stranger, text)
		want, packets := notDropped, 1
		if wire.HeaderLen+len(text) < least {
			want, packets = dropShort, 0
		}
		if f.dropped != want || len(f.sent) != packets {
			t.Errorf("%d bytes: dropped %q, %d packets; want %q, %d", wire.HeaderLen+len(text), f.dropped, len(f.sent), want, packets)
		}
	}
}

func TestTokensEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.threeServers()
		token, auth := f.proof(stranger), f.ask("AUTH " + password).Rows[0][0]
		const query = "SELECT hostip"
		for _, step := range []struct {
			after time.Duration
			good  bool
		}{{proofSlot, true}, {proofSlot - time.Second, true}, {time.Second, false}} {
			time.Sleep(step.after)
			f.query(stranger, query+" X-TOKEN "+token)
			if got := f.table(query).Columns[0] == "hostip"; got != step.good {
				t.Errorf("another %v later the token is good: %v, want %v", step.after, got, step.good)
			}
		}
		time.Sleep(2*authSlot - 2*proofSlot - time.Second)
		if got := f.ask("SELECT x-source IDENTIFIED " + auth); len(got.Columns) != 1 {
			t.Errorf("a second before its end the token of AUTH is not good: %+v", got)
		}
		time.Sleep(time.Second)
		if got := f.ask("SELECT x-source IDENTIFIED " + auth); len(got.Columns) != 0 {
			t.Errorf("after its end the token of AUTH is good: %+v", got)
		}
	})
}

func TestTokensOfOneKindAreNotOfAnother(t *testing.T) {
	f := newFixture(t)
	f.threeServers()
	proof := f.proof(stranger)
	f.query(stranger, "AUTH "+password+" X-TOKEN "+proof)
	auth := f.table("AUTH x").Rows[0][0]
	if auth == "" {
		t.Fatal("no token for the password")
	}
	f.query(stranger, "SELECT x-source,port X-TOKEN "+auth)
	if got := f.table("SELECT port"); got.Columns[0] != wire.TokenColumn {
		t.Errorf("a token of AUTH proves an address: %+v", got)
	}
	for name, tc := range map[string]struct {
		from  netip.AddrPort
		token string
		want  int
	}{
		"the token":               {stranger, auth, 2},
		"the proof of an address": {stranger, proof, 1},
		"from another address":    {trustedClient, auth, 1},
	} {
		f.query(tc.from, "SELECT x-source,port IDENTIFIED "+tc.token+" X-TOKEN "+proof)
		if got := f.table("SELECT port"); len(got.Columns) != tc.want {
			t.Errorf("IDENTIFIED with %s: %q, want %d columns", name, got.Columns, tc.want)
		}
	}
}

func TestPasswordsCannotBeTriedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		for i := range authBurst {
			if got := f.ask(fmt.Sprintf("AUTH guess%d", i)); got.Rows[0][0] != "" {
				t.Errorf("guess %d: %+v", i, got)
			}
		}
		f.query(trustedClient, "AUTH "+password)
		if f.dropped != dropLimited || len(f.sent) != 0 {
			t.Errorf("after %d guesses: dropped %q, %d packets; want %q", authBurst, f.dropped, len(f.sent), dropLimited)
		}
		time.Sleep(time.Second)
		if got := f.ask("AUTH " + password); got.Rows[0][0] == "" {
			t.Error("a second later the password is refused")
		}
	})
}

func TestBudgetOfAnAddressAndOfItsNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.many(2000)
		f.config.BytesPerAddr, f.config.BytesPerNet = 32<<10, 48<<10
		f.server.Reload(&f.config)
		// spend asks until the budget is gone and returns how much was sent.
		spend := func(from netip.AddrPort) (total int) {
			query := "SELECT hostip,hostname X-TOKEN " + f.proof(from)
			for range 1000 {
				f.query(from, query)
				if f.dropped == dropNoBudget {
					if in := wire.HeaderLen + len(query); f.bytesSent() > in || !strings.Contains(string(f.answer()), "busy") {
						t.Errorf("over budget %d bytes are sent for %d: %q", f.bytesSent(), in, f.answer())
					}
					return total
				}
				total += f.bytesSent()
			}
			t.Fatal("the budget has no end")
			return 0
		}
		const answer = wire.MaxWritten + wire.MaxPackets*wire.HeaderLen
		first := spend(stranger)
		if most := budgetBurst * 32 << 10; first > most || first < most-4*answer {
			t.Errorf("an address is sent %d bytes at once, want about %d", first, most)
		}
		second := spend(netip.MustParseAddrPort("198.51.100.8:1"))
		if most := budgetBurst * 48 << 10; first+second > most+answer || second == 0 {
			t.Errorf("its network is sent %d bytes at once, want about %d", first+second, most)
		}
		if other := spend(netip.MustParseAddrPort("198.51.101.8:1")); other < first {
			t.Errorf("another network is sent %d bytes, want %d", other, first)
		}
		time.Sleep(2 * time.Second)
		if later := spend(stranger); later == 0 || later > 2*32<<10 {
			t.Errorf("two seconds later %d bytes are sent, want some and at most %d", later, 2*32<<10)
		}
		for range 100 {
			f.ask("SELECT hostip,hostname") // trusted networks have no budget
		}
	})
}

func TestSearchesWithoutResultCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a budget grows with the time
		f := newFixture(t)
		f.many(2000)
		query := "SELECT hostip WHERE hostname = unknown"
		token := " X-TOKEN " + f.proof(stranger)
		n := 0
		for ; n < 1000; n++ {
			if f.query(stranger, query+token); f.dropped == dropNoBudget {
				break
			}
		}
		if n < 10 || n == 1000 {
			t.Errorf("%d searches, want an end of them", n)
		}
		read := f.server.latest.Last()
		f.threeServers() // the list has to be read again
		if f.query(stranger, query+token); f.dropped != dropNoBudget || f.server.latest.Last() != read {
			t.Errorf("dropped %q, want %q before the list is read", f.dropped, dropNoBudget)
		}
	})
}

func TestNonQuestionsAreDropped(t *testing.T) {
	f := newFixture(t)
	f.threeServers()
	header := string(wire.Header{ID: testID, Count: 1}.AppendTo(nil))
	for name, tc := range map[string]struct {
		from    string
		data    string
		dropped drop
		answers int
	}{
		"nothing":           {"", "", dropMalformed, 0},
		"half a header":     {"", "\x5d", dropMalformed, 0},
		"a wrong header":    {"", "\x5d\x01PING", dropMalformed, 0},
		"no text":           {"", header, dropMalformed, 0},
		"blanks":            {"", header + "  \x00", dropMalformed, 0},
		"the null row":      {"", header + "\n\x00", dropMalformed, 0},
		"a pong":            {"", header + "j\x00\n", dropMalformed, 0},
		"one of several":    {"", "\x5d\x10SELECT hostip", notDropped, 0},
		"too long":          {"", header + "SELECT hostip" + strings.Repeat(" ", wire.MaxQuery), dropOversized, 0},
		"64 KiB":            {"", header + "SELECT " + strings.Repeat("x", 64<<10), dropOversized, 0},
		"the longest":       {"", header + "SELECT hostip" + strings.Repeat(" ", wire.MaxQuery-len("SELECT hostip")), notDropped, 1},
		"IPv6":              {"[2001:db8::1]:4000", header + "PING", dropForeign, 0},
		"port 0":            {"198.51.100.7:0", header + "PING", dropForeign, 0},
		"banned":            {"203.0.113.66:4000", header + "PING", dropBanned, 0},
		"a mistake":         {"", header + "SELECT hostip WHERE WHERE WHERE", dropMalformed, 1},
		"a short mistake":   {"", header + "DROP", dropMalformed, 0},
		"an unclosed quote": {"", header + `SELECT hostip WHERE map = "`, dropMalformed, 1},
	} {
		from := stranger
		if tc.from != "" {
			from = netip.MustParseAddrPort(tc.from)
		}
		f.packet(from, []byte(tc.data))
		if f.dropped != tc.dropped || len(f.sent) != tc.answers || f.bytesSent() > len(tc.data) {
			t.Errorf("%s: dropped %q, %d packets of %d bytes for %d; want %q, %d", name, f.dropped, len(f.sent), f.bytesSent(), len(tc.data), tc.dropped, tc.answers)
		}
	}
}

// Two servers that are made to talk to each other, with the address of one
// forged at the other, must not continue.
func TestAnswersAreNotAnswered(t *testing.T) {
	f := newFixture(t)
	f.many(500)
	for _, query := range []string{
		"SELECT hostip,hostname", "SELECT nowhere", "CL LONG", "VERSION", "AUTH x", "PING", "DROP TABLE x", "SP nowhere", "SELECT port WHERE port = x",
	} {
		for _, from := range []netip.AddrPort{trustedClient, stranger} {
			f.query(from, query+strings.Repeat(" ", 40))
			for _, p := range f.sent {
				for _, back := range []netip.AddrPort{trustedClient, stranger} {
					if f.packet(back, p); len(f.sent) != 0 {
						t.Fatalf("the answer %q to %s is answered with %q", p, query, f.sent)
					}
				}
			}
		}
	}
}

func TestDropNames(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range reasons {
		if name == "" || seen[name] {
			t.Errorf("name %q is empty or comes twice", name)
		}
		seen[name] = true
	}
}
