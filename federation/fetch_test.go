package federation

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/valvemaster"
)

// packetMaster answers datagrams on loopback until the test ends.
func packetMaster(t testing.TB, answer func(conn *net.UDPConn, from netip.AddrPort, p []byte)) string {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() { _ = conn.Close(); <-ended })
	go func() {
		defer close(ended)
		buf := make([]byte, 2048)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			answer(conn, from, buf[:n])
		}
	}()
	return conn.LocalAddr().String()
}

// connMaster serves connections on loopback until the test ends.
func connMaster(t testing.TB, serve func(net.Conn)) string {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() { defer func() { _ = c.Close() }(); serve(c) }()
		}
	}()
	return ln.Addr().String()
}

// sends answers every datagram with packets.
func sends(packets ...[]byte) func(*net.UDPConn, netip.AddrPort, []byte) {
	return func(conn *net.UDPConn, from netip.AddrPort, _ []byte) {
		for _, p := range packets {
			_, _ = conn.WriteToUDPAddrPort(p, from)
		}
	}
}

func zandronumPackets(list []netip.AddrPort) (out [][]byte) {
	var blocks []zandronum.Block
	for _, a := range list {
		blocks = append(blocks, zandronum.Block{Addr: a.Addr(), Ports: []uint16{a.Port()}})
	}
	messages, _ := zandronum.ListPackets(blocks)
	for _, m := range messages {
		out = append(out, zandronum.Encode(nil, m))
	}
	return out
}

// valvePages answers with pages of a list.
func valvePages(list []netip.AddrPort, page int) func(*net.UDPConn, netip.AddrPort, []byte) {
	return func(conn *net.UDPConn, from netip.AddrPort, p []byte) {
		r, err := valvemaster.ParseListRequest(p[1:])
		if err != nil {
			return
		}
		at := 0
		for i, a := range list {
			if a == r.Seed {
				at = i + 1
			}
		}
		end := min(at+page, len(list))
		l := valvemaster.List{Servers: list[at:end], Last: end == len(list)}
		_, _ = conn.WriteToUDPAddrPort(l.AppendTo(nil), from)
	}
}

// gameSpyMaster plays a master of the old list.
func gameSpyMaster(enctype int, secret string, list []netip.AddrPort) func(net.Conn) {
	return func(c net.Conn) {
		const challenge = "ABCDEF"
		_, _ = io.WriteString(c, `\basic\\secure\`+challenge)
		buf := make([]byte, 2048)
		if n, err := c.Read(buf); err != nil || !strings.Contains(string(buf[:n]), `\list\cmp\`) {
			return
		}
		var body []byte
		for _, a := range list {
			ip := a.Addr().As4()
			body = binary.BigEndian.AppendUint16(append(body, ip[:]...), a.Port())
		}
		body = append(body, gamespy.Final...)
		switch enctype {
		case 1:
			e, header := gamespy.NewEnctype1(challenge, len(body), new([gamespy.Enctype1Noise]byte))
			out := make([]byte, len(body))
			e.Encode(out, body)
			body = append(header, out...)
		case 2:
			key := []byte("0123456789")
			tree := gamespy.NewTreeCipher(key)
			tree.XOR(body, body)
			body = append(gamespy.AppendEnctype2Header(nil, secret, key), body...)
		}
		_, _ = c.Write(body)
	}
}

// browseMaster plays a master of server browsing, version 2, for gmtest.
func browseMaster(list []netip.AddrPort) func(net.Conn) {
	return func(c net.Conn) {
		var length [2]byte
		if _, err := io.ReadFull(c, length[:]); err != nil {
			return
		}
		request := make([]byte, binary.BigEndian.Uint16(length[:])-2)
		if _, err := io.ReadFull(c, request); err != nil {
			return
		}
		// The challenge follows six bytes of numbers and two names.
		names := bytes.SplitN(request[7:], []byte{0}, 3)
		body := []byte{127, 0, 0, 1, 25, 100, 0, 0}
		for _, a := range list {
			ip := a.Addr().As4()
			body = binary.BigEndian.AppendUint16(append(append(body, 0x10), ip[:]...), a.Port())
		}
		body = append(body, 0, 255, 255, 255, 255)
		server := make([]byte, 8)
		key := gamespy.BrowseKey("HA6zkS", [8]byte(names[2]), server)
		cipher := gamespy.NewCipher(key[:])
		cipher.Encrypt(body, body)
		_, _ = c.Write(append(gamespy.AppendCryptHeader(nil, 0, nil, server), body...))
	}
}

// turn reads a master once and returns the state.
func turn(t testing.TB, s *source) (told int, problem string, refused map[string]int) {
	t.Helper()
	s.turn(t.Context())
	st := s.now(0)
	return st.Told, st.Error, st.Refused
}

func TestReaders(t *testing.T) {
	list := numbered(700)
	browse := numbered(700)
	for name, tc := range map[string]struct {
		entry string
		at    func() string
		first string
	}{
		"q3": {"q3 %s game=Xonotic protocol=3", func() string { return packetMaster(t, sends(quake3.AppendLists(nil, list, false)...)) }, "quake3"},
		"q3 mark in every packet": {"q3 %s protocol=3", func() string {
			var all [][]byte
			for len(list) > 0 {
				n := min(len(list), 100)
				all = append(all, quake3.AppendLists(nil, list[:n], false)...)
				list = list[n:]
			}
			list = browse
			return packetMaster(t, sends(all...))
		}, "quake3"},
		"zandronum": {"zandronum %s", func() string { return packetMaster(t, sends(zandronumPackets(list)...)) }, "zandronum"},
		"zandronum out of order": {"zandronum %s", func() string {
			p := zandronumPackets(list)
			p[0], p[len(p)-1] = p[len(p)-1], p[0]
			return packetMaster(t, sends(append(p, p[0])...))
		}, "zandronum"},
		"valve":             {`valve %s filter=\gamedir\x`, func() string { return packetMaster(t, valvePages(list, 230)) }, "a2s"},
		"gamespy enctype 0": {"gamespy %s game=ut", func() string { return connMaster(t, gameSpyMaster(0, "", list)) }, "gs1"},
		"gamespy enctype 1": {"gamespy %s game=ut enctype=1", func() string { return connMaster(t, gameSpyMaster(1, "", list)) }, "gs1"},
		"gamespy enctype 2": {"gamespy %s game=ut enctype=2 query=gs3", func() string { return connMaster(t, gameSpyMaster(2, "Z5Nfb0", list)) }, "gs3"},
	} {
		b := newBench(t)
		s := b.reader(t, fmt.Sprintf(tc.entry, tc.at()))
		told, problem, refused := turn(t, s)
		if told != 700 || problem != "" || len(refused) > 0 {
			t.Errorf("%s: told %d, problem %q, refused %v; want 700", name, told, problem, refused)
		}
		if c := b.prober.watched[numbered(1)[0]]; c.Protocol != tc.first {
			t.Errorf("%s: asked in %q, want %q", name, c.Protocol, tc.first)
		}
	}
}

// A list with as many entries as are read is whole, and one that is cut says so.
func TestListAtLimit(t *testing.T) {
	const limit = 400
	whole, long := numbered(limit), numbered(20*limit)
	for name, tc := range map[string]struct {
		entry string
		at    func(list []netip.AddrPort) string
		told  int // of the long list
	}{
		"q3":                {"q3 %s protocol=1", func(l []netip.AddrPort) string { return packetMaster(t, sends(quake3.AppendLists(nil, l, false)...)) }, limit},
		"zandronum":         {"zandronum %s", func(l []netip.AddrPort) string { return packetMaster(t, sends(zandronumPackets(l)...)) }, limit},
		"valve":             {"valve %s", func(l []netip.AddrPort) string { return packetMaster(t, valvePages(l, 100)) }, limit},
		"gamespy":           {"gamespy %s game=ut list=cmp", func(l []netip.AddrPort) string { return connMaster(t, gameSpyMaster(0, "", l)) }, limit},
		"gamespy enctype 1": {"gamespy %s game=ut enctype=1", func(l []netip.AddrPort) string { return connMaster(t, gameSpyMaster(1, "", l)) }, 0},
		"gamespy enctype 2": {"gamespy %s game=ut enctype=2 list=cmp", func(l []netip.AddrPort) string { return connMaster(t, gameSpyMaster(2, "Z5Nfb0", l)) }, limit},
		"serverbrowse":      {"serverbrowse %s game=gmtest", func(l []netip.AddrPort) string { return connMaster(t, browseMaster(l)) }, limit},
		"respawnd": {"respawnd http://%s", func(l []netip.AddrPort) string {
			var servers []string
			for _, a := range l {
				servers = append(servers, fmt.Sprintf(`{"game":"gmtest","origin":"qr2","query":"gs3","address":%q}`, a))
			}
			return strings.TrimPrefix(peerDaemon(t, fmt.Sprintf(`{"count":%d,"servers":[%s]}`, len(l), strings.Join(servers, ",")), new(int)), "http://")
		}, limit},
	} {
		for _, list := range [][]netip.AddrPort{whole, long} {
			b := newBench(t)
			b.live.Store(&settings{every: time.Minute, expire: time.Hour, max: limit})
			s := b.reader(t, fmt.Sprintf(tc.entry, tc.at(list)))
			for range 2 {
				told, problem, _ := turn(t, s)
				cut := strings.Contains(problem, "federation.max_per_master (400)")
				if len(list) == limit && (told != limit || problem != "") || len(list) > limit && (told != tc.told || !cut) {
					t.Errorf("%s: told %d of %d, problem %q", name, told, len(list), problem)
				}
			}
		}
	}
}

// Misbehaving masters take no more than bounded time and memory, and change no servers
// but their own.
func TestHostileMasters(t *testing.T) {
	million := numbered(1_000_000)
	var over atomic.Bool // the endless packets have no reader left
	endless := func(conn *net.UDPConn, from netip.AddrPort, _ []byte) {
		one := quake3.AppendLists(nil, numbered(1), false)[0]
		one = one[:len(one)-7] // no end mark
		for n := 0; n < 100_000 && !over.Load(); n++ {
			if _, err := conn.WriteToUDPAddrPort(one, from); err != nil {
				return
			}
		}
	}
	for name, tc := range map[string]struct {
		entry   string
		at      func() string
		told    int
		problem string
		refused string
	}{
		"a million addresses of gamespy": {"gamespy %s game=ut", func() string { return connMaster(t, gameSpyMaster(0, "", million)) }, 2000, "federation.max_per_master (2000)", refusedTooMany},
		"a million addresses of valve":   {"valve %s", func() string { return packetMaster(t, valvePages(million, 230)) }, 2000, "federation.max_per_master (2000)", refusedTooMany},
		"packets without end":            {"q3 %s protocol=1", func() string { over.Store(false); return packetMaster(t, endless) }, 1, "", refusedRepeated},
		"the same page for ever": {"valve %s", func() string {
			return packetMaster(t, func(conn *net.UDPConn, from netip.AddrPort, _ []byte) {
				_, _ = conn.WriteToUDPAddrPort(valvemaster.List{Servers: numbered(200)}.AppendTo(nil), from)
			})
		}, 200, "repeats a page", ""},
		"two pages for ever": {"valve %s", func() string {
			n := 0
			return packetMaster(t, func(conn *net.UDPConn, from netip.AddrPort, _ []byte) {
				n++
				_, _ = conn.WriteToUDPAddrPort(valvemaster.List{Servers: numbered(200)[n%2*100:][:100]}.AppendTo(nil), from)
			})
		}, 200, "", refusedRepeated},
		"packets of 64 KiB": {"q3 %s protocol=1", func() string {
			p := append([]byte("\xff\xff\xff\xffgetserversResponse"), strings.Repeat("\\\x01\x02\x03\x04\x6d\x38", 9000)...)
			return packetMaster(t, sends(p, p, p))
		}, 1, "", refusedRepeated},
		"garbage":               {"q3 %s protocol=1", func() string { return packetMaster(t, sends([]byte("\xff\xff\xff\xffgetserversResponse\\abc"))) }, 0, "malformed", ""},
		"garbage to a launcher": {"zandronum %s", func() string { return packetMaster(t, sends([]byte{1, 2, 3})) }, 0, "answer to a list request", ""},
		"broken cipher":         {"gamespy %s game=ut enctype=2", func() string { return connMaster(t, gameSpyMaster(0, "", million[:100])) }, 0, "", ""},
		"no greeting": {"gamespy %s game=ut", func() string {
			return connMaster(t, func(c net.Conn) { _, _ = io.WriteString(c, strings.Repeat("x", 100)) })
		}, 0, "not a greeting", ""},
		"cipher of no browser": {"serverbrowse %s game=gmtest", func() string {
			return connMaster(t, func(c net.Conn) { _, _ = io.WriteString(c, strings.Repeat("\x00", 100_000)) })
		}, 0, " ", ""},
		"loopback and private": {"q3 %s protocol=1", func() string {
			return packetMaster(t, sends(quake3.AppendLists(nil, []netip.AddrPort{addr("127.0.0.1:27960"), addr("10.1.2.3:27960"), addr("20.0.0.1:27960")}, false)...))
		}, 1, "", refusedPrivate},
		"own address": {"q3 %s protocol=1", func() string {
			return packetMaster(t, sends(quake3.AppendLists(nil, []netip.AddrPort{addr("198.51.100.1:27950")}, false)...))
		}, 0, "", refusedOwn},
	} {
		b := newBench(t)
		b.live.Store(&settings{every: time.Minute, expire: time.Hour, max: 2000})
		s := b.reader(t, fmt.Sprintf(tc.entry, tc.at()))
		told, problem, refused := turn(t, s)
		over.Store(true)
		if told != tc.told || !strings.Contains(problem, tc.problem) || tc.refused != "" && refused[tc.refused] == 0 {
			t.Errorf("%s: told %d, problem %q, refused %v; want %d, %q, %s", name, told, problem, refused, tc.told, tc.problem, tc.refused)
		}
		if len(b.servers) > 2000 || b.list.Len() > 2000 {
			t.Errorf("%s: %d candidates, %d listed", name, len(b.servers), b.list.Len())
		}
	}
}

// Only the address that was asked may answer.
func TestForgedAnswer(t *testing.T) {
	forger, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = forger.Close() }()
	b := newBench(t)
	s := b.reader(t, "q3 "+packetMaster(t, func(conn *net.UDPConn, from netip.AddrPort, _ []byte) {
		_, _ = forger.WriteToUDPAddrPort(quake3.AppendLists(nil, numbered(50), false)[0], from)
		_, _ = conn.WriteToUDPAddrPort(quake3.AppendLists(nil, []netip.AddrPort{addr("21.0.0.1:27960")}, false)[0], from)
	})+" protocol=1")
	if told, problem, refused := turn(t, s); told != 1 || problem != "" || len(refused) > 0 {
		t.Errorf("told %d, problem %q, refused %v; want 1", told, problem, refused)
	}
}

// A name is looked up for each reading, and may not lead into a private network.
func TestResolve(t *testing.T) {
	var names int
	answer := []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::ffff:10.0.0.1")}
	d := &dialer{
		lookup: func(context.Context, string) ([]netip.Addr, error) {
			names++
			return append([]netip.Addr(nil), answer...), nil
		},
		own: func(network string, a netip.AddrPort) bool { return network == "tcp" && a == addr("20.0.0.1:8080") },
	}
	for entry, want := range map[string]error{
		"zandronum master.example.org":          errPrivate,
		"zandronum master.example.org name=lan": nil,
		"zandronum 127.0.0.1":                   nil, // as the operator wrote it
	} {
		m := parse(t, entry)
		host, port, _ := net.SplitHostPort(m.Address)
		if _, err := d.resolve(t.Context(), &m, host, port, "udp"); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", entry, err, want)
		}
	}
	m := parse(t, "zandronum master.example.org")
	answer = append(answer, netip.MustParseAddr("20.0.0.1"), netip.MustParseAddr("2001:db8::1"))
	for range 20 {
		if a, err := d.resolve(t.Context(), &m, "master.example.org", "15300", "udp"); err != nil || a != addr("20.0.0.1:15300") {
			t.Errorf("got %v, %v", a, err)
		}
	}
	if names != 22 {
		t.Errorf("%d lookups, want 22", names)
	}
	if _, err := d.resolve(t.Context(), &m, "20.0.0.1", "8080", "tcp"); !errors.Is(err, errOwn) {
		t.Errorf("own address: %v", err)
	}
	answer = answer[3:]
	if _, err := d.resolve(t.Context(), &m, "master.example.org", "15300", "udp"); !errors.Is(err, errNoAddress) {
		t.Errorf("IPv6 only: %v", err)
	}
}

// peerDaemon answers as another daemon, with a list as JSON. It does not know how often games were
// played.
func peerDaemon(t *testing.T, list string, requests *int) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/games" {
			http.NotFound(w, r)
			return
		}
		*requests++
		if r.Header.Get("If-None-Match") == `W/"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", `W/"1"`)
		_, _ = io.WriteString(w, list)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestPeer(t *testing.T) {
	const servers = `{"id":"a","game":"gmtest","origin":"qr2","query":"gs3","address":"20.0.0.1:6500"},
		{"id":"b","game":"other","origin":"federated","via":"x","query":"gs3","address":"20.0.0.2:6500"},
		{"id":"c","game":"gmtest","origin":"lan","address":"20.0.0.3:6500"},
		{"id":"d","game":"<b>","origin":"qr2","query":"gs3","address":"20.0.0.4:6500"},
		{"id":"e","game":"oa","origin":"quake3","query":"quake3","address":"20.0.0.5:27960"},
		{"id":"f","address":"nonsense"}`
	requests := 0
	b := newBench(t)
	s := b.reader(t, "respawnd "+peerDaemon(t, `{"master":"other","count":6,"servers":[`+servers+`]}`, &requests))
	for range 2 { // the second time it has not changed
		told, problem, refused := turn(t, s)
		if told != 2 || problem != "" || refused[refusedHearsay] != 1 || refused[refusedQuery] != 1 || refused[refusedGame] != 1 || refused[refusedAddress] != 1 {
			t.Errorf("told %d, problem %q, refused %v", told, problem, refused)
		}
	}
	if got := b.prober.watched[addr("20.0.0.5:27960")]; got.Game != "" || got.Protocol != "quake3" || requests != 2 {
		t.Errorf("asked %+v, %d requests", got, requests)
	}
	for name, tc := range map[string]struct{ list, problem string }{
		"itself":     {`{"master":"self","count":1,"servers":[{"game":"gmtest","origin":"qr2","query":"gs3","address":"20.0.0.1:6500"}]}`, errOwn.Error()},
		"no list":    {`{"error":"x"}`, "not a list of servers"},
		"no JSON":    {`<html>`, "not a list of servers"},
		"not whole":  {`{"count":1,"servers":[{"game":"gmtest"`, "not a list of servers"},
		"never ends": {`{"count":1,"next":"x","servers":[{"game":"gmtest"}]}`, "does not end"},
	} {
		b := newBench(t)
		s := b.reader(t, "respawnd "+peerDaemon(t, tc.list, &requests))
		if told, problem, _ := turn(t, s); told != 0 || !strings.Contains(problem, tc.problem) {
			t.Errorf("%s: told %d, problem %q, want %q", name, told, problem, tc.problem)
		}
	}
}

// A peer is asked once an hour how often games were played there; what it says is bounded, and is
// forgotten with the peer.
func TestPeerSaysWhatWasPlayed(t *testing.T) {
	const gmtest = `{"name":"gmtest","state":"played","played":{"times":5,"last":"2026-11-03","version":"1.1"},
		"editions":[{"copies":["gog"],"played":{"times":3,"last":"2026-11-02"}},{"copies":["retail"],"played":null}]}`
	answers := []string{`[` + gmtest + `,{"name":"<b>","played":{"times":1,"last":"2026-11-03"}}]`, `[`, `{}`, `[{"name":5}]`, ""}
	asked := 0
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() == "/api/v1/games?state=played" {
			answer := answers[min(asked, len(answers)-1)]
			if asked++; answer == "" && r.Header.Get("If-None-Match") == "once" {
				w.WriteHeader(http.StatusNotModified)
			}
			w.Header().Set("ETag", "once")
			_, _ = io.WriteString(w, answer)
			return
		}
		_, _ = io.WriteString(w, `{"master":"other","count":0,"servers":[]}`)
	}))
	t.Cleanup(site.Close)
	b := newBench(t)
	s := b.reader(t, "respawnd "+site.URL)
	want := func(what string, copies []string, tally games.Tally) {
		t.Helper()
		if got := b.reports.Of("gmtest")(copies); got != (games.Reported{Elsewhere: tally}) {
			t.Errorf("%s: %+v, want %+v elsewhere", what, got, tally)
		}
	}
	// Of a node that does not read the list.
	s.fetch.note(t.Context(), s)
	want("noted", nil, games.Tally{Times: 5, Last: "2026-11-03", Version: "1.1"})
	asked, s.fetch.(*peer).counted = 0, time.Time{}

	leftOut := 0
	for i := range answers { // only the first one is a list
		for range 2 {
			_, problem, refused := turn(t, s)
			if leftOut += refused[refusedCount]; problem != "" {
				t.Errorf("answer %d: problem %q", i, problem)
			}
		}
		if asked != i+1 {
			t.Errorf("asked %d times in %d hours", asked, i+1)
		}
		want("all", nil, games.Tally{Times: 5, Last: "2026-11-03", Version: "1.1"})
		want("GOG", []string{"gog"}, games.Tally{Times: 5, Last: "2026-11-03", Version: "1.1"})
		want("Steam", []string{"steam"}, games.Tally{Times: 2, Last: "2026-11-03", Version: "1.1"})
		s.fetch.(*peer).counted = time.Now().Add(-countEvery)
	}
	if leftOut != 1 {
		t.Errorf("%d counts were left out, want that of a game without a name", leftOut)
	}
	s.end()
	want("after the peer was removed", nil, games.Tally{})
	other := b.reader(t, "respawnd "+site.URL+" game=ut")
	asked = 0
	turn(t, other)
	want("of a peer that is read for another game", nil, games.Tally{})
}

// After a list that was cut, the one before it is read again in full.
func TestPeerAfterCut(t *testing.T) {
	length := 1
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tag := fmt.Sprintf(`W/"%d"`, length)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", tag)
		const server = `{"game":"gmtest","origin":"qr2","query":"gs3","address":"20.0.0.1:6500"}`
		_, _ = fmt.Fprintf(w, `{"count":%d,"servers":[%s%s]}`, length, server, strings.Repeat(","+server, length-1))
	}))
	defer site.Close()
	b := newBench(t)
	b.live.Store(&settings{every: time.Minute, expire: time.Hour, max: 2})
	s := b.reader(t, "respawnd "+site.URL)
	for _, length = range []int{1, 3, 1, 1} {
		if _, problem, refused := turn(t, s); (problem != "") != (length > 2) || (refused[refusedTooMany] > 0) != (length > 2) {
			t.Errorf("%d servers: problem %q, refused %v", length, problem, refused)
		}
	}
}

// A redirect may not lead to another host.
func TestPeerRedirect(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://192.0.2.1/api/v1/servers", http.StatusFound)
	}))
	defer s.Close()
	b := newBench(t)
	if _, problem, _ := turn(t, b.reader(t, "respawnd "+s.URL)); !strings.Contains(problem, errRedirect.Error()) {
		t.Errorf("problem %q", problem)
	}
}
