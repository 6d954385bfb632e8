package dnsserver

import (
	"bytes"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"

	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/internal/netserve"
)

func TestAddressOnClientNetwork(t *testing.T) {
	own := netip.MustParseAddr("198.51.100.7")
	for name, tc := range map[string]struct {
		client, want string
		change       func(*Options)
	}{
		"first card":   {"192.168.1.77:5353", "192.168.1.5", nil},
		"second card":  {"10.0.9.9:1024", "10.0.0.1", nil},
		"this machine": {"127.0.0.1:1024", "192.168.1.5", nil},
		"this machine, no network": {"127.0.0.1:1024", "127.0.0.1", func(o *Options) {
			o.Addresses = func() ([]hostnet.Address, error) { return []hostnet.Address{card("127.0.0.1/8")}, nil }
		}},
		"behind a router":                {"172.16.3.3:1024", "192.168.1.5", nil}, // the address that it queried
		"behind a router, address given": {"172.16.3.3:1024", "198.51.100.7", func(o *Options) { o.Address = own }},
		"address given, own network":     {"10.0.9.9:1024", "10.0.0.1", func(o *Options) { o.Address = own }},
	} {
		f := newServer(t, tc.change)
		m := f.ask(t, tc.client, about("gmtest.master.gamespy.com", dns.TypeA))
		if got := addressIn(m); got != tc.want || m.Rcode != dns.RcodeSuccess || !m.Authoritative || m.Answer[0].Header().Ttl != 60 {
			t.Errorf("%s: %v, want %s", name, m, tc.want)
		}
	}
}

func TestAddressOfUnknownDestination(t *testing.T) {
	f := newServer(t, nil)
	client := netip.MustParseAddr("172.16.3.3")
	if got := f.addressFor(client, netip.Addr{}).String(); got != "203.0.113.9" {
		t.Errorf("address %s, want that of the way out", got)
	}
	f = newServer(t, func(o *Options) { o.Route = func() netip.Addr { return netip.Addr{} } })
	if got := f.addressFor(client, netip.IPv4Unspecified()); got.IsValid() {
		t.Errorf("address %v, want none", got)
	}
	f.ServePacket(&f.wire, netserve.Packet{Data: pack(t, about("gamespy.com", dns.TypeA)), From: netip.AddrPortFrom(client, 99)})
	if m := unpack(t, f.Take()[0].Data); m.Rcode != dns.RcodeServerFailure || len(m.Answer) != 0 {
		t.Errorf("without any address: %v, want SERVFAIL", m)
	}
}

func TestAddressesAreLookedAtAgain(t *testing.T) {
	list, err := []hostnet.Address{card("192.168.1.5/24")}, error(nil)
	f := newServer(t, func(o *Options) { o.Addresses = func() ([]hostnet.Address, error) { return list, err } })
	ask := func() string { return addressIn(f.ask(t, "192.168.1.77:99", about("gpcm.gamespy.com", dns.TypeA))) }
	if got := ask(); got != "192.168.1.5" {
		t.Errorf("address %s, want 192.168.1.5", got)
	}
	list = []hostnet.Address{card("192.168.1.99/24")}
	f.refresh()
	if got := ask(); got != "192.168.1.99" {
		t.Errorf("address %s after a change, want 192.168.1.99", got)
	}
	err = errors.New("not now")
	f.refresh()
	if got := ask(); got != "192.168.1.99" {
		t.Errorf("address %s after a failure, want the last known", got)
	}
}

func TestAnswersWithoutARecord(t *testing.T) {
	asked := func(name string, kind, class uint16, change func(*dns.Msg)) *dns.Msg {
		m := about(name, kind)
		m.Question[0].Qclass = class
		if change != nil {
			change(m)
		}
		return m
	}
	const game = "gmtest.ms8.gamespy.com"
	for name, tc := range map[string]struct {
		m    *dns.Msg
		want int
	}{
		"another name":     {asked("example.org", dns.TypeA, dns.ClassINET, nil), dns.RcodeRefused},
		"no address":       {asked("Ads.example.com", dns.TypeA, dns.ClassINET, nil), dns.RcodeNameError},
		"the root":         {asked(".", dns.TypeNS, dns.ClassINET, nil), dns.RcodeRefused},
		"dot in a label":   {asked(`a\.gamespy.com`, dns.TypeA, dns.ClassINET, nil), dns.RcodeRefused},
		"ANY":              {asked(game, dns.TypeANY, dns.ClassINET, nil), dns.RcodeRefused},
		"AXFR":             {asked("gamespy.com", dns.TypeAXFR, dns.ClassINET, nil), dns.RcodeRefused},
		"IXFR":             {asked("gamespy.com", dns.TypeIXFR, dns.ClassINET, nil), dns.RcodeRefused},
		"MAILB":            {asked(game, dns.TypeMAILB, dns.ClassINET, nil), dns.RcodeRefused},
		"version.bind":     {asked("version.bind", dns.TypeTXT, dns.ClassCHAOS, nil), dns.RcodeRefused},
		"service in CHAOS": {asked(game, dns.TypeA, dns.ClassCHAOS, nil), dns.RcodeRefused},
		"any class":        {asked(game, dns.TypeA, dns.ClassANY, nil), dns.RcodeRefused},
		"EDNS version 1":   {asked(game, dns.TypeA, dns.ClassINET, func(m *dns.Msg) { m.SetEdns0(1232, false); m.IsEdns0().SetVersion(1) }), dns.RcodeBadVers},
		"status":           {asked(game, dns.TypeA, dns.ClassINET, func(m *dns.Msg) { m.Opcode = dns.OpcodeStatus }), dns.RcodeNotImplemented},
		"notify":           {asked(game, dns.TypeSOA, dns.ClassINET, func(m *dns.Msg) { m.Opcode = dns.OpcodeNotify }), dns.RcodeNotImplemented},
		"update":           {asked(game, dns.TypeSOA, dns.ClassINET, func(m *dns.Msg) { m.Opcode = dns.OpcodeUpdate }), dns.RcodeNotImplemented},
		"two questions":    {asked(game, dns.TypeA, dns.ClassINET, func(m *dns.Msg) { m.Question = append(m.Question, m.Question[0]) }), dns.RcodeFormatError},
		"no question":      {asked(game, dns.TypeA, dns.ClassINET, func(m *dns.Msg) { m.Question = nil }), dns.RcodeFormatError},
		"question with an answer": {asked(game, dns.TypeA, dns.ClassINET, func(m *dns.Msg) {
			m.Answer = says(t, m, "192.0.2.1").Answer
		}), dns.RcodeFormatError},
		"three more records": {asked(game, dns.TypeA, dns.ClassINET, func(m *dns.Msg) {
			m.Extra = slices.Repeat(says(t, m, "192.0.2.1").Answer, 3)
		}), dns.RcodeFormatError},
	} {
		f := newServer(t, nil)
		tc.m.Id = 0x1234
		got := f.ask(t, "192.168.1.77:99", tc.m)
		if got.Rcode != tc.want || len(got.Answer)+len(got.Ns) != 0 || !got.Response || got.Id != 0x1234 || got.RecursionAvailable {
			t.Errorf("%s: %v, want %s and no record", name, got, dns.RcodeToString[tc.want])
		}
	}
}

func TestNameIsRepeatedAsItWasWritten(t *testing.T) {
	f := newServer(t, nil)
	m := f.ask(t, "192.168.1.77:99", about("GmTest.MASTER.gAmEsPy.CoM", dns.TypeA))
	if m.Question[0].Name != "GmTest.MASTER.gAmEsPy.CoM." || addressIn(m) != "192.168.1.5" {
		t.Errorf("answer %v, want the name as asked", m)
	}
}

func TestNonQuestionsAreNotAnswered(t *testing.T) {
	f := newServer(t, nil)
	answer := pack(t, says(t, about("gamespy.com", dns.TypeA), "192.0.2.1"))
	for name, b := range map[string][]byte{"nothing": {}, "less than a header": make([]byte, 11), "an answer": answer} {
		if got := f.packet(t, "192.168.1.77:99", b); got != nil {
			t.Errorf("%s: answered with %x", name, got)
		}
	}
	if got := f.dropped(t, dropUseless); got != 3 {
		t.Errorf("%d counted, want 3", got)
	}
}

func TestUnreadableMessagesGetAHeader(t *testing.T) {
	question := pack(t, about("gmtest.master.gamespy.com", dns.TypeA))
	header := question[:headerSize]
	for name, b := range map[string][]byte{
		"header alone":       header,
		"cut in the name":    question[:20],
		"pointer to itself":  append(slices.Clone(header), 0xC0, 12, 0, 1, 0, 1),
		"pointers in a ring": append(slices.Clone(header), 0xC0, 14, 0xC0, 12, 0, 1, 0, 1),
		"pointer ahead":      append(slices.Clone(header), 0xC0, 0xFF, 0, 1, 0, 1),
		"label type 01":      append(slices.Clone(header), 0x41, 'a', 0, 0, 1, 0, 1),
		"name too long":      append(append(slices.Clone(header), bytes.Repeat([]byte("\x3f"+string(bytes.Repeat([]byte("a"), 63))), 5)...), 0, 0, 1, 0, 1),
		"too long":           append(slices.Clone(question), make([]byte, maxQuery)...),
	} {
		f := newServer(t, nil)
		got := f.packet(t, "192.168.1.77:99", b)
		if len(got) != headerSize || got[3]&0xF != dns.RcodeFormatError || got[2]&0x80 == 0 || !bytes.Equal(got[:2], b[:2]) {
			t.Errorf("%s: answered with %x, want FORMERR in a header", name, got)
		}
	}
}

func TestOnlyNearClientsAreAnswered(t *testing.T) {
	for client, near := range map[string]bool{
		"192.168.1.77:99": true, "10.255.0.1:99": true, "172.16.0.1:99": true, "172.31.255.255:99": true,
		"127.0.0.1:99": true, "169.254.3.3:99": true, "[fe80::1%3]:99": true, "[fd00::1]:99": true, "[::1]:99": true,
		"172.32.0.1:99": false, "192.0.2.1:99": false, "8.8.8.8:99": false, "100.64.0.1:99": false, "[2001:db8::1]:99": false,
		"203.0.113.200:99": true, "203.0.112.255:99": false, // allowed by the operator
	} {
		f := newServer(t, func(o *Options) { o.Allow = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")} })
		got := f.packet(t, client, pack(t, about("gamespy.com", dns.TypeA))) != nil
		if got != near || (f.dropped(t, dropStranger) == 0) != near {
			t.Errorf("%s answered: %v, want %v; %d counted", client, got, near, f.dropped(t, dropStranger))
		}
	}
}

func TestRateOfAnAddressIsBounded(t *testing.T) { synctest.Test(t, testRate) }

func testRate(t *testing.T) {
	f := newServer(t, func(o *Options) {
		o.Rate, o.Burst = 1, 3
		o.Trusted = func(a netip.Addr) bool { return a == netip.MustParseAddr("192.168.1.2") }
	})
	q := pack(t, about("gamespy.com", dns.TypeA))
	for client, want := range map[string]int{"192.168.1.77:99": 3, "192.168.1.78:99": 3, "192.168.1.2:99": 10} {
		answered := 0
		for range 10 {
			if f.packet(t, client, q) != nil {
				answered++
			}
		}
		if answered != want {
			t.Errorf("%s: %d of 10 answered, want %d", client, answered, want)
		}
	}
	if got := f.dropped(t, dropLimited); got != 14 {
		t.Errorf("%d counted, want 14", got)
	}
	f.Reload(&Config{})
	if f.packet(t, "192.168.1.77:99", q) == nil {
		t.Error("not answered after the bound was lifted")
	}
}

func TestBannedAddressIsNotAnswered(t *testing.T) {
	f := newServer(t, func(o *Options) { o.Banned = func(netip.Addr) bool { return true } })
	if f.packet(t, "192.168.1.77:99", pack(t, about("gamespy.com", dns.TypeA))) != nil || f.dropped(t, dropBanned) != 1 {
		t.Error("a banned address was answered")
	}
}

// TestNegativeAnswers have the record that resolvers need to cache them (RFC 2308): a SOA at the
// name itself or above it, with the time in its TTL and its minimum.
func TestNegativeAnswers(t *testing.T) {
	f := newServer(t, nil)
	for _, kind := range []uint16{dns.TypeAAAA, dns.TypeHTTPS, dns.TypeTXT, dns.TypeNS} {
		m := f.ask(t, "192.168.1.77:99", about("GMTest.Available.gamespy.com", kind))
		if m.Rcode != dns.RcodeSuccess || !m.Authoritative || len(m.Answer) != 0 || len(m.Ns) != 1 {
			t.Fatalf("%s: %v, want no record and a SOA", dns.TypeToString[kind], m)
		}
		soa, ok := m.Ns[0].(*dns.SOA)
		if !ok || !strings.EqualFold(soa.Hdr.Name, "gmtest.available.gamespy.com.") || soa.Hdr.Ttl != ttl || soa.Minttl != ttl || soa.Hdr.Class != dns.ClassINET {
			t.Errorf("%s: %v", dns.TypeToString[kind], m.Ns[0])
		}
	}
	m := f.ask(t, "192.168.1.77:99", about("gpcm.gamespy.com", dns.TypeSOA))
	if len(m.Answer) != 1 || len(m.Ns) != 0 || m.Answer[0].Header().Rrtype != dns.TypeSOA {
		t.Errorf("SOA: %v, want it as the answer", m)
	}
	for name, m := range map[string]*dns.Msg{
		"A": f.ask(t, "192.168.1.77:99", about("gpcm.gamespy.com", dns.TypeA)), "another name": f.ask(t, "192.168.1.77:99", about("example.org", dns.TypeAAAA)),
	} {
		if len(m.Ns) != 0 {
			t.Errorf("%s: %v, want no SOA", name, m)
		}
	}
}

func TestLengthOfOwnAnswers(t *testing.T) {
	f := newServer(t, nil)
	for kind, more := range map[uint16]int{dns.TypeA: 16, dns.TypeAAAA: longestRecord, dns.TypeSOA: longestRecord, dns.TypeANY: 0} {
		for _, edns := range []bool{false, true} {
			m := about("gmtest.available.gamespy.com", kind)
			if edns {
				m.SetEdns0(4096, true)
			}
			q := pack(t, m)
			if got := f.packet(t, "192.168.1.77:99", q); len(got) != len(q)+more {
				t.Errorf("%s, EDNS %v: %d bytes for %d, want %d more", dns.TypeToString[kind], edns, len(got), len(q), more)
			}
		}
	}
	m := f.ask(t, "192.168.1.77:99", about("gamespy.com", dns.TypeA).SetEdns0(4096, true))
	if opt := m.IsEdns0(); opt == nil || opt.UDPSize() != maxAnswer || !opt.Do() {
		t.Errorf("EDNS in the answer: %v", opt)
	}
}

func TestServerOverSockets(t *testing.T) {
	r := start(t, nil)
	for range 2 {
		if m := r.overUDP(t, about("gpcm.gamespy.com", dns.TypeA)); addressIn(m) != "127.0.0.1" {
			t.Errorf("over UDP: %v, want 127.0.0.1", m)
		}
	}
	conn := r.connect(t)
	// Several in one segment, the last one in pieces.
	q := framed(pack(t, about("gpcm.gamespy.com", dns.TypeA)))
	if _, err := conn.Write(append(slices.Repeat(q, 3), q[:5]...)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if m := next(t, conn); addressIn(m) != "127.0.0.1" {
			t.Errorf("over TCP: %v, want 127.0.0.1", m)
		}
	}
	if _, err := conn.Write(q[5:]); err != nil {
		t.Fatal(err)
	}
	if m := next(t, conn); addressIn(m) != "127.0.0.1" {
		t.Errorf("over TCP, in pieces: %v, want 127.0.0.1", m)
	}
	if got := r.counted(t, "respawnd_dns_answers_total", "own"); got != 6 {
		t.Errorf("%d answers counted, want 6", got)
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	var banned atomic.Bool
	r := start(t, func(o *Options) { o.Banned = func(netip.Addr) bool { return banned.Load() } })
	ended := func(conn interface{ Read([]byte) (int, error) }) bool {
		var b [1]byte
		n, err := conn.Read(b[:])
		return n == 0 && err != nil
	}
	conn := r.connect(t)
	if _, err := conn.Write([]byte{0xFF, 0xFF, 0, 0}); err != nil {
		t.Fatal(err)
	}
	if !ended(conn) || r.dropped(t, dropTooLong) != 1 {
		t.Error("a message of 65,535 bytes was waited for")
	}
	conn = r.connect(t)
	q := framed(pack(t, about("gpcm.gamespy.com", dns.TypeA)))
	go func() { _, _ = conn.Write(slices.Repeat(q, maxQuestions)) }()
	for range maxQuestions {
		next(t, conn)
	}
	_, _ = conn.Write(q)
	if !ended(conn) {
		t.Errorf("more than %d questions of a connection answered", maxQuestions)
	}
	banned.Store(true)
	conn = r.connect(t)
	if _, err := conn.Write(q); err != nil {
		t.Fatal(err)
	}
	if !ended(conn) {
		t.Error("a banned address was answered over TCP")
	}
}

func TestDefaultsOfConnections(t *testing.T) {
	got := connDefaults(netserve.ConnOptions{Idle: time.Hour})
	if got.FirstByte != streamFirstByte || got.Idle != time.Hour || got.MaxLifetime != streamLife {
		t.Errorf("connDefaults = %+v", got)
	}
}
