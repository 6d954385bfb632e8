package qr2

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/unproved"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// sampleStatus is a recorded answer without its proof.
const sampleStatus = `\gamename\gmtest\gamever\2.00\location\1\hostname\GameMaster Arena Server\hostport\25000\mapname\gmtmap1` +
	`\gametype\arena\numplayers\1\maxplayers\32\gamemode\openplaying\timelimit\40\fraglimit\0\teamplay\1\rankedserver\1` +
	`\player_0\Joe Player\frags_0\25\deaths_0\6\skill_0\272\ping_0\119\team_0\`

// textServer is a game server of the text protocol.
type textServer struct {
	in     *intake
	addr   netip.AddrPort // where it answers queries
	source netip.AddrPort // where its heartbeats come from
	game   string
	secret string
	status string // its answer to a status query, without the proof
	query  int    // number of its last answer

	noStatus bool // it answers \secure\ and leaves out the status
	noProof  bool // it never answers \secure\ with \status\
	noEcho   bool
}

func (in *intake) textServer(addr string) *textServer {
	a := netip.MustParseAddrPort(addr)
	return &textServer{in: in, addr: a, source: a, game: "gmtest", secret: secret, status: sampleStatus}
}

func (h *textServer) key() master.Key { return master.Key{Source: h.addr} }

func (h *textServer) heartbeat(more string) []byte {
	return fmt.Appendf(nil, `\heartbeat\%d\gamename\%s%s`, h.addr.Port(), h.game, more)
}

// say hands a packet to the service as if it came from an address.
func (h *textServer) say(from netip.AddrPort, packet []byte) uplink.Drop {
	return h.in.handle(h.in.w, netserve.Packet{Data: packet, From: from, To: masterAddr})
}

// beat sends a heartbeat.
func (h *textServer) beat(more string) uplink.Drop { return h.say(h.source, h.heartbeat(more)) }

// reply returns the answer to a query of ours.
func (h *textServer) reply(q []byte) []byte {
	var b []byte
	s := gamespy.ScanFields(q)
	for s.Next() {
		switch string(s.Key()) {
		case "status":
			if !h.noStatus || len(q) == len(askStatus) {
				b = append(b, h.status...)
			}
		case "secure":
			if !h.noProof || len(q) < 20 {
				b = append(append(b, `\validate\`...), gamespy.Response(h.secret, string(s.Value()))...)
			}
		case "echo":
			if !h.noEcho {
				b = append(append(b, `\echo\`...), s.Value()...)
			}
		}
	}
	h.query++
	return fmt.Appendf(b, `\final\\queryid\%d.1`, h.query)
}

// serve answers the queries to an address and returns their number.
func (h *textServer) serve(at netip.AddrPort) (queries int) {
	for _, p := range h.in.w.Take() {
		if p.to == at {
			queries++
			h.say(at, h.reply(p.data))
		}
	}
	return queries
}

// register goes through a whole registration.
func (h *textServer) register() *master.Server {
	h.in.t.Helper()
	if dropped := h.beat(""); dropped != uplink.NotDropped {
		h.in.t.Fatalf("heartbeat of %v: dropped: %s", h.addr, dropped)
	}
	h.serve(h.addr)
	srv, ok := h.in.list.Get(h.key())
	if !ok {
		h.in.t.Fatalf("%v is not listed after its answer", h.addr)
	}
	return srv
}

func (h *textServer) listed() bool {
	_, ok := h.in.list.Get(h.key())
	return ok
}

func (h *textServer) rule(name string) string {
	srv, ok := h.in.list.Get(h.key())
	if !ok {
		return "not listed"
	}
	v, _ := srv.Rules.Get(name)
	return v
}

// pass lets time go by while the server answers.
func (h *textServer) pass(d time.Duration) (queries int) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		h.in.pass(time.Second)
		queries += h.serve(h.addr)
	}
	return queries
}

func TestTextRegistration(t *testing.T) {
	in := newIntake(t, func(o *Options) {
		o.Locate = func(netip.Addr) (string, string) { return "DE", "2" }
	})
	h := in.textServer("192.0.2.1:26900")
	if dropped := h.beat(""); dropped != uplink.NotDropped {
		t.Fatalf("heartbeat: dropped: %s", dropped)
	}
	if h.listed() {
		t.Fatal("listed on a heartbeat alone")
	}
	out := in.w.Take()
	if len(out) != 1 || out[0].to != h.addr || out[0].from != masterAddr || !bytes.HasPrefix(out[0].data, []byte(`\status\\secure\`)) {
		t.Fatalf("a heartbeat was answered with %+v, want one query", out)
	}
	if n := len(out[0].data); n != textQuerySize {
		t.Errorf("the query has %d bytes, want %d", n, textQuerySize)
	}
	if dropped := h.say(h.addr, h.reply(out[0].data)); dropped != uplink.NotDropped {
		t.Fatalf("answer: dropped: %s", dropped)
	}
	srv, ok := in.list.Get(h.key())
	if !ok {
		t.Fatal("not listed after its proof")
	}
	if srv.Origin != OldOrigin || srv.Public != h.addr || srv.Via != masterAddr || srv.Lifetime != textLifetime || srv.Country != "DE" {
		t.Errorf("record: %+v", srv)
	}
	if v, _ := srv.Rules.Get("hostname"); v != "GameMaster Arena Server" || srv.Rules.Len() != 14 {
		t.Errorf("rules: hostname %q and %d in all, want 14", v, srv.Rules.Len())
	}
	for _, private := range []string{"validate", "queryid", "final"} {
		if _, ok := srv.Rules.Get(private); ok {
			t.Errorf("%s is listed as a rule", private)
		}
	}
	if srv.Players.Rows() != 1 || srv.Players.Columns() != 6 || srv.Players.Names().Name(0) != "player_" || srv.Players.Value(0, 0) != "Joe Player" {
		t.Errorf("players: %+v", srv.Players)
	}
	if got := in.verdict(h.addr); got != "listed" {
		t.Errorf("verdict: got %q, want listed", got)
	}
}

func TestEverySpellingOfAHeartbeatIsTaken(t *testing.T) {
	for name, packet := range map[string]string{
		"plain":              `\heartbeat\26900\gamename\gmtest`,
		"with NUL":           "\\heartbeat\\26900\\gamename\\gmtest\x00",
		"change":             `\heartbeat\26900\gamename\gmtest\statechanged\1`,
		"change, no value":   `\heartbeat\26900\gamename\gmtest\statechanged\`,
		"change, cut":        `\heartbeat\26900\gamename\gmtest\statechanged`,
		"last of a stranger": `\heartbeat\26900\gamename\gmtest\statechanged\2`,
		"upper case":         `\HEARTBEAT\26900\GameName\GMTEST`,
		"other order":        `\heartbeat\26900\mapname\x\gamename\gmtest`,
		"final":              `\heartbeat\26900\gamename\gmtest\final\`,
		"no port":            `\heartbeat\\gamename\gmtest`,
		"port 0":             `\heartbeat\0\gamename\gmtest`,
		"port of no number":  `\heartbeat\abc\gamename\gmtest`,
		"port too large":     `\heartbeat\65536\gamename\gmtest`,
	} {
		t.Run(name, func(t *testing.T) {
			in := newIntake(t, nil)
			h := in.textServer("192.0.2.1:26900")
			if dropped := h.say(h.addr, []byte(packet)); dropped != uplink.NotDropped {
				t.Fatalf("dropped: %s", dropped)
			}
			h.serve(h.addr)
			if !h.listed() {
				t.Error("not listed")
			}
		})
	}
}

func TestTextHeartbeatsThatAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		packet  string
		dropped uplink.Drop
		verdict string
		change  func(*Options)
	}{
		"no game":      {`\heartbeat\26900`, uplink.Malformed, "malformed heartbeat", nil},
		"empty game":   {`\heartbeat\26900\gamename\`, uplink.Malformed, "malformed heartbeat", nil},
		"unknown game": {`\heartbeat\26900\gamename\unknown`, uplink.UnknownGame, "unknown game", nil},
		"no secret":    {`\heartbeat\26900\gamename\nosecret`, uplink.NoSecret, "game without secret key", nil},
		"banned": {`\heartbeat\26900\gamename\gmtest`, uplink.Banned, "banned", func(o *Options) {
			o.Banned = func(netip.Addr) bool { return true }
		}},
		"too many fields": {`\heartbeat\26900\gamename\gmtest` + strings.Repeat(`\a\`, master.MaxNames+1), uplink.Malformed, "malformed heartbeat", nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := newIntake(t, tc.change)
			h := in.textServer("192.0.2.1:26900")
			if got := h.say(h.addr, []byte(tc.packet)); got != tc.dropped {
				t.Errorf("dropped: %q, want %q", got, tc.dropped)
			}
			if got := in.verdict(h.addr); got != tc.verdict {
				t.Errorf("verdict: %q, want %q", got, tc.verdict)
			}
			if out := in.w.Take(); len(out) != 0 {
				t.Errorf("answered with %+v", out)
			}
		})
	}
}

func TestFurtherKeysOfFirstHeartbeat(t *testing.T) {
	in := newIntake(t, nil)
	h := in.textServer("192.0.2.1:26900")
	h.beat(`\gametype\second\clan\Wolves\statechanged\1`)
	h.serve(h.addr)
	if got := h.rule("clan"); got != "Wolves" {
		t.Errorf("clan = %q, want Wolves", got)
	}
	if got := h.rule("gametype"); got != "arena" {
		t.Errorf("gametype = %q, want that of the answer", got)
	}
	if got := h.rule(stateName); got != "" {
		t.Errorf("%s is listed as %q", stateName, got)
	}
}

func TestTextHostsUnjoinableAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h := in.textServer("192.0.2.1:26900")
		h.status = strings.Replace(h.status, `\numplayers\1`, `\numplayers\1\localip0\0.0.0.0\localip1\10.0.0.5`, 1)
		h.register()
		if first, second := h.rule("localip0"), h.rule("localip1"); first != "" || second != "10.0.0.5" {
			t.Errorf("private addresses %q and %q, want none and 10.0.0.5", first, second)
		}
	})
}

func TestEveryKnownKeyOfAGameProves(t *testing.T) {
	for _, key := range []string{"oldkey", longSecret} {
		in := newIntake(t, nil)
		h := in.textServer("192.0.2.1:26900")
		h.game, h.secret = "other", key
		h.register()
	}
}

func TestHostWithAnotherQueryPort(t *testing.T) {
	for name, at := range map[string]string{"query port answers": "192.0.2.1:26900", "heartbeat port answers": "192.0.2.1:5000"} {
		t.Run(name, func(t *testing.T) {
			in := newIntake(t, nil)
			h := in.textServer("192.0.2.1:26900")
			h.source = netip.MustParseAddrPort("192.0.2.1:5000")
			h.beat("")
			out := in.w.Take()
			var to []string
			for _, p := range out {
				to = append(to, p.to.String())
			}
			if diff := cmp.Diff([]string{"192.0.2.1:26900", "192.0.2.1:5000"}, to); diff != "" {
				t.Fatalf("asked at (-want +got):\n%s", diff)
			}
			if dropped := h.say(netip.MustParseAddrPort(at), h.reply(out[0].data)); dropped != uplink.NotDropped {
				t.Fatalf("answer: dropped: %s", dropped)
			}
			if srv, ok := in.list.Get(h.key()); !ok || srv.Public != h.addr {
				t.Errorf("listed %v, want it under its query port", srv)
			}
		})
	}
}

func TestProofThatComesApartFromTheStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, change := range map[string]func(*textServer){
			"only one of two questions": func(h *textServer) { h.noStatus = true },
			"no proof with the status":  func(h *textServer) { h.noProof = true },
		} {
			in := newIntake(t, nil)
			h := in.textServer("192.0.2.1:26900")
			change(h)
			h.beat("")
			h.serve(h.addr) // status or proof
			h.serve(h.addr) // the proof alone
			if !h.listed() {
				t.Fatalf("%s: not listed", name)
			}
			h.serve(h.addr) // the status
			if got := h.rule("mapname"); got != "gmtmap1" {
				t.Errorf("%s: mapname = %q after the status", name, got)
			}
			h.status = strings.Replace(h.status, "gmtmap1", "gmtmap2", 1)
			h.pass(pollMost + time.Second)
			if got := h.rule("mapname"); got != "gmtmap2" {
				t.Errorf("%s: mapname = %q after the next poll", name, got)
			}
		}
	})
}

func TestProofByEcho(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*textServer)
		trust  bool
		listed bool
	}{
		"echo":                      {nil, false, true},
		"no echo":                   {func(h *textServer) { h.noEcho = true }, false, false},
		"no echo, trusted network":  {func(h *textServer) { h.noEcho = true }, true, true},
		"guessed echo":              {func(h *textServer) { h.noEcho, h.status = true, h.status+`\echo\AAAAAAAA` }, false, false},
		"guessed echo, trusted":     {func(h *textServer) { h.noEcho, h.status = true, h.status+`\echo\AAAAAAAA` }, true, false},
		"proof of a secret instead": {func(h *textServer) { h.noEcho, h.status = true, h.status+`\validate\AAAAAAAA` }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := newIntake(t, func(o *Options) { o.Trusted = func(netip.Addr) bool { return tc.trust } })
			h := in.textServer("192.0.2.1:26900")
			h.game = "silent"
			if tc.change != nil {
				tc.change(h)
			}
			h.beat("")
			h.serve(h.addr)
			if h.listed() != tc.listed {
				t.Errorf("listed: %v, want %v", h.listed(), tc.listed)
			}
		})
	}
}

func TestEchoInAPacketOfItsOwnProves(t *testing.T) {
	in := newIntake(t, nil)
	h := in.textServer("192.0.2.1:26900")
	h.game = "silent"
	h.beat("")
	q := in.w.Take()[0].data
	token := q[bytes.LastIndexByte(q, '\\')+1:]
	if dropped := h.say(h.addr, append([]byte(`\echo\`), token...)); dropped != uplink.NotDropped || !h.listed() {
		t.Fatalf("echo: dropped %q, listed %v", dropped, h.listed())
	}
	h.noEcho = true
	if h.serve(h.addr); h.rule("mapname") != "gmtmap1" {
		t.Errorf("mapname = %q after the status", h.rule("mapname"))
	}
}

func TestWrongProofIsNotListed(t *testing.T) {
	in := newIntake(t, nil)
	h := in.textServer("192.0.2.1:26900")
	h.secret = "wrong1"
	for range 5 {
		h.beat("")
		h.serve(h.addr)
	}
	if h.listed() {
		t.Error("listed after wrong proofs")
	}
	if got := in.verdict(h.addr); got != "wrong response" {
		t.Errorf("verdict: %q", got)
	}
}

func TestAnswerFromAnotherAddressIsIgnored(t *testing.T) {
	in := newIntake(t, nil)
	h := in.textServer("192.0.2.1:26900")
	h.beat("")
	right := h.reply(in.w.Take()[0].data)
	for _, from := range []string{"192.0.2.2:26900", "192.0.2.1:26901"} {
		if got := h.say(netip.MustParseAddrPort(from), right); got != uplink.Unexpected || h.listed() {
			t.Errorf("answer from %s: dropped %q, listed %v", from, got, h.listed())
		}
	}
}

func TestHostThatNeverAnswersIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h := in.textServer("192.0.2.1:26900")
		h.beat("")
		in.pass(textPendingLife + time.Second)
		if n := len(in.text.table.hosts) + in.text.table.pending.Len() + len(in.text.table.queue) + len(in.text.table.waits); n != 0 {
			t.Errorf("%d things remembered of it", n)
		}
		if got := in.verdict(h.addr); got != "no answer" {
			t.Errorf("verdict: %q", got)
		}
	})
}

func TestEchoIsSentBackByteForByteAndSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		from := netip.MustParseAddrPort("192.0.2.1:4000")
		packet := []byte(`\echo\hello\more\x`)
		answered := 0
		for range 20 {
			in.handle(in.w, netserve.Packet{Data: packet, From: from, To: masterAddr})
			for _, p := range in.w.Take() {
				if answered++; !bytes.Equal(p.data, packet) || p.to != from || p.from != masterAddr {
					t.Errorf("answered with %q to %v", p.data, p.to)
				}
			}
		}
		if answered != echoBurst {
			t.Errorf("%d of 20 echoes answered, want %d", answered, echoBurst)
		}
	})
}

// TestEchoingAddressIsNotListed is about a port that echoes every packet, our own
// included: the echo of a challenge would prove the address.
func TestEchoingAddressIsNotListed(t *testing.T) {
	for _, game := range []string{"silent", "gmtest"} {
		in := newIntake(t, func(o *Options) { o.Trusted = func(netip.Addr) bool { return true } })
		h := in.textServer("192.0.2.1:7")
		h.game = game
		h.beat("")
		for range 10 { // an echo may be answered a few times, and not for ever
			for _, p := range in.w.Take() {
				h.say(p.to, p.data)
			}
		}
		if h.listed() || len(in.w.Take()) != 0 {
			t.Errorf("%s: listed %v, or it is asked without end", game, h.listed())
		}
	}
}

func TestOwnAddressIsNotAsked(t *testing.T) {
	own := netip.MustParseAddrPort("192.0.2.1:27900")
	in := newIntake(t, func(o *Options) { o.Own = func(a netip.AddrPort) bool { return a == own } })
	h := in.textServer(own.String())
	for _, source := range []string{"192.0.2.1:27900", "192.0.2.1:4000"} {
		h.source = netip.MustParseAddrPort(source)
		if got := h.beat(""); got != uplink.Foreign || len(in.w.Take()) != 0 {
			t.Errorf("heartbeat from %s: dropped %q, want %q and nothing asked", source, got, uplink.Foreign)
		}
	}
}

// TestQueriesToTheMasterAreNotAnswered keeps it from being used to reach others:
// it has no status to tell.
func TestQueriesToTheMasterAreNotAnswered(t *testing.T) {
	for _, packet := range []string{`\status\`, `\basic\\info\`, `\secure\ABCDEF`, `\status\\secure\ABCDEF`, `\status\\echo\hello`, `\rules\\echo\hello`, `\`, `\\`} {
		in := newIntake(t, nil)
		h := in.textServer("192.0.2.1:26900")
		if got := h.say(h.addr, []byte(packet)); got == uplink.NotDropped {
			t.Errorf("%s: not counted as dropped", packet)
		}
		// Nor does it take them for the answer of a host that it asked.
		h.register()
		h.say(h.addr, []byte(packet))
		if out := in.w.Take(); len(out) != 0 || h.rule("hostname") != "GameMaster Arena Server" {
			t.Errorf("%s: answered with %+v, hostname %q", packet, out, h.rule("hostname"))
		}
	}
}

func TestTextHostsAreBounded(t *testing.T) {
	in := newIntake(t, func(o *Options) { o.MaxPending = 10 })
	for i := range 100 {
		h := in.textServer("192.0.2.1:26900")
		h.addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 26900)
		h.source = h.addr
		h.beat("")
	}
	tb := &in.text.table
	if len(tb.hosts) != 10 || tb.pending.Len() != 10 || len(tb.queue) != 10 || len(tb.waits) != 10 {
		t.Errorf("%d hosts, %d pending, %d queued, %d asked; want 10 of each",
			len(tb.hosts), tb.pending.Len(), len(tb.queue), len(tb.waits))
	}
}

func TestForgedTextHeartbeats(t *testing.T) {
	in := newIntake(t, func(o *Options) {
		o.MaxPending = 500
		o.UnprovedRate = 20
	})
	forge := func(from, to int) {
		for i := from; i < to; i++ {
			h := in.textServer(fmt.Sprintf("192.0.2.1:%d", 1000+i))
			h.source = h.addr
			h.beat("")
		}
	}
	forge(0, 2000)
	h := in.textServer("192.0.2.1:26900")
	if dropped := h.beat(""); dropped != uplink.NotDropped {
		t.Fatalf("heartbeat behind 2,000 forged ones: dropped: %s", dropped)
	}
	forge(2000, 2000+unproved.AddrShare-1) // while its answer is on the way
	if h.serve(h.addr); !h.listed() {
		t.Errorf("not listed after its proof; verdict %q", in.verdict(h.addr))
	}
}

func TestForgedGamesAgainstNewTextServer(t *testing.T) {
	tests := map[string]func(*textServer){
		"one answer":  func(*textServer) {},
		"proof apart": func(h *textServer) { h.noProof = true },
		"echo": func(h *textServer) {
			h.game, h.noProof, h.status = "silent", true, strings.Replace(h.status, "gmtest", "silent", 1)
			h.say(h.source, AppendTextHeartbeat(nil, h.addr.Port(), "other"))
			h.serve(h.addr) // it is asked for its proof alone
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			in := newIntake(t, nil)
			h := in.textServer("192.0.2.1:26900")
			change(h)
			forge := func() { // under its address, while its answer is on the way
				for _, game := range []string{"gone", "other", "silent", "other"} {
					h.say(h.source, AppendTextHeartbeat(nil, h.addr.Port(), game, Rule{"motd", "forged"}))
				}
			}
			h.beat("")
			for range 3 {
				queries := in.w.Take()
				forge()
				for _, q := range queries {
					h.say(h.addr, h.reply(q.data))
				}
			}
			srv, ok := in.list.Get(h.key())
			if !ok || srv.Game != h.game {
				t.Fatalf("listed: %+v; verdict %q", srv, in.verdict(h.addr))
			}
			if got := h.rule("motd"); got == "forged" {
				t.Errorf("motd = %q, want that of no other game's heartbeat", got)
			}
		})
	}
}

func TestForgedProofsAgainstNewTextServer(t *testing.T) {
	in := newIntake(t, nil)
	h := in.textServer("192.0.2.1:26900")
	h.beat("")
	for range 100 { // while its answer is on the way
		h.say(h.addr, []byte(`\validate\AAAAAAAA\final\\queryid\1.1`))
	}
	if h.serve(h.addr); !h.listed() {
		t.Errorf("not listed after its proof; verdict %q", in.verdict(h.addr))
	}
}

func TestEndlessPacketsOfAnAnswerAreBounded(t *testing.T) {
	in := newIntake(t, nil)
	h := in.textServer("192.0.2.1:26900")
	h.beat("")
	big := strings.Repeat("x", 1300)
	for i := range 1000 {
		h.say(h.addr, fmt.Appendf(nil, `\k%d\%s\queryid\1.%d`, i, big, i+1))
	}
	tb := &in.text.table
	if host := tb.hosts[h.addr]; host.answer.Size() > 32<<10 || tb.held != host.answer.Size() {
		t.Errorf("%d bytes held, %d counted", host.answer.Size(), tb.held)
	}
	tb.held = maxHeld
	if got := h.say(h.addr, []byte(`\a\b\queryid\2.1`)); got != uplink.NoBudget {
		t.Errorf("with all memory in use: dropped %q", got)
	}
}

func TestTextServerIsAskedFromASecondSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h := in.textServer("192.0.2.1:26900")
		h.register()
		h.pass(askGap + time.Second)
		out := in.probe.Take()
		if len(out) != 1 || out[0].to != h.addr || string(out[0].data) != `\basic\` {
			t.Fatalf("from the second socket: %+v", out)
		}
		handler := probeHandler{s: in.Server}
		handler.ServePacket(in.probe, netserve.Packet{Data: []byte(`\gamename\gmtest\final\\queryid\1.1`), From: netip.MustParseAddrPort("192.0.2.9:1"), To: masterAddr})
		if srv, _ := in.list.Get(h.key()); srv.Findings.Reached != master.ReachedUnknown {
			t.Error("reachable after the answer of another")
		}
		handler.ServePacket(in.probe, netserve.Packet{Data: []byte(`\gamename\gmtest\final\\queryid\1.1`), From: h.addr, To: masterAddr})
		if srv, _ := in.list.Get(h.key()); srv.Findings.Reached != master.ReachedPerhaps {
			t.Error("not reachable after its answer")
		}
		// It is silent later.
		h.pass(probeAgain + 5*pollMost)
		if srv, _ := in.list.Get(h.key()); srv.Findings.Reached != master.ReachedNo {
			t.Error("still reachable after its silence")
		}
		if got := in.verdict(h.addr); got != verdicts.Unreachable.String() {
			t.Errorf("verdict: %q", got)
		}
	})
}

func TestTextServerProbedFromOtherAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		other := in.viewpoint()
		h := in.textServer("192.0.2.1:26900")
		h.register()
		reached := func() master.Reached { srv, _ := in.list.Get(h.key()); return srv.Findings.Reached }
		answer := netserve.Packet{Data: []byte(`\gamename\gmtest\final\\queryid\1.1`), From: h.addr}
		for len(other.Take()) == 0 {
			h.pass(time.Second)
		}
		if in.probeReply(answer, masterAddr) || reached() != master.ReachedUnknown {
			t.Errorf("an answer to the address that it talks to: reached %v", reached())
		}
		if !in.probeReply(answer, netip.Addr{}) || in.probeReply(answer, netip.Addr{}) || reached() != master.ReachedPerhaps {
			t.Errorf("after an answer to the near socket: reached %v, want perhaps", reached())
		}
		if !in.probeReply(answer, in.vantages[1].at) || in.probeReply(answer, in.vantages[1].at) || reached() != master.ReachedDirect {
			t.Errorf("after an answer to the far socket: reached %v, want direct", reached())
		}
		// Next time it answers the near one alone.
		for len(other.Take()) == 0 {
			h.pass(time.Second)
		}
		if !in.probeReply(answer, netip.Addr{}) || reached() != master.ReachedDirect {
			t.Errorf("before the far socket was waited for: reached %v, want direct", reached())
		}
		h.pass(probeAgain + pollMost)
		if reached() != master.ReachedPerhaps {
			t.Errorf("after an answer to the near socket alone: reached %v, want perhaps", reached())
		}
	})
}

func TestTextBudgetIsPerAddress(t *testing.T) {
	in := newIntake(t, nil)
	sent := 0
	for i := range 50 {
		h := in.textServer(fmt.Sprintf("192.0.2.1:%d", 1000+i))
		h.source = netip.MustParseAddrPort("192.0.2.1:999")
		b := h.heartbeat("")
		sent += len(b)
		h.say(h.source, b)
	}
	got := 0
	for _, p := range in.w.Take() {
		got += len(p.data)
	}
	if got > sent+textQuerySize {
		t.Errorf("%d bytes sent to an address that sent %d", got, sent)
	}
}

func TestAppendTextHeartbeatIsRead(t *testing.T) {
	b := AppendTextHeartbeat(nil, 7778, "gmtest", Rule{`a\b`, "c\x00\\d"})
	h, err := readTextHeartbeat(b)
	if err != nil || h.port != 7778 || string(h.game) != "gmtest" || h.extra != 1 {
		t.Errorf("readTextHeartbeat(%q) = %+v, %v", b, h, err)
	}
	if got := furtherFields(b); len(got) != 2 || got[1].Name != "a.b" || got[1].Value != "c..d" {
		t.Errorf("furtherFields(%q) = %+v", b, got)
	}
}

func TestTokensDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		a := newToken()
		if len(a) != tokenLength || seen[a] || strings.Trim(a, letters) != "" {
			t.Fatalf("token %q", a)
		}
		seen[a] = true
	}
}

// netPanzer's servers leave the first backslash of an answer out.
func TestAnswerWithoutItsFirstBackslashIsRead(t *testing.T) {
	in := newIntake(t, nil)
	h := in.textServer("192.0.2.1:26900")
	if dropped := h.beat(""); dropped != uplink.NotDropped {
		t.Fatalf("heartbeat: dropped: %s", dropped)
	}
	if dropped := h.say(h.addr, h.reply(in.w.Take()[0].data)[1:]); dropped != uplink.NotDropped {
		t.Fatalf("answer: dropped: %s", dropped)
	}
	if got := h.rule("gamename"); got != "gmtest" {
		t.Errorf("gamename = %q, want gmtest", got)
	}
	if dropped := h.say(netip.MustParseAddrPort("192.0.2.2:26900"), []byte(`gamename\gmtest\final\`)); dropped != uplink.Unexpected {
		t.Errorf("text of a stranger: dropped %q, want %q", dropped, uplink.Unexpected)
	}
}
