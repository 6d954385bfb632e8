package natneg

import (
	"fmt"
	"net/netip"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/racetest"

	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"
)

func TestOldestWithoutPartnerMakesRoom(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	st := newStation(t, options(func(o *Options) { o.Registerer, o.MaxOpen = reg, 3 }), "")
	st.inits(1, 0, addr(1)) // has met: stays although it is the oldest
	st.inits(1, 1, addr(101))
	st.inits(2, 0, addr(2))
	st.inits(3, 0, addr(3))
	st.inits(4, 0, addr(4)) // 2 goes
	st.inits(5, 0, addr(5)) // 3 goes
	for cookie, want := range map[uint32]bool{1: true, 2: false, 3: false, 4: true, 5: true} {
		if got := st.table.byCookie[cookie] != nil; got != want {
			t.Errorf("cookie %d is open: got %v, want %v", cookie, got, want)
		}
	}
	if st.Open() != 3 {
		t.Errorf("%d cookies are open, want 3", st.Open())
	}
	if got := gathered(t, reg, "respawnd_natneg_evicted_total")[""]; got != 2 {
		t.Errorf("evicted: got %v, want 2", got)
	}
	for cookie := range uint32(2) { // all have met: the oldest of them
		st.inits(4+cookie, 1, addr(104+int(cookie)))
	}
	st.inits(6, 0, addr(6))
	if st.table.byCookie[1] != nil || st.table.byCookie[6] == nil {
		t.Error("with partners for all, the oldest did not make room")
	}
}

func TestOneAddressOpensNoMoreThanItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStation(t, options(func(o *Options) { o.MaxPerAddr = 2 }), "")
		for cookie, want := range map[uint32]drop{1: notDropped, 2: notDropped} {
			if got := st.inits(cookie, 0, alice); got != want {
				t.Errorf("cookie %d: dropped as %q", cookie, got)
			}
		}
		st.post.Take()
		if got := st.inits(3, 0, alice); got != dropTooMany {
			t.Errorf("cookie 3: dropped as %q, want %q", got, dropTooMany)
		}
		if got := st.post.Take(); len(got) != 0 {
			t.Errorf("cookie 3: got %+v, want no answer", got)
		}
		st.inits(4, 1, bob)
		if got := st.inits(4, 0, alice); got != notDropped {
			t.Errorf("cookie of another address: dropped as %q", got)
		}
		st.pass(time.Minute)
		if got := st.inits(3, 0, alice); got != notDropped {
			t.Errorf("cookie 3, after the others ended: dropped as %q", got)
		}
	})
}

func TestBoundOfAnAddressHoldsBeyond65536(t *testing.T) {
	const most = 1<<16 + 1
	tb, from := newTable(), [4]byte{10, 0, 0, 1}
	for cookie := range uint32(most + 2) {
		want := notDropped
		if cookie >= most {
			want = dropTooMany
		}
		if got := tb.mayOpen(cookie, from, 2*most, most); got != want {
			t.Fatalf("cookie %d of an address: refused as %q, want %q", cookie, got, want)
		} else if got == notDropped {
			tb.open(&negotiation{cookie: cookie}, from)
		}
	}
}

func TestTimersAreNotLostInALongPause(t *testing.T) {
	tb := newTable()
	for i := range uint32(2000) {
		n := &negotiation{cookie: i}
		tb.open(n, [4]byte{10, 0, byte(i >> 8), byte(i)})
		from := endpoint{n.place.opener, 5000}
		in := Init{PortType: PortNN1, Local: addrPort(nil)}
		n.init(time.Duration(i)*10*time.Millisecond, &call{version: 1, from: from, in: &in}, &effects{})
		tb.changed(n)
	}
	var e effects
	tb.advance(time.Hour, &e)
	tb.advance(time.Hour+3*time.Second, &e)
	tb.advance(time.Hour+6*time.Second, &e)
	if tb.count != 0 || len(e.sends) != 2000 || len(tb.byCookie) != 0 || len(tb.opened) != 0 {
		t.Errorf("after the pause %d are open (%d cookies, %d addresses) and %d were told, want none and 2000",
			tb.count, len(tb.byCookie), len(tb.opened), len(e.sends))
	}
}

func TestMemoryPerCookie(t *testing.T) {
	racetest.Skip(t, "fills a table")
	const cookies, most = 20_000, 600 // bytes: 60 MiB for the default of max_open
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := New(options(func(o *Options) { o.MaxPerAddr = 1 << 16 }))
	st := &station{Server: s, t: t, post: &post{}}
	fillCookies(st, cookies)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if st.Open() != cookies {
		t.Fatalf("%d cookies are open, want %d", st.Open(), cookies)
	}
	used := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("%d bytes per cookie", used/cookies)
	if used > cookies*most {
		t.Errorf("%d cookies take %d bytes, want at most %d", cookies, used, cookies*most)
	}
	runtime.KeepAlive(st)
}

// fillCookies opens cookies of one client each, from as many addresses.
func fillCookies(st *station, n int) {
	w := nettest.Discard{}
	for i := range n {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{20, byte(i >> 16), byte(i >> 8), byte(i)}), 5000)
		st.serve(0, w, packetFrom(from, initPacket(uint32(i), 0, PortNN1)))
	}
}

// model checks the invariants of a table.
type model struct {
	tb      *table
	now     time.Duration
	packets map[string]int // by cookie, address
	told    map[string]int // connects by cookie, address
}

// TestWhateverComesTheBoundsHold has random clients, honest and not, send random
// packets in random order.
func TestWhateverComesTheBoundsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{tb: newTable(), packets: make(map[string]int), told: make(map[string]int)}
		small := func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(t, what) }
		t.Repeat(map[string]func(*rapid.T){
			"init": func(*rapid.T) {
				cookie, index := uint32(small(3, "cookie")), byte(small(3, "index"))
				from := endpoint{[4]byte{10, 0, 0, byte(1 + small(3, "address"))}, uint16(1 + small(3, "port"))}
				in := Init{
					PortType: PortType(small(4, "port type")), Index: index,
					GamePort: small(2, "game port") == 1,
					Local:    netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 168, 0, 1}), uint16(small(3, "local port"))),
				}
				var e effects
				c := call{version: byte(1 + small(4, "version")), name: uint64(small(2, "game")), from: from, in: &in}
				n := m.tb.find(cookie, &c)
				if n == nil {
					if m.tb.mayOpen(cookie, from.ip, 2, 2) != notDropped {
						return
					}
					n = &negotiation{cookie: cookie, opened: m.now}
					m.tb.open(n, from.ip)
				}
				if n.init(m.now, &c, &e) == notDropped {
					m.tb.changed(n)
				}
				m.packets[fmt.Sprint(cookie, from.ip)]++
				m.check(t, &e)
			},
			"receipt or report": func(*rapid.T) {
				cookie, index := uint32(small(3, "cookie")), byte(small(3, "index"))
				from := endpoint{[4]byte{10, 0, 0, byte(1 + small(3, "address"))}, uint16(1 + small(3, "port"))}
				var e effects
				n := m.tb.findClient(cookie, index, from)
				if n == nil {
					return
				}
				m.packets[fmt.Sprint(cookie, from.ip)]++
				if small(2, "report") == 1 {
					n.report(m.now, from, &Report{Index: index, Result: byte(small(2, "result"))}, &e)
				} else {
					n.ack(m.now, from, index)
				}
				m.tb.changed(n)
				m.check(t, &e)
			},
			"time": func(*rapid.T) {
				m.now += time.Duration(small(8, "seconds")*1000+small(1000, "milliseconds")) * time.Millisecond
				var e effects
				m.tb.advance(m.now, &e)
				m.check(t, &e)
			},
		})
		// In the end everything ends.
		for range 1200 {
			m.now += wheelStep
			var e effects
			m.tb.advance(m.now, &e)
			m.check(t, &e)
		}
		if m.tb.count != 0 || len(m.tb.byCookie) != 0 || len(m.tb.opened) != 0 || m.tb.waiting != (queue{}) || m.tb.met != (queue{}) {
			t.Fatalf("two minutes later %d negotiations are open", m.tb.count)
		}
	})
}

// check counts the packets sent. A cookie that was closed and opened again has new
// bounds, but never more than three connects for each packet.
func (m *model) check(t *rapid.T, e *effects) {
	for _, s := range e.sends {
		h, body, err := ParseHeader(s.data[:s.size])
		c, ok := ParseConnect(body)
		if err != nil || !ok || !s.to.known() {
			t.Fatalf("sent %x to %v", s.data[:s.size], s.to)
		}
		if c.Finished == FinishedOK && c.Remote == s.to.addrPort() {
			t.Fatalf("%v was introduced to itself", s.to)
		}
		key := fmt.Sprint(h.Cookie, s.to.ip)
		m.told[key]++
		if m.told[key] > connectsPerPacket*m.packets[key] {
			t.Fatalf("%s got %d connects for %d packets", key, m.told[key], m.packets[key])
		}
	}
	if m.tb.count > 2 {
		t.Fatalf("%d negotiations are open, want at most 2", m.tb.count)
	}
	for _, n := range m.tb.byCookie {
		for i := range n.size() {
			if got := n.side(i).connects; int(got) > maxConnects*(n.size()-1) {
				t.Fatalf("%d connects to one client", got)
			}
		}
		if len(n.rivals) > maxRivals {
			t.Fatalf("%d rivals in one negotiation", len(n.rivals))
		}
	}
}
