package lan

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/qr2"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/a2s"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

var hall = Network{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParseAddr("192.0.2.255")}

// wire records the packets that a finder sends.
type wire struct {
	nettest.Recorder[netserve.Packet] // From is the destination
}

func (w *wire) WritePacket(data []byte, _ netip.Addr, to netip.AddrPort) error {
	w.Keep(netserve.Packet{Data: slices.Clone(data), From: to})
	return nil
}

func catalogue(t *testing.T, ports ...uint16) *games.Catalog {
	t.Helper()
	list := []games.Game{{Name: "old", QueryPort: 7778}, {Name: "new", QueryPort: 5425, Facts: games.Facts{LANPorts: []uint16{6500}}}}
	for i, p := range ports {
		list = append(list, games.Game{Name: fmt.Sprintf("g%d", i), QueryPort: p})
	}
	c, err := games.NewCatalog(list)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newFinder(t *testing.T, change func(*Options)) *Finder {
	t.Helper()
	opt := Options{
		Listing: part.Listing{Registry: master.NewRegistry(master.Limits{}), Games: catalogue(t)}, Peers: part.Peers{Verdicts: verdicts.NewLog(zerolog.Nop(), 0)},
		Networks: func() ([]Network, error) { return []Network{hall}, nil }, Self: part.Self{Registerer: prometheus.NewRegistry()},
	}
	if change != nil {
		change(&opt)
	}
	return New(opt)
}

// say passes a packet to a finder.
func say(f *Finder, from string, packet []byte) string {
	_, dropped := f.take(netserve.Packet{Data: packet, From: netip.MustParseAddrPort(from)}, time.Now())
	return dropped
}

// binaryAnswer returns an answer to the binary question of the last round.
func binaryAnswer(f *Finder, fields ...string) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.keys[0]
	b := []byte{0, byte(k >> 24), byte(k >> 16), byte(k >> 8), byte(k)}
	return append(b, strings.Join(fields, "\x00")+"\x00\x00\x00\x00\x00\x00\x00\x00"...)
}

func TestRoundAsksEveryNetworkOnEveryPort(t *testing.T) {
	f := newFinder(t, nil)
	out := f.round(netip.IPv4Unspecified())
	var text, binary, challenge []string
	for _, q := range out {
		switch {
		case string(q.data) == `\status\`:
			text = append(text, q.to.String())
		case len(q.data) == 10 && string(q.data[:3]) == "\xFE\xFD\x00" && string(q.data[7:]) == "\xFF\xFF\xFF":
			binary = append(binary, q.to.String())
		case len(q.data) == 7 && string(q.data[:3]) == "\xFE\xFD\x09":
			challenge = append(challenge, q.to.String())
		default:
			t.Errorf("question %q", q.data)
		}
	}
	want := []string{
		"192.0.2.255:6500", "192.0.2.255:6501", "192.0.2.255:6502",
		"192.0.2.255:7778", "192.0.2.255:7779", "192.0.2.255:7780",
	}
	if !slices.Equal(text, want) || !slices.Equal(binary, want) || !slices.Equal(challenge, want) {
		t.Errorf("asked in text %q, binary %q and for challenges %q, want %q", text, binary, challenge, want)
	}
}

// Ports of many games are asked first; answers from all of them count.
func TestFinderPortsOfManyGames(t *testing.T) {
	f := newFinder(t, func(o *Options) { o.Games = catalogue(t, 9000, 9000, 9000, 7000) })
	text := func(q question) bool { return string(q.data) == `\status\` }
	out := f.round(netip.IPv4Unspecified())
	if i := slices.IndexFunc(out, text); i < 0 || out[i].to.Port() != 9000 {
		t.Errorf("the first question goes to %v, want port 9000", out[max(i, 0)].to)
	}
	for _, from := range []string{"192.0.2.11:9000", "192.0.2.12:7000", "192.0.2.13:6500", "192.0.2.14:7780"} {
		if got := say(f, from, binaryAnswer(f, "gamename", "new", "hostname", "x")); got != "" {
			t.Errorf("the answer from %s is dropped: %s", from, got)
		}
	}
}

func TestRoundsAreBounded(t *testing.T) {
	var ports []uint16
	for i := range 300 {
		ports = append(ports, uint16(10000+10*i))
	}
	f := newFinder(t, func(o *Options) {
		o.Games = catalogue(t, append(ports, 65535)...)
		o.Networks = func() ([]Network, error) { return slices.Repeat([]Network{hall}, 100), nil }
	})
	if n := len(f.round(netip.Addr{})); n != maxNetworks*maxPorts*3 {
		t.Errorf("%d questions, want %d", n, maxNetworks*maxPorts*3)
	}
	f = newFinder(t, func(o *Options) {
		o.Networks = func() ([]Network, error) { return nil, errors.New("no networks") }
	})
	if n := len(f.round(netip.Addr{})); n != 0 {
		t.Errorf("%d questions without networks", n)
	}
}

func TestFinderOnOneAddress(t *testing.T) {
	f := newFinder(t, nil)
	if n := len(f.round(netip.MustParseAddr("127.0.0.1"))); n != 0 {
		t.Errorf("%d questions from the loopback address", n)
	}
	if n := len(f.round(netip.MustParseAddr("192.0.2.77"))); n != 18 {
		t.Errorf("%d questions from an address of the network, want 18", n)
	}
}

func TestQuestionsAreSpacedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, w := newFinder(t, nil), &wire{}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { f.search(ctx, w, netip.IPv4Unspecified()); close(ended) }()
		time.Sleep(5*sendGap + sendGap/2)
		if n := len(w.Take()); n != 5 {
			t.Errorf("%d packets in 5 gaps", n)
		}
		time.Sleep(DefaultEvery - 6*sendGap)
		if n := len(w.Take()); n != 13 {
			t.Errorf("%d packets in the rest of the round, want 13", n)
		}
		time.Sleep(DefaultEvery)
		if n := len(w.Take()); n != 18 {
			t.Errorf("%d packets in the next round, want 18", n)
		}
		cancel()
		<-ended
	})
}

func TestServersThatAnswerAreListed(t *testing.T) {
	f := newFinder(t, nil)
	f.round(netip.Addr{})
	if got := say(f, "192.0.2.10:7779", []byte(`\gamename\old\hostname\Text\queryid\1.1`)); got != "" {
		t.Fatalf("first packet: %s", got)
	}
	if got := say(f, "192.0.2.10:7779", []byte(`\player_0\Ann\final\\queryid\1.2`)); got != "" {
		t.Fatalf("second packet: %s", got)
	}
	if got := say(f, "192.0.2.11:6500", binaryAnswer(f, "gamename", "NEW", "hostname", "Binary")); got != "" {
		t.Fatalf("binary: %s", got)
	}
	for a, want := range map[string]struct{ game, hostname string }{"192.0.2.10:7779": {"old", "Text"}, "192.0.2.11:6500": {"new", "Binary"}} {
		srv, ok := f.opt.Registry.Find(netip.MustParseAddrPort(a))
		if !ok {
			t.Errorf("%s is not listed", a)
			continue
		}
		if got, _ := srv.Rules.Get("hostname"); got != want.hostname || srv.Game != want.game || srv.Origin != master.Found || srv.Findings.Reached != master.ReachedDirect || srv.Lifetime != 105*time.Second {
			t.Errorf("%s: %+v", a, srv)
		}
	}
	serial := f.opt.Registry.Serial("new")
	say(f, "192.0.2.11:6500", binaryAnswer(f, "gamename", "NEW", "hostname", "Binary"))
	if f.opt.Registry.Serial("new") != serial {
		t.Error("the same answer changed the list")
	}
	say(f, "192.0.2.11:6500", binaryAnswer(f, "gamename", "NEW", "hostname", "Changed"))
	srv, _ := f.opt.Registry.Find(netip.MustParseAddrPort("192.0.2.11:6500"))
	if got, _ := srv.Rules.Get("hostname"); got != "Changed" {
		t.Errorf("hostname %q after a change", got)
	}
}

func TestFoundServerExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFinder(t, nil)
		f.round(netip.Addr{})
		say(f, "192.0.2.10:7778", []byte(`\gamename\old\final\`))
		go func() { _ = f.opt.Registry.Run(t.Context(), func(*master.Server) {}) }()
		time.Sleep(rounds * DefaultEvery)
		if f.opt.Registry.Len() != 1 {
			t.Error("left too early")
		}
		time.Sleep(DefaultEvery)
		if f.opt.Registry.Len() != 0 {
			t.Error("still listed")
		}
	})
}

func TestReportingServerKeepsItsRecord(t *testing.T) {
	for _, origin := range []*master.Origin{qr2.OldOrigin, qr2.Origin} {
		f := newFinder(t, nil)
		f.round(netip.Addr{})
		at := netip.MustParseAddrPort("192.0.2.10:7778")
		put := func() {
			if err := f.opt.Registry.Put(master.Server{Key: master.Key{Source: at}, Public: at, Game: "old", Origin: origin, Seen: time.Now()}); err != nil {
				t.Fatal(err)
			}
		}
		say(f, at.String(), []byte(`\gamename\old\final\`))
		put()
		say(f, at.String(), []byte(`\gamename\old\hostname\x\final\`))
		if srv, _ := f.opt.Registry.Find(at); srv.Origin != origin || f.opt.Registry.Len() != 1 {
			t.Errorf("record of %v became %+v", origin, srv)
		}
	}
}

// A hidden server that reports by itself keeps its origin, and one that is found
// several times is listed once.
func TestHiddenServerIsFoundAgain(t *testing.T) {
	at := netip.MustParseAddrPort("192.0.2.10:7778")
	f := newFinder(t, nil)
	f.round(netip.Addr{})
	f.opt.Registry.Hide(at)
	own := master.Server{Key: master.Key{Source: at}, Public: at, Game: "old", Origin: qr2.OldOrigin, Seen: time.Now()}
	if err := f.opt.Registry.Put(own); err != nil {
		t.Fatal(err)
	}
	say(f, at.String(), []byte(`\gamename\old\hostname\x\final\`))
	if srv, _ := f.opt.Registry.At(at); srv.Origin != qr2.OldOrigin {
		t.Errorf("a hidden server that reports by itself became %v", srv.Origin)
	}
	f.opt.Registry.Remove(own.Key)
	for range 3 {
		say(f, at.String(), []byte(`\gamename\old\hostname\x\final\`))
	}
	listed := 0
	for _, e := range f.opt.Verdicts.Of(at.Addr()) {
		if e.Verdict == verdicts.Listed {
			listed += e.Times
		}
	}
	if listed != 1 {
		t.Errorf("found three times, listed %d times, want once", listed)
	}
}

func TestRestoredServerIsConfirmed(t *testing.T) {
	f := newFinder(t, nil)
	f.round(netip.Addr{})
	at := netip.MustParseAddrPort("192.0.2.10:7778")
	_ = f.opt.Registry.Put(master.Server{
		Key: master.Key{Source: at, Instance: instance}, Public: at, Game: "old", Origin: master.Found, Restored: true, Seen: time.Now(),
	})
	say(f, at.String(), []byte(`\gamename\old\final\`))
	if srv, _ := f.opt.Registry.Find(at); srv.Restored {
		t.Error("still marked as restored")
	}
}

func TestAnswersThatDoNotCount(t *testing.T) {
	good := []byte(`\gamename\old\final\`)
	for name, tc := range map[string]struct {
		from   string
		packet []byte
		want   string
		change func(*Options)
	}{
		"outside":        {"198.51.100.1:7778", good, dropStranger, nil},
		"other port":     {"192.0.2.10:9999", good, dropStranger, nil},
		"broadcast":      {"192.0.2.255:7778", good, dropStranger, nil},
		"IPv6":           {"[2001:db8::1]:7778", good, dropStranger, nil},
		"our own":        {"192.0.2.10:7778", good, dropOwn, func(o *Options) { o.Own = func(netip.AddrPort) bool { return true } }},
		"banned":         {"192.0.2.10:7778", good, dropBanned, func(o *Options) { o.Banned = func(netip.Addr) bool { return true } }},
		"no game":        {"192.0.2.10:7778", []byte(`\hostname\x\final\`), dropNoGame, nil},
		"unknown game":   {"192.0.2.10:7778", []byte(`\gamename\x\final\`), dropNoGame, nil},
		"useless":        {"192.0.2.10:7778", []byte("x"), dropUseless, nil},
		"too long":       {"192.0.2.10:7778", make([]byte, maxPacket+1), dropUseless, nil},
		"of another key": {"192.0.2.10:7778", []byte("\x00\x01\x02\x03\x04gamename\x00old\x00\x00"), dropUseless, nil},
		"list full": {"192.0.2.10:7778", good, dropFull, func(o *Options) {
			o.Registry = master.NewRegistry(master.Limits{PerAddr: 1})
			a := netip.MustParseAddrPort("192.0.2.10:7779")
			_ = o.Registry.Put(master.Server{Origin: qr2.Origin, Key: master.Key{Source: a}, Public: a, Game: "old", Seen: time.Now()})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFinder(t, tc.change)
			f.round(netip.Addr{})
			before := f.opt.Registry.Len()
			if got := say(f, tc.from, tc.packet); got != tc.want || !slices.Contains(reasons, got) {
				t.Errorf("dropped %q, want %q", got, tc.want)
			}
			f.ServePacket(nil, netserve.Packet{Data: tc.packet, From: netip.MustParseAddrPort(tc.from)})
			if told := f.opt.Verdicts.Recent(1); (len(told) == 1 && told[0].Verdict == verdicts.NotUnderstood) != (tc.want == dropUseless) {
				t.Errorf("noted %+v", told)
			}
			if f.opt.Registry.Len() != before {
				t.Error("it was listed")
			}
		})
	}
}

func TestAnswersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFinder(t, func(o *Options) {
			o.Networks = func() ([]Network, error) {
				return []Network{{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParseAddr("10.255.255.255")}}, nil
			}
		})
		f.round(netip.Addr{})
		for i := range maxAnswers + 10 {
			say(f, fmt.Sprintf("10.0.%d.%d:7778", i>>8, i&255), []byte(`\a\b\queryid\1.1`))
		}
		if len(f.answers) != maxAnswers {
			t.Errorf("%d answers held, want %d", len(f.answers), maxAnswers)
		}
		limited := 0
		for range 200 {
			if say(f, "10.1.0.1:7778", []byte("x")) == dropLimited {
				limited++
			}
		}
		if limited != 200-answerBuf {
			t.Errorf("%d of 200 packets of one address dropped, want %d", limited, 200-answerBuf)
		}
		f.round(netip.Addr{})
		if len(f.answers) != 0 {
			t.Error("a new round keeps old answers")
		}
	})
}

func TestAnnouncementsAreHandedOn(t *testing.T) {
	var heard []netip.AddrPort
	f := newFinder(t, func(o *Options) { o.FoundZandronum = func(a netip.AddrPort) { heard = append(heard, a) } })
	f.round(netip.Addr{})
	for _, from := range []string{"192.0.2.10:10666", "198.51.100.1:10666"} {
		announcements{f}.ServePacket(nil, netserve.Packet{Data: []byte("x"), From: netip.MustParseAddrPort(from)})
	}
	if len(heard) != 1 || heard[0].String() != "192.0.2.10:10666" {
		t.Errorf("heard %v, want the one of our network", heard)
	}
	if f.opt.Registry.Len() != 0 {
		t.Error("an announcement was listed")
	}
}

func TestNetworksOfAddresses(t *testing.T) {
	for in, want := range map[string]string{
		"192.168.1.77/24": "192.168.1.0/24 192.168.1.255", "10.1.2.3/8": "10.0.0.0/8 10.255.255.255", "172.16.5.9/30": "172.16.5.8/30 172.16.5.11",
		"192.168.1.1/31": "", "192.168.1.1/32": "", "127.0.0.1/8": "", "2001:db8::1/64": "", "1.2.3.4/0": "",
	} {
		got := ""
		if n, ok := networkOf(netip.MustParsePrefix(in)); ok {
			got = n.Prefix.String() + " " + n.Broadcast.String()
		}
		if got != want {
			t.Errorf("networkOf(%s) = %q, want %q", in, got, want)
		}
	}
	if list, err := Networks(); err != nil || len(list) > maxNetworks {
		t.Errorf("Networks() = %v, %v", list, err)
	}
}

// TestFinderOverSockets uses an address of the loopback network as broadcast
// address. The server answers from another one.
func TestFinderOverSockets(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has all of 127.0.0.0/8 without set-up")
	}
	server, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("0.0.0.0:0")))
	if err != nil {
		t.Fatal(err)
	}
	port := server.LocalAddr().(*net.UDPAddr).AddrPort().Port()
	var done sync.WaitGroup
	done.Go(func() {
		buf := make([]byte, 512)
		for {
			n, from, err := server.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			if string(buf[:n]) == `\status\` {
				_, _ = server.WriteToUDPAddrPort([]byte(`\gamename\old\final\`), from)
			}
		}
	})
	t.Cleanup(func() { _ = server.Close(); done.Wait() })

	listed := make(chan struct{}, 1)
	book := verdicts.NewLog(zerolog.New(lineFunc(func() {
		select {
		case listed <- struct{}{}:
		default:
		}
	})), 0)
	f := newFinder(t, func(o *Options) {
		o.Games, o.Verdicts = catalogue(t, port), book
		o.Networks = func() ([]Network, error) {
			return []Network{{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParseAddr("127.0.0.2")}}, nil
		}
	})
	conn, err := netserve.ListenPackets(t.Context(), "udp4", "127.0.0.1:0", netserve.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Serve(ctx, conn, nil) }()
	select {
	case <-listed:
	case <-time.After(30 * time.Second):
		t.Error("nothing was found")
	}
	cancel()
	if err := errors.Join(<-ended, conn.Close()); err != nil {
		t.Error(err)
	}
	if _, ok := f.opt.Registry.Find(netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)); !ok {
		t.Error("the server is not listed")
	}
}

// lineFunc is called for every line of a log.
type lineFunc func()

func (f lineFunc) Write(p []byte) (int, error) { f(); return len(p), nil }

func FuzzTake(f *testing.F) {
	f.Add([]byte(`\gamename\old\hostname\x\final\\queryid\1.1`))
	f.Add([]byte("\x00KKKKgamename\x00new\x00\x00\x00\x01player_\x00\x00Ann\x00"))
	f.Add([]byte("\x09KKKK12345\x00"))
	f.Add([]byte(`gamename\old\hostname\x\final\\queryid\1.1`))
	f.Fuzz(func(t *testing.T, b []byte) {
		fi := newFinder(t, nil)
		fi.round(netip.Addr{})
		if len(b) >= 5 && string(b[1:5]) == "KKKK" {
			b = append(binaryAnswer(fi)[:5:5], b[5:]...)
		}
		say(fi, "192.0.2.10:7778", b)
		for _, s := range fi.opt.Registry.All() {
			if s.Origin != master.Found || s.Game == "" {
				t.Errorf("listed %+v", s.Server)
			}
		}
	})
}

// findsA2S returns a finder that forwards A2S servers.
func findsA2S(t *testing.T, found *[]netip.AddrPort, room bool) *Finder {
	t.Helper()
	f := newFinder(t, func(o *Options) {
		o.Found = func(a netip.AddrPort) bool { *found = append(*found, a); return room }
	})
	f.round(netip.Addr{})
	return f
}

func TestRoundAsksForA2SOnItsUsualPorts(t *testing.T) {
	var found []netip.AddrPort
	f := findsA2S(t, &found, true)
	var got []uint16
	for _, q := range f.round(netip.Addr{}) {
		if string(q.data) == "\xff\xff\xff\xffTSource Engine Query\x00" {
			if q.to.Addr() != hall.Broadcast {
				t.Errorf("asked %v", q.to)
			}
			got = append(got, q.to.Port())
		}
	}
	want := []uint16{2303, 4242, 26900, 26901, 26902, 26903, 26904, 26905, 27015, 27016, 27017, 27018, 27019, 27020, 27215}
	if !slices.Equal(got, want) || !slices.IsSorted(got) {
		t.Errorf("asked on %v, want %v", got, want)
	}
}

func TestA2SServersArePassedOn(t *testing.T) {
	info := a2s.AppendInfo(nil, a2s.Info{Name: "x", Folder: "cstrike", Type: 'd', System: 'l'})
	challenge := a2s.AppendChallenge(nil, 7)
	var found []netip.AddrPort
	f := findsA2S(t, &found, true)
	_ = f.opt.Registry.Put(master.Server{
		Key: master.Key{Source: netip.MustParseAddrPort("192.0.2.40:27015")}, Public: netip.MustParseAddrPort("192.0.2.40:27015"), Game: "old",
		Origin: qr2.Origin, Seen: time.Now(),
	})
	for name, tc := range map[string]struct {
		from   string
		packet []byte
		want   string
		found  bool
	}{
		"info":              {"192.0.2.10:27015", info, "", true},
		"challenge":         {"192.0.2.11:27215", challenge, "", true},
		"players":           {"192.0.2.12:27015", a2s.AppendPlayers(nil, a2s.Players{}), dropUseless, false},
		"outside":           {"198.51.100.1:27015", info, dropStranger, false},
		"other port":        {"192.0.2.13:7778", info, dropStranger, false},
		"broadcast":         {"192.0.2.255:27015", info, dropStranger, false},
		"reports by itself": {"192.0.2.40:27015", info, "", false},
	} {
		found = nil
		if got := say(f, tc.from, tc.packet); got != tc.want || (len(found) == 1) != tc.found {
			t.Errorf("%s: dropped %q and handed on %v, want %q, %v", name, got, found, tc.want, tc.found)
		}
	}
	if f.opt.Registry.Len() != 1 {
		t.Error("it was listed")
	}
	if got := say(findsA2S(t, &found, false), "192.0.2.10:27015", info); got != dropFull {
		t.Errorf("without room: dropped %q, want %q", got, dropFull)
	}
	if got := say(newFinder(t, nil), "192.0.2.10:27015", info); got != dropStranger {
		t.Errorf("without Found: dropped %q, want %q", got, dropStranger)
	}
	for name, change := range map[string]func(*Options){
		dropOwn:    func(o *Options) { o.Own = func(netip.AddrPort) bool { return true } },
		dropBanned: func(o *Options) { o.Banned = func(netip.Addr) bool { return true } },
	} {
		f := newFinder(t, func(o *Options) { o.Found = func(netip.AddrPort) bool { return true }; change(o) })
		f.round(netip.Addr{})
		if got := say(f, "192.0.2.10:27015", info); got != name {
			t.Errorf("dropped %q, want %q", got, name)
		}
	}
}
