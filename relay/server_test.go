package relay

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/service"
)

func TestPairExchangesPackets(t *testing.T) {
	var log bytes.Buffer
	// Below the ports that systems choose from: no other test gets one once it is closed.
	o, reg := defaults(func(o *Options) { o.Ports, o.Log = "21000-21999", zerolog.New(&log) })
	s, stop := serve(t, o)
	at, err := s.Open("gmtest", neighbours)
	if err != nil {
		t.Fatal(err)
	}
	a, b := dial(t, at[0]), dial(t, at[1])
	a.send("too early") // b has not come
	for !s.Pairs()[0].Client.Come {
		time.Sleep(time.Millisecond)
	}
	b.send("hello")
	a.expect("hello")
	a.send("welcome")
	b.expect("welcome")
	stranger := dial(t, at[0]) // from a's address, on another port
	stranger.send("let me in")
	for value(t, reg, "respawnd_dropped_total", dropOtherPort) == 0 {
		time.Sleep(time.Millisecond)
	}
	a.send(strings.Repeat("x", 1400))
	b.expect(strings.Repeat("x", 1400))

	list := s.Pairs()
	if len(list) != 1 || list[0].Game != "gmtest" || !list[0].Client.Come || list[0].Client.Port != at[0].Port() ||
		list[0].Client.Packets != 2 || list[0].Client.Bytes != 1407 || list[0].Host.Bytes != 5 || list[0].Last.IsZero() {
		t.Errorf("state %+v", list)
	}
	if got := value(t, reg, "respawnd_relay_pairs"); got != 1 {
		t.Errorf("%v pairs in the metrics, want 1", got)
	}
	stop()
	if got := value(t, reg, "respawnd_dropped_total", dropOtherPort); got != 1 {
		t.Errorf("%v packets of another port dropped, want 1", got)
	}
	if got := value(t, reg, "respawnd_relay_ended_total", "stopped"); got != 1 || len(s.Pairs()) != 0 {
		t.Errorf("%v pairs ended by the stop, %d left; want 1 and none", got, len(s.Pairs()))
	}
	if got := log.String(); strings.Count(got, "relayed pair ended") != 1 || !strings.Contains(got, `"bytes":1412`) {
		t.Errorf("log %s, want one line about the end with 1412 bytes", got)
	}
	if c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(at[0])); err != nil {
		t.Errorf("port %v is still open: %v", at[0], err)
	} else {
		_ = c.Close()
	}
}

func TestSwitchedOffWhileRelaying(t *testing.T) {
	o, reg := defaults(nil)
	s, _ := serve(t, o)
	if _, err := s.Open("", neighbours); err != nil {
		t.Fatal(err)
	}
	off := o.Config
	off.Enabled = false
	s.Reload(&off)
	if s.On("") || len(s.Pairs()) != 0 || s.words().String() != "" {
		t.Errorf("on %v with %d pairs and address %q after it was switched off", s.On(""), len(s.Pairs()), s.words())
	}
	if got := value(t, reg, "respawnd_relay_ended_total", "off"); got != 1 {
		t.Errorf("%v pairs ended by that, want 1", got)
	}
	s.Reload(&o.Config)
	if _, err := s.Open("", neighbours); err != nil {
		t.Errorf("after it was switched on again: %v", err)
	}
}

func TestRefusedPairs(t *testing.T) {
	pair := func(a, b string) [2]service.RelayPlayer { return [2]service.RelayPlayer{player(a), player(b)} }
	catalogue, err := games.NewCatalog([]games.Game{{Name: "chess"}, {Name: "marked", Policy: games.Policy{NoRelay: games.On}}})
	if err != nil {
		t.Fatal(err)
	}
	public := func(o *Options) {
		o.Given = func(netip.Addr, netip.Addr) netip.Addr { return netip.MustParseAddr("198.51.100.1") }
	}
	unknown := [2]service.RelayPlayer{{Seen: []netip.Addr{local}, Proved: true}, player("127.0.0.1")}
	for name, tc := range map[string]struct {
		change func(*Options)
		game   string
		before [][2]service.RelayPlayer // opened before, all without an error
		pair   [2]service.RelayPlayer
		want   error // nil: opened
		label  string
	}{
		"two in all":            {func(o *Options) { o.MaxPairs = 2 }, "", [][2]service.RelayPlayer{neighbours}, neighbours, nil, ""},
		"three in all":          {func(o *Options) { o.MaxPairs = 2 }, "", [][2]service.RelayPlayer{neighbours, neighbours}, neighbours, errFull, "max_pairs"},
		"address, last one":     {func(o *Options) { public(o); o.MaxPerAddr = 2 }, "", [][2]service.RelayPlayer{pair("192.0.2.1", "203.0.113.1")}, pair("203.0.113.9", "192.0.2.1"), nil, ""},
		"address, one more":     {func(o *Options) { public(o); o.MaxPerAddr = 1 }, "", [][2]service.RelayPlayer{pair("192.0.2.1", "203.0.113.1")}, pair("203.0.113.9", "192.0.2.1"), errPerAddr, "max_per_addr"},
		"network, last one":     {func(o *Options) { public(o); o.MaxPerNet = 2 }, "", [][2]service.RelayPlayer{pair("192.0.2.1", "203.0.113.1")}, pair("198.51.100.9", "192.0.2.2"), nil, ""},
		"network, one more":     {func(o *Options) { public(o); o.MaxPerNet = 1 }, "", [][2]service.RelayPlayer{pair("192.0.2.1", "203.0.113.1")}, pair("198.51.100.9", "192.0.2.2"), errPerNet, "max_per_net"},
		"trusted":               {func(o *Options) { o.MaxPerAddr, o.MaxPerNet = 1, 1; o.Trusted = netip.Addr.IsLoopback }, "", [][2]service.RelayPlayer{neighbours}, neighbours, nil, ""},
		"banned":                {func(o *Options) { o.Banned = netip.Addr.IsLoopback }, "", nil, neighbours, errBanned, "banned"},
		"a second address too":  {func(o *Options) { o.Banned = func(a netip.Addr) bool { return a != local } }, "", nil, [2]service.RelayPlayer{player("127.0.0.1", "192.0.2.1"), player("127.0.0.1")}, errBanned, "banned"},
		"game":                  {func(o *Options) { o.Games = catalogue }, "chess", nil, neighbours, nil, ""},
		"game that is marked":   {func(o *Options) { o.Games = catalogue }, "marked", nil, neighbours, errOff, "off"},
		"off":                   {func(o *Options) { o.Enabled = false }, "", nil, neighbours, errOff, "off"},
		"own address not known": {nil, "", nil, unknown, errNoAddress, "no_address"},
		"own address found":     {func(o *Options) { o.Here = func(netip.Addr) netip.Addr { return local } }, "", nil, unknown, nil, ""},
		"own address private":   {nil, "", nil, pair("192.0.2.1", "203.0.113.1"), errNoAddress, "no_address"},
		"own loopback, LAN":     {nil, "", nil, pair("192.168.1.5", "192.168.1.6"), errNoAddress, "no_address"},
	} {
		t.Run(name, func(t *testing.T) {
			o, reg := defaults(tc.change)
			s, stop := serve(t, o)
			for _, b := range tc.before {
				if _, err := s.Open(tc.game, b); err != nil {
					t.Fatalf("before: %v", err)
				}
			}
			at, err := s.Open(tc.game, tc.pair)
			if !errors.Is(err, tc.want) || (tc.want == nil) != at[0].IsValid() {
				t.Errorf("Open = %v, %v, want %v", at, err, tc.want)
			}
			if tc.want != nil && value(t, reg, "respawnd_relay_refused_total", tc.label) != 1 {
				t.Errorf("the refusal is not counted as %s", tc.label)
			}
			if got := value(t, reg, "respawnd_relay_pairs"); int(got) != len(s.Pairs()) {
				t.Errorf("%v pairs in the metrics, want %d", got, len(s.Pairs()))
			}
			stop()
			if len(s.sources)+len(s.nets)+len(s.taken)+len(s.own)+len(s.pairs) != 0 {
				t.Errorf("left after the end: %v, %v, %v, %v", s.sources, s.nets, s.taken, s.pairs)
			}
		})
	}
}

// twoOfThree opens a pair of players on three ports, of which the first is in use. If
// another program takes the others meanwhile, it goes to the next three.
func twoOfThree(t *testing.T, log *bytes.Buffer) (s *Server, o Options, at [2]netip.AddrPort) {
	t.Helper()
	for low := uint16(20000); low < 21000; low += 3 {
		busy := take(low)
		if busy == nil {
			continue
		}
		t.Cleanup(func() { _ = busy.Close() })
		log.Reset()
		o, _ = defaults(func(o *Options) { o.Ports, o.Log = ports{low, low + 2}.String(), zerolog.New(log) })
		s, stop := serve(t, o)
		at, err := s.Open("", neighbours)
		if err == nil {
			return s, o, at
		}
		stop()
		for i := range uint16(2) {
			c := take(low + 1 + i)
			if c == nil {
				err = nil // it is in use
				break
			}
			_ = c.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("no three ports are free")
	return s, o, at
}

// take opens a port; nil: it is in use.
func take(port uint16) *net.UDPConn {
	c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(local, port)))
	if err != nil {
		return nil
	}
	return c
}

// Ports in use by other programs are passed over, and a pair for which there is only one
// is refused without a trace.
func TestPortsInUse(t *testing.T) {
	var log bytes.Buffer
	s, o, at := twoOfThree(t, &log)
	for _, a := range at {
		if p := parsePorts(o.Ports); a.Port() <= p.low || a.Port() > p.high {
			t.Errorf("port %d, want one of %s that is free", a.Port(), o.Ports)
		}
	}
	for range 3 {
		if _, err := s.Open("", neighbours); !errors.Is(err, errNoPort) {
			t.Errorf("Open without a free port = %v, want %v", err, errNoPort)
		}
	}
	if got := log.String(); strings.Count(got, "no port is free") != 1 || !strings.Contains(got, "relay.ports") {
		t.Errorf("log %s, want one line about the ports, with the key", got)
	}
	if len(s.taken) != 2 || len(s.own) != 2 || len(s.Pairs()) != 1 {
		t.Errorf("%v are taken, %v ours in %d pairs, want two in one", s.taken, s.own, len(s.Pairs()))
	}
}

func TestOpenBeforeServe(t *testing.T) {
	o, _ := defaults(nil)
	if _, err := newServer(t, o).Open("", neighbours); !errors.Is(err, errOff) {
		t.Errorf("Open = %v, want %v", err, errOff)
	}
}

// A port of one pair that sends to a port of another one, because the packets of a player
// were forged, is not passed on.
func TestPairsDoNotFeedEachOther(t *testing.T) {
	o, reg := defaults(nil)
	s, stop := serve(t, o)
	first, err := s.Open("", neighbours)
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Open("", neighbours)
	if err != nil {
		t.Fatal(err)
	}
	a, b := dial(t, second[0]), dial(t, second[1])
	a.send("I am here")
	for !s.Pairs()[1].Client.Come {
		time.Sleep(time.Millisecond)
	}
	c := dial(t, first[0]) // of the first pair, which takes the second one's port for a player
	at := c.LocalAddr().(*net.UDPAddr).AddrPort()
	for p := range s.pairs {
		if p.legs[0].at == first[0] {
			p.legs[0].player.Store(&at)
			p.legs[1].player.Store(&second[1])
		}
	}
	c.send("round and round")
	for value(t, reg, "respawnd_dropped_total", dropLoop)+value(t, reg, "respawnd_dropped_total", "forwarded") == 0 {
		time.Sleep(time.Millisecond)
	}
	b.send("I am here too")
	a.expect("I am here too")
	stop()
}

// A proved player is knocked at before it knows its port, and its first packet is reported.
func TestKnockAndFirstPacket(t *testing.T) {
	o, _ := defaults(nil)
	s, _ := serve(t, o)
	for name, tc := range map[string]struct {
		change func(*service.RelayPlayer)
		want   bool // a knock
	}{
		"proved":      {func(*service.RelayPlayer) {}, true},
		"not proved":  {func(p *service.RelayPlayer) { p.Proved = false }, false},
		"nothing":     {func(p *service.RelayPlayer) { p.Knock = nil }, false},
		"more":        {func(p *service.RelayPlayer) { p.Knock = make([]byte, maxKnock+1) }, false},
		"the longest": {func(p *service.RelayPlayer) { p.Knock = make([]byte, maxKnock) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := dial(t, netip.AddrPort{}), dial(t, netip.AddrPort{})
			came := make(chan netip.AddrPort, 2)
			players := neighbours
			p := &players[0]
			p.At, p.Knock, p.Came = a.LocalAddr().(*net.UDPAddr).AddrPort(), []byte("knock"), func(at netip.AddrPort) { came <- at }
			tc.change(p)
			at, err := s.Open("", players)
			if err != nil {
				t.Fatal(err)
			}
			a.to, b.to = at[0], at[1]
			if tc.want {
				a.expect(string(p.Knock))
			}
			a.send("I am here")
			if got := <-came; got != a.LocalAddr().(*net.UDPAddr).AddrPort() {
				t.Errorf("the first packet came from %v, reported is %v", a.LocalAddr(), got)
			}
			b.send("hello")
			a.expect("hello") // and nothing before it
			a.send("again")
			b.expect("again")
			if len(came) != 0 {
				t.Errorf("%v was reported too", <-came)
			}
		})
	}
}

func TestFirst(t *testing.T) {
	o, _ := defaults(nil)
	s := newServer(t, o)
	if got := s.First(); got != service.FirstUnknown {
		t.Errorf("First by default is %q, want %q", got, service.FirstUnknown)
	}
	o.First = "always"
	s.Reload(&o.Config)
	if got := s.First(); got != service.FirstAlways {
		t.Errorf("First after a reload is %q, want %q", got, service.FirstAlways)
	}
}
