package odamaster

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
	one   = netip.MustParseAddrPort("192.0.2.1:10666")
	two   = netip.MustParseAddrPort("192.0.2.2:10667")
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

// info is that of a recorded server, but for the key.
const info = "d4d6540001020304%KEY%486f73740000084d415030310001444f4f4d32000103000000"

// infoOf returns an info with a key.
func infoOf(key []byte) []byte {
	b, _ := hex.DecodeString(strings.Replace(info, "%KEY%", hex.EncodeToString(key), 1))
	return b
}

// register sends a heartbeat from another port, and answers the question.
func (w *world) register(at netip.AddrPort, edit func(key []byte)) string {
	w.t.Helper()
	dropped, out := w.send(netip.AddrPortFrom(at.Addr(), 50000), appendHeartbeat(nil, at.Port()))
	if dropped != "" || len(out) != 1 || out[0].to != at || len(out[0].data) != 8 || binary.LittleEndian.Uint32(out[0].data) != masterWord {
		w.t.Fatalf("dropped for %q, sent %v; want one question", dropped, out)
	}
	key := out[0].data[wordSize:]
	if edit != nil {
		edit(key)
	}
	dropped, _ = w.send(at, infoOf(key))
	return dropped
}

// list returns the packet of a list, in hex, or why there is none.
func (w *world) list() string {
	w.t.Helper()
	dropped, out := w.send(asker, appendRequest(nil))
	if len(out) != 1 {
		return dropped
	}
	return hex.EncodeToString(out[0].data)
}

// The packets are those of the exchange with the original master.
func TestServersAreListedAfterTheirAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		if got := hex.EncodeToString(appendHeartbeat(nil, 10666)); got != "d4d65400aa29" {
			t.Errorf("heartbeat %s", got)
		}
		if got := w.list(); got != "a3db0b000000" {
			t.Errorf("the empty list: %s", got)
		}
		if dropped := w.register(one, func(key []byte) { key[0] ^= 1 }); dropped != "wrong_response" {
			t.Errorf("another key: %q", dropped)
		}
		if dropped := w.register(one, nil); dropped != "" {
			t.Fatal(dropped)
		}
		if got := w.list(); got != "a3db0b000100c0000201aa29" {
			t.Errorf("the list: %s", got)
		}
		srv, ok := w.opt.Registry.Get(w.KeyOf(one))
		if !ok || srv.Game != game || srv.Origin != Origin {
			t.Fatalf("record %+v", srv)
		}
		for rule, want := range map[string]string{"hostname": "Host", "numplayers": "0", "maxplayers": "8", "mapname": "MAP01", "gametype": "deathmatch", "wads": "DOOM2"} {
			if got, _ := srv.Rules.Get(rule); got != want {
				t.Errorf("%s is %q, want %q", rule, got, want)
			}
		}
		// An old server leaves out its port.
		if _, out := w.send(two, appendHeartbeat(nil, 0)[:wordSize]); len(out) != 1 || out[0].to != two {
			t.Errorf("an old heartbeat: sent %v", out)
		}
	})
}

func TestDropped(t *testing.T) {
	w := newWorld(t, func(o *options) {
		o.Banned = func(a netip.Addr) bool { return a == two.Addr() }
		o.ListBurst = 1
	})
	for _, test := range []struct {
		from netip.AddrPort
		data []byte
		want string
	}{
		{one, nil, "foreign"},
		{one, []byte("\xff\xff\xff\xffheartbeat"), "foreign"},
		{one, appendQuestion(nil, 7), "foreign"},
		{one, appendHeartbeat(nil, 1)[:5], "foreign"},
		{one, infoOf(make([]byte, keySize)), "unexpected"},
		{one, make([]byte, maxPacket+1), "oversized"},
		{two, appendRequest(nil), "banned"},
	} {
		if got, out := w.send(test.from, test.data); got != test.want || len(out) > 0 {
			t.Errorf("%.40q: dropped for %q, want %q", test.data, got, test.want)
		}
	}
	w.list()
	if got := w.list(); got != "no_budget" {
		t.Errorf("a second list: %q", got)
	}
}

func FuzzRules(f *testing.F) {
	f.Add(infoOf(make([]byte, keySize))[infoHead:])
	f.Fuzz(func(t *testing.T, info []byte) {
		if names, values, err := rules(info); len(names) != len(values) || err == nil && len(names) == 0 {
			t.Errorf("%q, %q, %v", names, values, err)
		}
	})
}

// TestFloodFromForgedAddresses lets an attacker send everything that clients send.
func TestFloodFromForgedAddresses(t *testing.T) {
	racetest.Skip(t, "sends many packets")
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		for i := range 300 {
			w.register(netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), uint16(10666+i)), nil)
		}
		begin := time.Now()
		a := &nettest.Attack{
			Handler: w.server, To: home, Count: 20_000, Memory: 64 << 20,
			Packets: [][]byte{appendHeartbeat(nil, 10666), appendHeartbeat(nil, 0)[:wordSize], appendRequest(nil), infoOf(make([]byte, keySize))},
			Reply: func(_ netip.AddrPort, b []byte) [][]byte {
				if len(b) != wordSize+keySize {
					return nil
				}
				return [][]byte{infoOf(b[wordSize:])}
			},
			Honest: func(a netip.Addr) bool { return w.opt.Registry.HasAt(a) },
			Exceptions: []nettest.Exception{{
				Name: "lists", Is: func(b []byte) bool { _, ok := parseList(b); return ok },
				More: func(nettest.Account) (packets, size int) {
					lists := w.opt.ListBurst + int(time.Since(begin)/w.opt.ListWindow) + 1
					return lists, lists * maxPacket
				},
			}, {
				Name: "questions", Is: func(b []byte) bool { return len(b) == wordSize+keySize },
				More: func(in nettest.Account) (packets, size int) { return 0, 4 * in.PacketsIn },
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
	p := netserve.Packet{Data: appendHeartbeat(nil, one.Port()), From: one, To: home}
	b.ReportAllocs()
	for b.Loop() {
		w.ServePacket(nettest.Discard{}, p)
	}
}
