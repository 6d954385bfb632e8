package tribesmaster

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

var (
	home  = netip.MustParseAddr("198.51.100.1")
	one   = netip.MustParseAddrPort("192.0.2.1:28000")
	two   = netip.MustParseAddrPort("192.0.2.2:28001")
	asker = netip.MustParseAddrPort("203.0.113.9:4000")
)

type sent struct {
	data []byte
	to   netip.AddrPort
}

type wire struct{ nettest.Recorder[sent] }

func (w *wire) WritePacket(data []byte, _ netip.Addr, to netip.AddrPort) error {
	w.Keep(sent{slices.Clone(data), to})
	return nil
}

// world is a server without sockets.
type world struct {
	*server
	t testing.TB
	w *wire
}

func newWorld(t testing.TB, change func(*options)) *world {
	t.Helper()
	catalogue, err := games.NewCatalog([]games.Game{{Name: game, Facts: games.Facts{Needs: []games.Service{name}}}})
	if err != nil {
		t.Fatal(err)
	}
	opt := options{
		Registration: part.Registration{
			Listing: part.Listing{Registry: master.NewRegistry(master.Limits{Servers: 1 << 16, PerAddr: 1 << 16, PerNet: 1 << 16}), Games: catalogue},
			Peers:   part.Peers{Verdicts: verdicts.NewLog(zerolog.Nop(), 0)},
		},
	}
	configs.Defaults(&opt.Config)
	if change != nil {
		change(&opt)
	}
	return &world{newServer(opt), t, &wire{}}
}

// send hands a packet to the master and returns why it was dropped, and what it sent.
func (w *world) send(from netip.AddrPort, data []byte) (string, []sent) {
	p := netserve.Packet{Data: data, From: from, To: home}
	w.w.Take()
	dropped := w.Handle(w.w, p, time.Now())
	if dropped != uplink.NotDropped {
		w.Dropped(p, dropped)
	}
	return dropped.String(), w.w.Take()
}

// question hands a packet to the master, which answers with a question, and returns its key.
func (w *world) question(at netip.AddrPort, packet []byte) uint16 {
	w.t.Helper()
	dropped, out := w.send(at, packet)
	if dropped != "" || len(out) != 1 || out[0].to != at {
		w.t.Fatalf("dropped for %q, sent %v; want one question", dropped, out)
	}
	key, _ := keyIn(out[0].data)
	if string(out[0].data) != string(appendRequest(nil, newList, key)) {
		w.t.Fatalf("question %x", out[0].data)
	}
	return key
}

// register has a server answer all questions.
func (w *world) register(at netip.AddrPort) string {
	w.t.Helper()
	packet := appendHeartbeat(nil)
	for range questions {
		packet = appendAnswer(nil, w.question(at, packet))
	}
	dropped, out := w.send(at, packet)
	if len(out) > 0 {
		w.t.Errorf("one question more: %v", out)
	}
	return dropped
}

// ask returns the packets of an answer, in hex, or why there is none.
func (w *world) ask(request string) string {
	w.t.Helper()
	b, err := hex.DecodeString(request)
	if err != nil {
		w.t.Fatal(err)
	}
	dropped, out := w.send(asker, b)
	var all []string
	for _, o := range out {
		all = append(all, hex.EncodeToString(o.data))
	}
	return dropped + strings.Join(all, " ")
}

// asksList is the request of quakestat.
const asksList = "1003ff0002"

func TestServersAreListedAfterTheirAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		const head, texts = "10060101666600" + "66", "08" + "72657370" + "61776e64" + "00"
		if got := w.ask(asksList); got != head+texts+"0000" {
			t.Errorf("the empty list: %s", got)
		}
		for _, at := range []netip.AddrPort{one, two} {
			if dropped := w.register(at); dropped != "" {
				t.Fatal(dropped)
			}
		}
		const servers = "0002" + "06c0000201606d" + "06c0000202616d"
		for request, want := range map[string]string{
			asksList:       head + texts + servers,
			"1003ff000102": "100601010102" + "0066" + texts + servers,
			"100301000102": "100601010102" + "0066" + texts + servers,
			"100300000102": "", // packets are numbered from 1
			"100302000102": "",
			"1003ff00":     "malformed_request",
		} {
			if got := w.ask(request); got != want {
				t.Errorf("%s: %s, want %s", request, got, want)
			}
		}
		if srv, ok := w.opt.Registry.Get(w.KeyOf(one)); !ok || srv.Game != game || srv.Origin != Origin {
			t.Errorf("record %+v", srv)
		}
	})
}

// One key of two bytes is guessed soon: each server answers three, which differ, and a few wrong
// answers end the attempt.
func TestGuesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		keys := make(map[uint16]bool)
		for range 8 { // of 24 keys, two may be the same
			packet := appendHeartbeat(nil)
			for range questions {
				key := w.question(one, packet)
				keys[key], packet = true, appendAnswer(nil, key)
			}
			w.send(one, packet)
		}
		if len(keys) < 20 {
			t.Errorf("%d different keys", len(keys))
		}
		for right := range questions { // answers before the guesses
			packet := appendHeartbeat(nil)
			var key uint16
			for range right + 1 {
				key = w.question(two, packet)
				packet = appendAnswer(nil, key)
			}
			for i, want := range []string{"wrong_response", "wrong_response", "wrong_response", "unexpected"} {
				if got, out := w.send(two, appendAnswer(nil, key+1+uint16(i))); got != want || len(out) > 0 {
					t.Errorf("guess %d after %d answers: %q, want %q", i, right, got, want)
				}
			}
			if got, _ := w.send(two, packet); got != "unexpected" {
				t.Errorf("the right answer after the guesses: %q", got)
			}
			if w.Known(two) || w.question(two, appendHeartbeat(nil)) == key {
				t.Errorf("listed, or the key is still good")
			}
		}
	})
}

// The packets of quakestat's comments, of a master of the game's time, and of a test with quakestat.
func TestParseList(t *testing.T) {
	at := func(text string) netip.AddrPort { return netip.MustParseAddrPort(text) }
	for text, want := range map[string][]netip.AddrPort{
		"1006010208020066" + "0d547269626573204d6173746572" + "00" + "0002" + "06d1434764812c" + "06d1e28df3616d": {
			at("209.67.71.100:11393"), at("209.226.141.243:28001"),
		},
		"1006010266660066" + "0454657374" + "0548656c6c6f" + "0002" + "067f000001616d" + "067f000002616d": {at("127.0.0.1:28001"), at("127.0.0.2:28001")},
		"1006020266660066" + "0001" + "067f000003616d":                                                    {at("127.0.0.3:28001")},
	} {
		b, err := hex.DecodeString(text)
		if list, _, total, ok := parseList(b); err != nil || !ok || total != 2 || !slices.Equal(list, want) {
			t.Errorf("%s: %v, %d, %v, want %v", text, list, total, ok, want)
		}
		for n := range b {
			if _, _, _, ok := parseList(b[:n]); ok {
				t.Errorf("%d bytes of %s are a list", n, text)
			}
		}
	}
}

// A list of several packets, of which lost ones are requested again.
func TestLongLists(t *testing.T) {
	var all []netip.AddrPort
	for i := range atFirst + perPacket + 1 {
		all = append(all, netip.AddrPortFrom(one.Addr(), uint16(1024+i)))
	}
	for _, size := range []int{atFirst, atFirst + perPacket, len(all)} {
		packets := appendList(nil, all[:size], false)
		var got []netip.AddrPort
		for i, p := range packets {
			list, number, total, ok := parseList(p)
			if !ok || number != i+1 || total != len(packets) || len(p) > headSize+bodySize {
				t.Errorf("packet %d: number %d of %d, %d bytes, %v", i, number, total, len(p), ok)
			}
			got = append(got, list...)
		}
		if want := 1 + (size-atFirst+perPacket-1)/perPacket; !slices.Equal(got, all[:size]) || len(packets) != want {
			t.Errorf("%d servers in %d packets, want %d in %d", len(got), len(packets), size, want)
		}
	}
	if got := appendList(nil, slices.Repeat(all, 200), false); len(got) != maxList {
		t.Errorf("%d packets, want %d", len(got), maxList)
	}
	w := newWorld(t, nil)
	for i := range atFirst + 1 {
		w.register(netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), 28001))
	}
	if got, want := w.ask("100302000102"), "100602020102"+"0066"+"0001"+"06c0000241616d"; got != want {
		t.Errorf("the second packet: %s, want %s", got, want)
	}
}

func TestDropped(t *testing.T) {
	w := newWorld(t, func(o *options) {
		o.Banned = func(a netip.Addr) bool { return a == two.Addr() }
		o.ListBurst, o.UnprovedBurst = 1, 1
	})
	w.send(one, appendHeartbeat(nil)[:kindSize])
	for _, test := range []struct {
		from netip.AddrPort
		data []byte
		want string
	}{
		{one, nil, "foreign"},
		{one, []byte{first}, "foreign"},
		{one, []byte{first + 1, byte(heartbeat)}, "foreign"},
		{one, []byte{first, byte(response)}, "foreign"},
		{netip.MustParseAddrPort("[2001:db8::1]:28001"), appendHeartbeat(nil), "foreign"},
		{one, appendAnswer(nil, 7)[:5], "malformed"},
		{asker, appendAnswer(nil, 7), "unexpected"},
		{one, appendHeartbeat(nil)[:kindSize], "limited"}, // the question is longer
		{one, make([]byte, maxPacket+1), "oversized"},
		{two, appendHeartbeat(nil), "banned"},
	} {
		if got, out := w.send(test.from, test.data); got != test.want || len(out) > 0 {
			t.Errorf("%.40q: dropped for %q, want %q", test.data, got, test.want)
		}
	}
	w.ask(asksList)
	if got := w.ask(asksList); got != "no_budget" {
		t.Errorf("a second request: %q", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(appendList(nil, []netip.AddrPort{one, two}, false)[0])
	f.Add(appendAnswer(nil, 7))
	f.Fuzz(func(t *testing.T, b []byte) {
		if list, number, total, ok := parseList(b); ok && (len(list) > 255 || number > total) {
			t.Errorf("%d servers, packet %d of %d", len(list), number, total)
		}
		if key, ok := keyIn(b); ok && binary.LittleEndian.Uint16(b[keyAt:]) != key {
			t.Errorf("key %x of %x", key, b)
		}
	})
}

// TestFloodFromForgedAddresses lets an attacker send everything that clients send, and guess.
func TestFloodFromForgedAddresses(t *testing.T) {
	racetest.Skip(t, "sends many packets")
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		for i := range 300 {
			w.register(netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), uint16(28001+i)))
		}
		begin := time.Now()
		list, _ := hex.DecodeString(asksList)
		a := &nettest.Attack{
			Handler: w.server, To: home, Count: 20_000, Memory: 64 << 20,
			Packets: [][]byte{appendHeartbeat(nil), list, appendHeartbeat(nil)[:kindSize], appendAnswer(nil, 7), appendAnswer(nil, 8)},
			Reply: func(_ netip.AddrPort, b []byte) [][]byte {
				key, _ := keyIn(b)
				if kindOf(b) != request {
					return nil
				}
				return [][]byte{appendAnswer(nil, key)}
			},
			Honest: func(a netip.Addr) bool { return w.opt.Registry.HasAt(a) },
			Exceptions: []nettest.Exception{{
				Name: "lists", Is: func(b []byte) bool { return kindOf(b) == response },
				More: func(nettest.Account) (packets, size int) {
					lists := w.opt.ListBurst + int(time.Since(begin)/w.opt.ListWindow) + 1
					return 6 * lists, 6 * lists * (headSize + bodySize) // 300 servers in five packets
				},
			}, {
				Name: "questions to short heartbeats", Is: func(b []byte) bool { return kindOf(b) == request },
				More: func(nettest.Account) (packets, size int) {
					return 0, (keySize + keyAt - kindSize) * (w.opt.UnprovedBurst + int(time.Since(begin).Seconds()+1)*w.opt.UnprovedRate)
				},
			}},
		}
		a.Pass = func() { time.Sleep(50 * time.Millisecond); w.Expire(a, time.Now()) }
		t.Logf("amplification %+v", a.Run(t))
		for _, srv := range w.opt.Registry.All() {
			if at := srv.Public; at.Addr().As4()[0] != 192 && !a.Own(at.Addr()) {
				t.Errorf("%v is listed and proved nothing", at)
			}
		}
	})
}

func BenchmarkHeartbeat(b *testing.B) {
	w := newWorld(b, func(o *options) { o.Verdicts = nil })
	p := netserve.Packet{Data: appendHeartbeat(nil), From: one, To: home}
	b.ReportAllocs()
	for b.Loop() {
		w.ServePacket(nettest.Discard{}, p)
	}
}
