package dnsserver

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// forwarding returns a change of options that names upstreams.
func forwarding(upstreams ...netip.AddrPort) func(*Options) {
	return func(o *Options) { o.Upstreams, o.TryTime = upstreams, hang }
}

// closedPort returns an address whose port the system reports as unreachable.
// Its socket is connected to another address; it stays open, so that no
// upstream gets the port.
func closedPort(t testing.TB) netip.AddrPort {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "udp4", "127.0.0.1:9")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return netip.MustParseAddrPort(c.LocalAddr().String())
}

func TestOtherNamesAreAskedOfTheUpstream(t *testing.T) {
	var asked atomic.Pointer[dns.Msg]
	up := upstream(t, func(_ string, m *dns.Msg) [][]byte {
		asked.Store(m)
		a := says(t, m, "192.0.2.80")
		a.AuthenticatedData, a.RecursionAvailable = true, true
		a.SetEdns0(4096, true)
		return [][]byte{pack(t, a)}
	})
	r := start(t, forwarding(up))
	q := about("WWW.Example.org", dns.TypeA)
	q.CheckingDisabled = true
	q.SetEdns0(1400, true)
	for _, m := range []*dns.Msg{r.overUDP(t, q), overTCP(t, r, q)} {
		if addressIn(m) != "192.0.2.80" || m.Id != q.Id || m.Question[0].Name != "WWW.Example.org." || m.Authoritative || !m.RecursionAvailable || !m.AuthenticatedData {
			t.Errorf("answer %v, want that of the upstream", m)
		}
		if opt := m.IsEdns0(); opt == nil || opt.UDPSize() != maxAnswer || len(m.Extra) != 1 {
			t.Errorf("EDNS in the answer: %v", m.Extra)
		}
	}
	got := asked.Load()
	if got.Id == q.Id && got.Question[0].Name == q.Question[0].Name || !got.RecursionDesired || !got.CheckingDisabled || got.IsEdns0() == nil || !got.IsEdns0().Do() {
		t.Errorf("the upstream was asked %v, want a question of our own", got)
	}
	if m := r.overUDP(t, about("gpcm.gamespy.com", dns.TypeA)); addressIn(m) != "127.0.0.1" || !m.RecursionAvailable {
		t.Errorf("name of a service: %v, want our address", m)
	}
	if n := r.counted(t, "respawnd_dns_forwards_total", "answered"); n != 2 {
		t.Errorf("%d forwards answered, want 2", n)
	}
}

func overTCP(t testing.TB, r *running, m *dns.Msg) *dns.Msg {
	t.Helper()
	conn := r.connect(t)
	if _, err := conn.Write(framed(pack(t, m))); err != nil {
		t.Fatal(err)
	}
	return next(t, conn)
}

func TestOwnNamesAreNotForwarded(t *testing.T) {
	var asked atomic.Int32
	up := upstream(t, func(string, *dns.Msg) [][]byte { asked.Add(1); return nil })
	r := start(t, forwarding(up))
	for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeHTTPS, dns.TypeANY, dns.TypeAXFR} {
		r.overUDP(t, about("gpcm.gamespy.com", kind))
	}
	none := about("example.org", dns.TypeA)
	none.RecursionDesired = false
	if m := r.overUDP(t, none); m.Rcode != dns.RcodeRefused {
		t.Errorf("no recursion wanted: %v, want REFUSED", m)
	}
	for _, kind := range []uint16{dns.TypeANY, dns.TypeAXFR} {
		if m := r.overUDP(t, about("example.org", kind)); m.Rcode != dns.RcodeRefused {
			t.Errorf("%s: %v, want REFUSED", dns.TypeToString[kind], m)
		}
	}
	if asked.Load() != 0 {
		t.Errorf("the upstream was asked %d times, want 0", asked.Load())
	}
}

func TestForgedAnswersOfAnUpstreamAreIgnored(t *testing.T) {
	up := upstream(t, func(_ string, m *dns.Msg) (out [][]byte) {
		for _, forge := range []func(*dns.Msg){
			func(a *dns.Msg) { a.Id++ },
			func(a *dns.Msg) { a.Response = false },
			func(a *dns.Msg) { a.Opcode = dns.OpcodeNotify },
			func(a *dns.Msg) { a.Question[0].Name = "example.net." },
			func(a *dns.Msg) { a.Question[0].Qtype = dns.TypeAAAA },
			func(a *dns.Msg) { a.Question[0].Qclass = dns.ClassCHAOS },
			func(a *dns.Msg) { a.Question = nil },
		} {
			a := says(t, m, "192.0.2.66")
			a.Question = slices.Clone(a.Question)
			forge(a)
			out = append(out, pack(t, a))
		}
		return append(out, []byte("junk"), pack(t, m)[:14], pack(t, says(t, m, "192.0.2.80")))
	})
	r := start(t, forwarding(up))
	if m := r.overUDP(t, about("example.org", dns.TypeA)); addressIn(m) != "192.0.2.80" {
		t.Errorf("answer %v, want the right one", m)
	}
}

func TestForgedAnswersWithoutEndAreGivenUp(t *testing.T) {
	up := upstream(t, func(_ string, m *dns.Msg) [][]byte {
		a := says(t, m, "192.0.2.66")
		a.Id++
		return slices.Repeat([][]byte{pack(t, a)}, maxForged+4)
	})
	r := start(t, forwarding(up))
	if m := r.overUDP(t, about("example.org", dns.TypeA)); m.Rcode != dns.RcodeServerFailure || len(m.Answer) != 0 {
		t.Errorf("answer %v, want SERVFAIL", m)
	}
}

func TestUpstreamsAreAskedInTurn(t *testing.T) {
	answer := func(change func(*dns.Msg)) netip.AddrPort {
		return upstream(t, func(_ string, m *dns.Msg) [][]byte {
			a := says(t, m, "192.0.2.80")
			if change != nil {
				change(a)
			}
			return [][]byte{pack(t, a)}
		})
	}
	code := func(code int) netip.AddrPort {
		return answer(func(a *dns.Msg) { a.Rcode, a.Answer = code, nil })
	}
	for name, tc := range map[string]struct {
		upstreams []netip.AddrPort
		want      int
		address   string
	}{
		"the first one is gone":      {[]netip.AddrPort{closedPort(t), answer(nil)}, dns.RcodeSuccess, "192.0.2.80"},
		"the first one fails":        {[]netip.AddrPort{code(dns.RcodeServerFailure), answer(nil)}, dns.RcodeSuccess, "192.0.2.80"},
		"the first one refuses":      {[]netip.AddrPort{code(dns.RcodeRefused), answer(nil)}, dns.RcodeSuccess, "192.0.2.80"},
		"there is no such name":      {[]netip.AddrPort{code(dns.RcodeNameError), answer(nil)}, dns.RcodeNameError, ""},
		"all refuse":                 {[]netip.AddrPort{code(dns.RcodeRefused), closedPort(t)}, dns.RcodeRefused, ""},
		"all are gone":               {[]netip.AddrPort{closedPort(t), closedPort(t)}, dns.RcodeServerFailure, ""},
		"code that clients know not": {[]netip.AddrPort{answer(func(a *dns.Msg) { a.SetEdns0(512, false); a.Rcode = dns.RcodeBadVers })}, dns.RcodeServerFailure, ""},
	} {
		r := start(t, forwarding(tc.upstreams...))
		if m := r.overUDP(t, about("example.org", dns.TypeA)); m.Rcode != tc.want || addressIn(m) != tc.address {
			t.Errorf("%s: %v, want %s %q", name, m, dns.RcodeToString[tc.want], tc.address)
		}
	}
}

func TestSilentUpstreamIsGivenUp(t *testing.T) {
	var asked atomic.Int32
	silent := upstream(t, func(string, *dns.Msg) [][]byte { asked.Add(1); return nil })
	r := start(t, func(o *Options) { o.Upstreams, o.TryTime = []netip.AddrPort{silent}, 20*time.Millisecond })
	if m := r.overUDP(t, about("example.org", dns.TypeA)); m.Rcode != dns.RcodeServerFailure {
		t.Errorf("answer %v, want SERVFAIL", m)
	}
	if n := asked.Load(); n > minTries {
		t.Errorf("asked %d times, want at most %d", n, minTries)
	}
	if got := r.counted(t, "respawnd_dns_forwards_total", "unanswered"); got != 1 {
		t.Errorf("%d counted, want 1", got)
	}
}

// long returns an answer with many texts.
func long(m *dns.Msg, n int) *dns.Msg {
	a := new(dns.Msg).SetReply(m)
	for i := range n {
		a.Answer = append(a.Answer, &dns.TXT{
			Hdr: dns.RR_Header{Name: m.Question[0].Name, Rrtype: dns.TypeTXT, Class: dns.ClassINET, Ttl: 5},
			Txt: []string{fmt.Sprint(i, strings.Repeat("x", 90))},
		})
	}
	return a
}

// empty returns an answer with a record of a type that has no data, as only
// dynamic updates have them.
func empty(m *dns.Msg, kind uint16) *dns.Msg {
	a := new(dns.Msg).SetReply(m)
	a.Answer = []dns.RR{&dns.RFC3597{Hdr: dns.RR_Header{Name: m.Question[0].Name, Rrtype: kind, Class: dns.ClassINET, Ttl: 5}}}
	return a
}

func TestUnrepeatableAnswers(t *testing.T) {
	q := question{name: "example.org.", kind: dns.TypeTXT}
	for _, kind := range []uint16{dns.TypeTKEY, dns.TypeMX, dns.TypeSOA} {
		m := empty(about("example.org", dns.TypeTXT), kind)
		if _, ok := q.answeredBy(pack(t, m), m.Id); ok {
			t.Errorf("an answer with an empty record of type %s was accepted", dns.TypeToString[kind])
		}
	}
}

func TestLongAnswersOverUDPAndTCP(t *testing.T) {
	const texts = 40
	up := upstream(t, func(network string, m *dns.Msg) [][]byte {
		a := long(m, texts)
		if network == "udp" {
			a.Answer, a.Truncated = a.Answer[:1], true
		}
		return [][]byte{pack(t, a)}
	})
	r := start(t, forwarding(up))
	for size, most := range map[uint16]int{0: 512, 100: 512, 512: 512, 800: 800, 1232: 1232, 65535: 1232} {
		q := about("example.org", dns.TypeTXT)
		if size > 0 {
			q.SetEdns0(size, false)
		}
		m := r.overUDP(t, q)
		m.Compress = true
		if n := m.Len(); !m.Truncated || n > most || len(m.Answer) == 0 {
			t.Errorf("client of %d bytes: %d bytes with %d texts, cut: %v; want at most %d", size, n, len(m.Answer), m.Truncated, most)
		}
	}
	if m := overTCP(t, r, about("example.org", dns.TypeTXT)); m.Truncated || len(m.Answer) != texts {
		t.Errorf("over TCP: %d texts, cut: %v; want %d", len(m.Answer), m.Truncated, texts)
	}
}

func TestAnswerThatStaysCutIsRelayedAsCut(t *testing.T) {
	up := upstream(t, func(network string, m *dns.Msg) [][]byte {
		if network == "tcp" {
			return nil
		}
		a := long(m, 1)
		a.Truncated = true
		return [][]byte{pack(t, a)}
	})
	r := start(t, forwarding(up))
	if m := r.overUDP(t, about("example.org", dns.TypeTXT)); !m.Truncated || len(m.Answer) != 1 {
		t.Errorf("answer %v, want one that is marked as cut", m)
	}
}

func TestClientsOfTheSameQuestionShareIt(t *testing.T) {
	release := make(chan struct{})
	var asked atomic.Int32
	up := upstream(t, func(_ string, m *dns.Msg) [][]byte {
		asked.Add(1)
		<-release
		return [][]byte{pack(t, says(t, m, "192.0.2.80"))}
	})
	f := newServer(t, forwarding(up))
	f.forward.begin(t.Context())
	for i := range maxWaiters + 3 {
		q := about("example.org", dns.TypeA)
		q.Id = uint16(i)
		if b := f.packet(t, fmt.Sprintf("192.168.1.77:%d", 1000+i), pack(t, q)); (b == nil) != (i < maxWaiters) {
			t.Fatalf("client %d: answered at once: %v", i, b != nil)
		}
	}
	close(release)
	f.forward.wait()
	out := f.Take()
	if len(out) != maxWaiters || asked.Load() != 1 {
		t.Fatalf("%d answers for %d questions of the upstream, want %d for 1", len(out), asked.Load(), maxWaiters)
	}
	for i, p := range out {
		if m := unpack(t, p.Data); m.Id != uint16(i) || addressIn(m) != "192.0.2.80" || p.From.Port() != uint16(1000+i) {
			t.Errorf("answer %d to %v: %v", i, p.From, m)
		}
	}
}

func TestQuestionsUnderWayAreBounded(t *testing.T) {
	release := make(chan struct{})
	up := upstream(t, func(_ string, m *dns.Msg) [][]byte { <-release; return [][]byte{pack(t, says(t, m, "192.0.2.80"))} })
	f := newServer(t, func(o *Options) { forwarding(up)(o); o.MaxForwards = 3 })
	ctx, cancel := context.WithCancel(t.Context())
	f.forward.begin(ctx)
	for i := range 5 {
		b := f.packet(t, "192.168.1.77:99", pack(t, about(fmt.Sprintf("n%d.example.org", i), dns.TypeA)))
		if i < 3 && b != nil || i >= 3 && unpack(t, b).Rcode != dns.RcodeServerFailure {
			t.Errorf("question %d: %x", i, b)
		}
	}
	if got := f.counted(t, "respawnd_dns_forwards_total", "busy"); got != 2 {
		t.Errorf("%d counted, want 2", got)
	}
	cancel() // the service ends
	f.forward.wait()
	close(release)
	if n := len(f.Take()); n != 3 || len(f.forward.open) != 0 {
		t.Errorf("%d answers at the end and %d questions left, want 3 and none", n, len(f.forward.open))
	}
	if b := f.packet(t, "192.168.1.77:99", pack(t, about("example.org", dns.TypeA))); unpack(t, b).Rcode != dns.RcodeServerFailure {
		t.Errorf("after the end: %x, want SERVFAIL", b)
	}
}

// TestQuestionThatComesBackGoesOutOnce uses an upstream that queries this
// server in turn.
func TestQuestionThatComesBackGoesOutOnce(t *testing.T) {
	var asked atomic.Int32
	var at atomic.Pointer[netip.AddrPort]
	up := upstream(t, func(_ string, m *dns.Msg) [][]byte {
		asked.Add(1)
		conn, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(*at.Load()))
		if err != nil {
			t.Error(err)
			return nil
		}
		defer func() { _ = conn.Close() }()
		m.Id++
		_, _ = conn.Write(pack(t, m))
		return nil
	})
	r := start(t, func(o *Options) { o.Upstreams, o.TryTime = []netip.AddrPort{up}, 500*time.Millisecond })
	at.Store(&r.at)
	if m := r.overUDP(t, about("example.org", dns.TypeA).SetEdns0(1232, false)); m.Rcode != dns.RcodeServerFailure {
		t.Errorf("answer %v, want SERVFAIL", m)
	}
	if n := asked.Load(); n > minTries {
		t.Errorf("it went out %d times, want at most %d", n, minTries)
	}
}

func TestForwardingLoop(t *testing.T) {
	router := netip.MustParseAddrPort("192.168.1.1:53")
	f := newServer(t, forwarding(router))
	f.forward.open[question{name: "example.org.", kind: dns.TypeA}] = nil // under way
	if b := f.packet(t, "192.168.1.1:4444", pack(t, about("example.org", dns.TypeA))); b != nil || f.dropped(t, dropLoop) != 1 {
		t.Errorf("answered with %x, %d counted; want it dropped as a loop", b, f.dropped(t, dropLoop))
	}
	if b := f.packet(t, "192.168.1.1:4444", pack(t, about("gpcm.gamespy.com", dns.TypeA))); addressIn(unpack(t, b)) != "192.168.1.5" {
		t.Error("an upstream that asks for a name of ours is not answered")
	}
}

func TestQuestionsToUpstreamsCannotBeGuessed(t *testing.T) {
	ids, ports := make(map[uint16]bool), make(map[string]bool)
	q := question{name: "example.org.", kind: dns.TypeA}
	to := closedPort(t)
	const n = 50
	for range n {
		ids[q.message().Id] = true
		conn, err := dialPackets(t.Context(), to)
		if err != nil {
			t.Fatal(err)
		}
		ports[conn.LocalAddr().String()] = true
		_ = conn.Close()
	}
	if len(ids) < n-5 || len(ports) < n-5 {
		t.Errorf("%d identifications and %d ports for %d questions", len(ids), len(ports), n)
	}
}
