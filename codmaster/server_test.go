package codmaster

import (
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
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/q3master"
)

const header = "\xff\xff\xff\xff"

var (
	home  = netip.MustParseAddr("198.51.100.1")
	one   = netip.MustParseAddrPort("192.0.2.1:28960")
	two   = netip.MustParseAddrPort("192.0.2.2:28960")
	asker = netip.MustParseAddrPort("203.0.113.9:4000")
	cheat = netip.MustParseAddr("203.0.113.66")
)

type sent struct {
	data string
	to   netip.AddrPort
}

type wire struct{ nettest.Recorder[sent] }

func (w *wire) WritePacket(data []byte, _ netip.Addr, to netip.AddrPort) error {
	w.Keep(sent{string(data), to})
	return nil
}

// world is a Server without sockets.
type world struct {
	*q3master.Server
	t    testing.TB
	list *master.Registry
	book *verdicts.Log
	w    *wire
	c    Config
}

func newWorld(t testing.TB) *world {
	t.Helper()
	game := func(name, tag string, ports []uint16, protocols ...int) games.Game {
		return games.Game{Name: name, Facts: games.Facts{Needs: []games.Service{games.Service("codmaster")}, Quake3: []games.Quake3{{
			Name: tag, Tag: tag, Flatline: "flatline", Ports: ports, Protocols: protocols,
		}}}}
	}
	catalogue, err := games.NewCatalog([]games.Game{
		game("callofduty", "COD-1", []uint16{20500}, 1, 6), game("callofduty2", "COD-2", []uint16{20710, 20700}, 115, 118),
		game("callofduty4", "COD-4", []uint16{20810}, 1, 6),
		{Name: "quake3", Facts: games.Facts{Quake3: []games.Quake3{{Name: "Quake3Arena", Tag: "QuakeArena-1", Protocols: []int{68}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, w: &wire{}, list: master.NewRegistry(master.Limits{Servers: 1 << 16, PerAddr: 1 << 16, PerNet: 1 << 16}), book: verdicts.NewLog(zerolog.Nop(), 0)}
	configs.Defaults(&w.c)
	w.Server = New(q3master.Options{Config: w.c.options(), Registration: part.Registration{Listing: part.Listing{Registry: w.list, Games: catalogue}, Peers: part.Peers{Verdicts: w.book}}},
		func(a netip.Addr) bool { return a == cheat })
	return w
}

// send hands a packet to the master and returns its answer.
func (w *world) send(from netip.AddrPort, text string, port uint16) []sent {
	w.w.Take()
	w.At(port).ServePacket(w.w, netserve.Packet{Data: []byte(header + text), From: from, To: home})
	return w.w.Take()
}

// register sends a heartbeat and answers the question.
func (w *world) register(from netip.AddrPort, tag, protocol string) {
	w.t.Helper()
	out := w.send(from, "heartbeat "+tag+"\n", 0)
	if len(out) != 1 || !strings.HasPrefix(out[0].data, header+"getinfo ") {
		w.t.Fatalf("heartbeat of %s: %v", tag, out)
	}
	w.send(from, `infoResponse`+"\n"+`\challenge\`+strings.TrimPrefix(out[0].data, header+"getinfo ")+`\protocol\`+protocol+
		`\hostname\Inn\mapname\mp_carentan\sv_maxclients\20\gametype\dm\gamename\main`, 0)
}

// ask requests a list and returns its servers.
func (w *world) ask(request string, port uint16) (list []netip.AddrPort) {
	w.t.Helper()
	last := false
	for _, p := range w.send(asker, request, port) {
		_, rest, _ := quake3.Cut([]byte(p.data))
		var err error
		if list, last, err = quake3.ParseCodList(list, rest); err != nil {
			w.t.Fatal(err)
		}
	}
	if !last {
		w.t.Errorf("%s: no last packet", request)
	}
	return list
}

func TestServers(t *testing.T) {
	w := newWorld(t)
	w.register(one, "COD-2", "118")
	srv, ok := w.list.At(one)
	if !ok || srv.Game != "callofduty2" || srv.Origin != Origin || srv.QueryProtocol() != "quake3" {
		t.Fatalf("record %+v", srv)
	}
	w.register(two, "COD-4", "6")
	third := netip.MustParseAddrPort("192.0.2.3:28960")
	w.register(third, "COD-1", "6")
	for _, test := range []struct {
		request string
		port    uint16
		want    []netip.AddrPort
	}{
		{"getservers 118 full empty", 0, []netip.AddrPort{one}},
		{"getservers 118 full empty", 20710, []netip.AddrPort{one}},
		{"getservers 6 full empty", 0, []netip.AddrPort{third}},
		{"getservers 6 full empty", 20810, []netip.AddrPort{two}},
		{"getservers 6", 20810, nil},
		{"getservers 99 full empty", 0, nil},
	} {
		if got := w.ask(test.request, test.port); !slices.Equal(got, test.want) {
			t.Errorf("%s at port %d: %v, want %v", test.request, test.port, got, test.want)
		}
	}
	if out := w.send(netip.MustParseAddrPort("192.0.2.4:1"), "heartbeat QuakeArena-1\n", 0); len(out) > 0 {
		t.Errorf("a heartbeat of Quake III is answered: %v", out)
	}
	if out := w.send(asker, "getserversExt COD-2 118", 0); len(out) > 0 {
		t.Errorf("a request of Quake III's family is answered: %v", out)
	}
	if out := w.send(one, "heartbeat flatline\n", 0); len(out) != 1 {
		t.Errorf("a server that stops: %v", out)
	}
}

func TestPlayers(t *testing.T) {
	w := newWorld(t)
	for text, want := range map[string]string{
		"getIpAuthorize 12345 198.51.100.7 main 0":      "ipAuthorize 12345 accept KEY_IS_GOOD 0 0",
		"getIpAuthorize 12345 " + cheat.String() + " 0": "ipAuthorize 12345 deny CLIENT_UNKNOWN_TO_AUTH 0 0",
		"getIpAuthorize x 198.51.100.7 main 0":          "",
		"getKeyAuthorize 0 ABCDABCDABCDABCD PB 1234":    "",
		"getUpdateInfo2 x":                              "",
		"nonsense":                                      "",
	} {
		got := ""
		if out := w.send(asker, text, 20500); len(out) == 1 {
			got = strings.TrimPrefix(out[0].data, header)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if !slices.ContainsFunc(w.book.Of(asker.Addr()), func(e verdicts.Entry) bool {
		return e.Verdict == verdicts.NotUnderstood && strings.Contains(e.Detail, "nonsense") && !strings.Contains(e.Detail, "ABCD")
	}) {
		t.Errorf("no verdict shows an unknown message: %+v", w.book.Of(asker.Addr()))
	}
}

// TestFloodFromForgedAddresses lets an attacker send everything that clients send.
func TestFloodFromForgedAddresses(t *testing.T) {
	racetest.Skip(t, "sends many packets")
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for i := range 300 {
			w.register(netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), uint16(28960+i)), "COD-2", "118")
		}
		begin := time.Now()
		var packets [][]byte
		for _, text := range []string{
			"heartbeat COD-2\n", "heartbeat flatline\n", "getservers 118 full empty", "getIpAuthorize 12345 198.51.100.7 main 0", "getIpAuthorize 1 1.2.3.4",
			"getKeyAuthorize 0 KEY", "infoResponse\n\\challenge\\AAAAAAAAAAA\\protocol\\118\\sv_maxclients\\8",
		} {
			packets = append(packets, []byte(header+text))
		}
		is := func(word string) func([]byte) bool {
			return func(b []byte) bool { return strings.HasPrefix(string(b), header+word) }
		}
		a := &nettest.Attack{
			Handler: w.Server, To: home, Count: 20_000, Memory: 64 << 20, Packets: packets,
			Honest: func(a netip.Addr) bool { return w.list.HasAt(a) },
			Exceptions: []nettest.Exception{{
				Name: "lists", Is: is("getserversResponse"),
				More: func(nettest.Account) (packets, size int) {
					lists := w.c.ListBurst + int(time.Since(begin)/w.c.ListWindow) + 1
					return lists * 16, lists * 16 * 170
				},
			}, {
				Name: "players", Is: is("ipAuthorize"),
				More: func(in nettest.Account) (packets, size int) { return 0, 48 * in.PacketsIn },
			}, {
				Name: "questions", Is: is("getinfo"),
				More: func(in nettest.Account) (packets, size int) { return 0, 8 * in.PacketsIn },
			}},
		}
		a.Pass = func() { time.Sleep(50 * time.Millisecond); w.Expire(a, time.Now()) }
		t.Logf("amplification %+v", a.Run(t))
	})
}
