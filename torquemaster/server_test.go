package torquemaster

import (
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

// infoOf returns the answer of a server to a question.
func infoOf(question []byte, i info) []byte {
	return appendInfo(appendHead(nil, infoResponse, question[2:headSize]), i)
}

var inn = info{gameType: "Base", mission: "CTF", places: 16, players: 2, version: 1400, flags: dedicated | linux}

// register sends a heartbeat, and answers the question.
func (w *world) register(at netip.AddrPort, i info, edit func(question []byte)) string {
	w.t.Helper()
	dropped, out := w.send(at, appendKey(nil, heartbeat, 0))
	if dropped != "" || len(out) != 1 || out[0].to != at || len(out[0].data) != headSize || kind(out[0].data[0]) != infoRequest {
		w.t.Fatalf("dropped for %q, sent %v; want one question", dropped, out)
	}
	if edit != nil {
		edit(out[0].data)
	}
	dropped, _ = w.send(at, infoOf(out[0].data, i))
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

// Requests of quakestat, which reads these answers.
const (
	asksList  = "06800b0c0d0eff03616e7903616e7900ffffffffff0000000000ff000000"
	asksTypes = "020001020304"

	rest = "ffffffffff0000000000ff000000" // of a request
)

func TestServersAreListedAfterTheirAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		if got := w.ask(asksList); got != "08000b0c0d0e00010000" {
			t.Errorf("the empty list: %s", got)
		}
		if dropped := w.register(one, inn, func(q []byte) { q[2] ^= 1 }); dropped != "wrong_response" {
			t.Errorf("another key: %q", dropped)
		}
		for at, i := range map[netip.AddrPort]info{one: inn, two: {gameType: "Construct", mission: "CTF", places: 8}} {
			if dropped := w.register(at, i, nil); dropped != "" {
				t.Fatal(dropped)
			}
		}
		const first, second = "c0000201606d", "c0000202616d"
		for request, want := range map[string]string{
			asksList:  "08000b0c0d0e00010200" + first + second, // the one with players first
			asksTypes: "040001020304" + "0303616e790442617365" + "09436f6e737472756374" + "0203616e7903435446",
			"06000b0c0d0eff" + "0442415345" + "00" + "00" + rest: "08000b0c0d0e00010100" + first,
			"06000b0c0d0eff" + "0162" + "00" + "00" + rest:       "08000b0c0d0e00010000",
			"06000b0c0d0eff" + "00" + "00" + "01" + rest:         "08000b0c0d0e00010100" + first, // a player at least
			"06000b0c0d0e00" + "00" + "00" + "00" + rest:         "08000b0c0d0e00010200" + first + second,
			"06000b0c0d0e01" + "00" + "00" + "00" + rest:         "", // there is no second packet
			"06000b0c0d0eff" + "0961":                            "malformed",
			asksList[:len(asksList)-2]:                           "malformed",
		} {
			if got := w.ask(request); got != want {
				t.Errorf("%s: %s, want %s", request, got, want)
			}
		}
		srv, ok := w.opt.Registry.Get(w.KeyOf(one))
		if !ok || srv.Game != game || srv.Origin != Origin {
			t.Fatalf("record %+v", srv)
		}
		for rule, want := range map[string]string{
			"numplayers": "2", "maxplayers": "16", "gametype": "Base", "missiontype": "CTF", "gamever": "1400", "dedicated": "1", "password": "0", "linux": "1",
		} {
			if got, _ := srv.Rules.Get(rule); got != want {
				t.Errorf("%s is %q, want %q", rule, got, want)
			}
		}
	})
}

// A list of several packets, of which lost ones are requested again.
func TestLongLists(t *testing.T) {
	var all []netip.AddrPort
	for i := range 2*perPacket + 1 {
		all = append(all, netip.AddrPortFrom(one.Addr(), uint16(1024+i)))
	}
	packets := appendList(nil, all, false)
	var got []netip.AddrPort
	for i, p := range packets {
		list, index, total, ok := parseList(p)
		if !ok || index != i || total != 3 || len(p) > maxPacket {
			t.Errorf("packet %d: index %d of %d, %d bytes, %v", i, index, total, len(p), ok)
		}
		got = append(got, list...)
	}
	if !slices.Equal(got, all) {
		t.Errorf("%d servers, want %d", len(got), len(all))
	}
	if got := appendList(nil, slices.Repeat(all, 200), false); len(got) != maxList {
		t.Errorf("%d packets, want %d", len(got), maxList)
	}
}

// Tribes 2 has two bytes for the speed of the processor, Torque four; both may name players.
func TestInfoForms(t *testing.T) {
	for text, players := range map[string]int{
		"0161" + "0162" + "10" + "ffffffff" + "78050000" + "01" + "00" + "e803" + "02":                               2,
		"0161" + "0162" + "10" + "ffffffff" + "78050000" + "01" + "00" + "e8030000" + "02":                           2,
		"0161" + "0162" + "10" + "ffffffff" + "78050000" + "01" + "00" + "e803" + "02" + "00000001" + "00000002":     2,
		"0161" + "0162" + "10" + "ffffffff" + "78050000" + "01" + "00" + "e8030000" + "02" + "00000001" + "00000002": 2,
	} {
		b, _ := hex.DecodeString(text)
		if i, err := parseInfo(b); err != nil || i.players != players || i.version != 1400 {
			t.Errorf("%s: %+v, %v", text, i, err)
		}
	}
}

func TestDropped(t *testing.T) {
	w := newWorld(t, func(o *options) {
		o.Banned = func(a netip.Addr) bool { return a == two.Addr() }
		o.ListBurst = 1
	})
	request, _ := hex.DecodeString(asksList)
	for _, test := range []struct {
		from netip.AddrPort
		data []byte
		want string
	}{
		{one, nil, "foreign"},
		{one, appendKey(nil, heartbeat, 0)[:5], "foreign"},
		{one, appendKey(nil, infoRequest, 7), "foreign"},
		{one, infoOf(make([]byte, headSize), inn), "unexpected"},
		{one, make([]byte, maxPacket+1), "oversized"},
		{two, request, "banned"},
	} {
		if got, out := w.send(test.from, test.data); got != test.want || len(out) > 0 {
			t.Errorf("%.40q: dropped for %q, want %q", test.data, got, test.want)
		}
	}
	w.ask(asksList)
	for _, request := range []string{asksList, asksTypes} {
		if got := w.ask(request); got != "no_budget" {
			t.Errorf("a second request: %q", got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(infoOf(make([]byte, headSize), inn)[headSize:])
	f.Add(appendWanted(nil, wanted{gameType: anyType}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if i, err := parseInfo(b); err == nil {
			if names, values := i.rules(); len(names) != len(values) {
				t.Errorf("%q, %q", names, values)
			}
		}
		if w, err := parseWanted(b); err != nil && w != (wanted{}) {
			t.Errorf("%+v, %v", w, err)
		}
	})
}

// TestFloodFromForgedAddresses lets an attacker send everything that clients send.
func TestFloodFromForgedAddresses(t *testing.T) {
	racetest.Skip(t, "sends many packets")
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		for i := range 300 {
			w.register(netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), uint16(28000+i)), inn, nil)
		}
		begin := time.Now()
		request, _ := hex.DecodeString(asksList)
		types, _ := hex.DecodeString(asksTypes)
		a := &nettest.Attack{
			Handler: w.server, To: home, Count: 20_000, Memory: 64 << 20,
			Packets: [][]byte{appendKey(nil, heartbeat, 0), request, types, infoOf(make([]byte, headSize), inn)},
			Reply: func(_ netip.AddrPort, b []byte) [][]byte {
				if kind(b[0]) != infoRequest {
					return nil
				}
				return [][]byte{infoOf(b, inn)}
			},
			Honest: func(a netip.Addr) bool { return w.opt.Registry.HasAt(a) },
			Exceptions: []nettest.Exception{{
				Name: "lists", Is: func(b []byte) bool { return kind(b[0]) == listResponse || kind(b[0]) == typesResponse },
				More: func(nettest.Account) (packets, size int) {
					lists := w.opt.ListBurst + int(time.Since(begin)/w.opt.ListWindow) + 1
					return 2 * lists, 2 * lists * maxPacket // 300 servers in two packets
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
	w := newWorld(b, func(o *options) { o.Verdicts = nil; o.UnprovedRate, o.UnprovedBurst = 1000000, 1000000 })
	p := netserve.Packet{Data: appendKey(nil, heartbeat, 0), From: one, To: home}
	b.ReportAllocs()
	for b.Loop() {
		w.ServePacket(nettest.Discard{}, p)
	}
}
