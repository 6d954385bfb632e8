package natneg

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
)

const (
	alice   = "203.0.113.1:5000"
	bob     = "203.0.113.2:6000"
	mallory = "203.0.113.66:6666"
)

func TestDropReasons(t *testing.T) {
	header := func(v byte, typ Type) []byte { return Header{v, typ, 77}.AppendTo(nil) }
	body := func(typ Type, n int) []byte { return append(header(3, typ), make([]byte, n)...) }
	tests := map[string]struct {
		data []byte
		from string
		want drop
	}{
		"nothing":                     {nil, alice, dropShort},
		"other protocol":              {bytes.Repeat([]byte{0xFE}, 20), alice, dropForeign},
		"version 0":                   {header(0, TypeInit), alice, dropVersion},
		"version 5":                   {header(5, TypeInit), alice, dropVersion},
		"version 255":                 {header(255, TypeInit), alice, dropVersion},
		"init":                        {initPacket(77, 0, PortNN1), alice, notDropped},
		"init of version 1":           {initOf(1, 77, Init{PortType: PortNN1}), alice, notDropped},
		"init of port type 4":         {initPacket(77, 0, 4), alice, dropMalformed},
		"init of index 7":             {initPacket(77, 7, PortNN1), alice, notDropped},
		"init of index 8":             {initPacket(77, 8, PortNN1), alice, dropIndex},
		"init of index 255":           {initPacket(77, 255, PortNN1), alice, dropIndex},
		"init, short":                 {body(TypeInit, 8), alice, dropMalformed},
		"init from port 0":            {initPacket(77, 0, PortNN1), "203.0.113.1:0", dropSource},
		"init from a group":           {initPacket(77, 0, PortNN1), "224.0.0.1:5000", dropSource},
		"init from a banned address":  {initPacket(77, 0, PortNN1), "203.0.113.99:5000", dropBanned},
		"connect receipt of nothing":  {connectAckPacket(77, 0), alice, dropUnexpected},
		"connect receipt, index 7":    {connectAckPacket(77, 7), alice, dropUnexpected},
		"connect receipt, index 8":    {connectAckPacket(77, 8), alice, dropIndex},
		"connect receipt, bare":       {header(3, TypeConnectAck), alice, dropMalformed},
		"report of nothing":           {reportPacket(77, 0, 1), alice, dropUnexpected},
		"report, index 7":             {reportPacket(77, 7, 1), alice, dropUnexpected},
		"report, index 8":             {reportPacket(77, 8, 1), alice, dropIndex},
		"report, bare":                {header(3, TypeReport), alice, dropMalformed},
		"report, 10 bytes":            {body(TypeReport, 10), alice, dropMalformed},
		"queue":                       {body(TypeQueue, 6), alice, notDropped},
		"queue, short":                {body(TypeQueue, 5), alice, dropMalformed},
		"address check of cookie 77":  {body(TypeAddressCheck, 61), alice, dropUnexpected},
		"address check, bare":         {header(3, TypeAddressCheck), alice, dropMalformed},
		"NAT test of cookie 77":       {body(TypeNATTest, 61), alice, dropUnexpected},
		"test receipt":                {body(TypeTestAck, 9), alice, dropUnused},
		"state update":                {body(TypeStateUpdate, 9), alice, dropUnused},
		"ping":                        {body(TypePing, 8), alice, dropUnused},
		"backup test":                 {body(TypeBackupTest, 9), alice, dropUnused},
		"backup receipt":              {body(TypeBackupAck, 9), alice, dropUnused},
		"init receipt":                {body(TypeInitAck, 9), alice, dropOurs},
		"connect":                     {body(TypeConnect, 8), alice, dropOurs},
		"type 0x11":                   {body(0x11, 9), alice, dropUnknownType},
		"type 0x12, a known misprint": {body(0x12, 61), alice, dropUnknownType},
		"type 0xFF":                   {body(0xFF, 61), alice, dropUnknownType},
	}
	for name, tc := range tests {
		st := newStation(t, options(func(o *Options) {
			o.Banned = func(a netip.Addr) bool { return a == netip.MustParseAddr("203.0.113.99") }
		}), "")
		if got := st.deliver(0, tc.from, tc.data); got != tc.want {
			t.Errorf("%s: dropped as %q, want %q", name, got, tc.want)
		}
	}
}

func TestAnswersAreNoLongerThanPackets(t *testing.T) {
	for version := range byte(7) {
		for typ := range 0x14 {
			st := newStation(t, options(func(o *Options) { o.AssumeUnrestricted = true }), "198.51.100.1:1")
			for size := range 120 {
				for _, cookie := range []uint32{3, 777} {
					p := append(Header{version, Type(typ), cookie}.AppendTo(nil), make([]byte, size)...)
					if size > 0 {
						p[headerSize] = 1 // a port type that all of them know
					}
					st.deliver(0, alice, p)
					out := st.post.Take()
					most := len(p)
					if version == 1 && Type(typ) == TypeInit {
						most = maxAnswer
					}
					if len(out) > 1 || (len(out) == 1 && (len(out[0].data) > most || out[0].to.String() != alice)) {
						t.Fatalf("version %d, type %#x, %d bytes: %d answers of %v", version, typ, len(p), len(out), out)
					}
				}
			}
		}
	}
}

func TestPacketsAboveTheRateAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStation(t, options(func(o *Options) {
			o.Trusted = func(a netip.Addr) bool { return a == netip.MustParseAddrPort(bob).Addr() }
		}), "")
		limited := st.opt.Config
		limited.Rate, limited.Burst = 1, 2
		st.Reload(&limited)
		for i, want := range []drop{notDropped, notDropped, dropLimited} {
			if got := st.deliver(0, alice, initPacket(77, 0, PortNN1)); got != want {
				t.Errorf("packet %d: dropped as %q, want %q", i, got, want)
			}
			if got := st.deliver(0, bob, initPacket(78, 0, PortNN1)); got != notDropped {
				t.Errorf("packet %d of a trusted address: dropped as %q", i, got)
			}
		}
	})
}

func TestAnswersMatchTheirRequest(t *testing.T) {
	st := newStation(t, DefaultOptions(), "", "198.51.100.1:27901", "198.51.100.2:27901")
	for version := byte(1); version <= 4; version++ {
		st.deliver(1, alice, initOf(version, 77, Init{PortType: PortNN2, GamePort: true}))
		want := Ack{PortType: PortNN2, Rest: [7]byte{1}}.AppendTo(Header{version, TypeInitAck, 77}.AppendTo(nil), 4)
		got := st.post.Take()
		if len(got) != 1 || !bytes.Equal(got[0].data, want) || got[0].socket != 1 || got[0].from != st.at[1].Addr() || got[0].to.String() != alice {
			t.Errorf("version %d: got %+v, want %x", version, got, want)
		}
	}
}

func TestReceiptsOfVersion1AreLongUpToABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStation(t, DefaultOptions(), "")
		sizes := func(packets int) map[int]int {
			for i := range packets {
				st.deliver(0, addr(i), initOf(1, uint32(i), Init{PortType: PortNN2}))
			}
			n := make(map[int]int)
			for _, p := range st.of(TypeInitAck, "") {
				n[len(p.data)]++
			}
			return n
		}
		if diff := cmp.Diff(map[int]int{21: longAckBurst, 15: 50}, sizes(longAckBurst+50)); diff != "" {
			t.Errorf("at once (-want +got):\n%s", diff)
		}
		st.pass(time.Second)
		if diff := cmp.Diff(map[int]int{21: longAckRate, 15: 50}, sizes(longAckRate+50)); diff != "" {
			t.Errorf("a second later (-want +got):\n%s", diff)
		}
	})
}

func TestQueueIsAnsweredWithGoOn(t *testing.T) {
	st := newStation(t, DefaultOptions(), "")
	st.deliver(0, alice, nettest.Unhex(t, "fdfc1e666ab2040fb5e0952a002438b2b35e"))
	want := nettest.Unhex(t, "fdfc1e666ab20410b5e0952a000238b2b35e")
	if got := st.post.Take(); len(got) != 1 || !bytes.Equal(got[0].data, want) {
		t.Errorf("got %+v, want %x", got, want)
	}
}

func TestUnknownReportIsConfirmed(t *testing.T) {
	st := newStation(t, DefaultOptions(), "")
	for range 2 {
		st.deliver(0, alice, reportPacket(77, 0, 1))
		got := st.of(TypeReportAck, alice)
		if len(got) != 1 || len(got[0].data) != maxAnswer || got[0].data[headerSize+2] != 0 {
			t.Errorf("got %+v, want one receipt of 21 bytes with the result cleared", got)
		}
	}
	if n := st.Open(); n != 0 {
		t.Errorf("%d cookies are open, want none", n)
	}
}

func TestConnectOnceBothAreComplete(t *testing.T) {
	st := newStation(t, DefaultOptions(), "")
	st.inits(77, 0, alice)
	st.deliver(0, bob, initPacket(77, 1, PortNN3)) // out of order
	st.deliver(0, bob, initPacket(77, 1, PortNN1))
	if got := st.of(TypeConnect, ""); len(got) != 0 {
		t.Fatalf("before all inits came: got %+v", got)
	}
	st.deliver(0, bob, initPacket(77, 1, PortNN2))
	got := st.of(TypeConnect, "")
	if len(got) != 2 || got[0].to.String() != alice || got[1].to.String() != bob {
		t.Fatalf("got %+v, want a connect to each", got)
	}
	for i, want := range []string{bob, alice} {
		if c := got[i].connect(t); c.Remote.String() != want || c.Finished != FinishedOK {
			t.Errorf("connect %d: got %+v, want %s", i, c, want)
		}
	}
}

func TestConnectLeavesFromSocketOfPort1(t *testing.T) {
	st := newStation(t, DefaultOptions(), "", "198.51.100.1:27901", "198.51.100.2:27901", "198.51.100.3:27901")
	for index, from := range []string{alice, bob} {
		for socket, port := range []PortType{PortNN2, PortNN1, PortNN3} { // as if the names were mixed up
			st.deliver(socket, from, initPacket(77, byte(index), port))
		}
	}
	got := st.of(TypeConnect, "")
	if len(got) != 2 || got[0].socket != 1 || got[1].socket != 1 || got[0].from != st.at[1].Addr() {
		t.Errorf("got %+v, want both from socket 1", got)
	}
}

func TestMissingInitsAreWaitedForALittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStation(t, DefaultOptions(), "")
		st.deliver(0, alice, initPacket(77, 0, PortNN1))
		st.inits(77, 1, bob)
		st.pass(time.Second)
		if got := st.of(TypeConnect, ""); len(got) != 0 {
			t.Fatalf("after 1 s: got %+v", got)
		}
		st.pass(400 * time.Millisecond)
		if got := st.of(TypeConnect, ""); len(got) != 2 {
			t.Errorf("after 1.4 s: got %+v, want a connect to each", got)
		}
	})
}

func TestThirdPartyChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStation(t, DefaultOptions(), "")
		st.inits(77, 0, alice)
		st.post.Take()

		for index := range byte(2) { // before the partner is there: both places
			if index == 1 {
				st.inits(77, 1, bob)
				st.post.Take()
			}
			if got := st.inits(77, index, mallory); got != dropOtherAddress {
				t.Errorf("init of index %d: dropped as %q, want %q", index, got, dropOtherAddress)
			}
			for _, p := range st.post.Take() {
				if p.to.String() == mallory && p.header(t).Type != TypeInitAck {
					t.Errorf("the third party was sent %x", p.data)
				}
			}
		}
		for index := range byte(2) {
			for _, p := range [][]byte{connectAckPacket(77, index), reportPacket(77, index, 1)} {
				if got := st.deliver(0, mallory, p); got != dropUnexpected {
					t.Errorf("packet %x: dropped as %q, want %q", p, got, dropUnexpected)
				}
			}
		}
		st.post.Take()
		// Both players, and no others, still get connect messages.
		st.pass(600 * time.Millisecond)
		got := st.of(TypeConnect, "")
		if len(got) != 2 || got[0].to.String() != alice || got[1].to.String() != bob || got[0].connect(t).Remote.String() != bob {
			t.Errorf("got %+v, want a connect to each of the two", got)
		}
	})
}

func TestOneAddressIsNotItsOwnPartner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStation(t, DefaultOptions(), "")
		st.inits(77, 0, alice)
		if got := st.inits(77, 1, alice); got != dropItself {
			t.Errorf("dropped as %q, want %q", got, dropItself)
		}
		acks, others := 0, 0
		st.pass(10 * time.Second)
		for _, p := range st.post.Take() {
			if p.header(t).Type == TypeInitAck {
				acks++
			} else {
				others++
			}
		}
		if acks != 6 || others != 0 {
			t.Errorf("got %d receipts and %d others, want 6 receipts alone", acks, others)
		}
		st.inits(77, 1, bob) // its place was not taken
		if got := st.of(TypeConnect, ""); len(got) != 2 {
			t.Errorf("a real partner: got %+v, want a connect to each", got)
		}
	})
}

func TestNewPortOfSameAddress(t *testing.T) {
	st := newStation(t, DefaultOptions(), "")
	st.inits(77, 0, alice)
	st.inits(77, 0, "203.0.113.1:5999")
	st.inits(77, 1, bob)
	got := st.of(TypeConnect, "")
	if len(got) != 2 || got[0].to.String() != "203.0.113.1:5999" || got[1].connect(t).Remote.String() != "203.0.113.1:5999" {
		t.Errorf("got %+v, want the new port", got)
	}
}

func TestWaitingPartnerIsKeptForNewRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const again = "203.0.113.1:5001"
		st := newStation(t, DefaultOptions(), "")
		st.inits(77, 0, alice)
		st.inits(77, 1, bob)
		st.deliver(0, alice, connectAckPacket(77, 0)) // Bob's connect was lost
		st.pass(300 * time.Millisecond)
		st.post.Take()
		st.inits(77, 0, again)
		got := st.of(TypeConnect, "")
		if len(got) != 2 || got[0].to.String() != again || got[1].to.String() != bob || got[1].connect(t).Remote.String() != again {
			t.Errorf("got %+v, want a connect to each, with the new port", got)
		}
	})
}

func TestLateInitsOfAnsweredRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStation(t, DefaultOptions(), "")
		st.inits(77, 0, alice)
		st.inits(77, 1, bob)
		for index, from := range []string{alice, bob} {
			st.deliver(0, from, connectAckPacket(77, byte(index)))
		}
		st.pass(reorderWindow / 2)
		st.post.Take()
		st.inits(77, 0, alice)
		if got := st.post.Take(); len(got) != 3 || got[0].header(t).Type != TypeInitAck {
			t.Errorf("within the window: got %+v, want three receipts", got)
		}
		if n := st.table.byCookie[77]; n == nil || n.phase != phasePaired {
			t.Error("within the window: a new round began")
		}
		st.pass(reorderWindow)
		st.inits(77, 0, alice)
		if n := st.table.byCookie[77]; n == nil || n.phase != phaseWaiting || n.sides[1].present() {
			t.Error("later: no new round began")
		}
	})
}

// TestForgedPacketsBringLittle counts a victim's packets for those that others sent in
// its name.
func TestForgedPacketsBringLittle(t *testing.T) {
	inits := func(n int) [][]byte {
		var out [][]byte
		for i := range n {
			out = append(out, initPacket(77, 0, PortType(1+i%3)))
		}
		return out
	}
	tests := map[string]struct {
		forged   [][]byte
		partner  bool // index 1 is the forger's own
		connects int  // at most
	}{
		"one init, no partner":        {inits(1), false, 1},
		"one init and a partner":      {inits(1), true, 1},
		"three inits, no partner":     {inits(3), false, 3},
		"three inits and a partner":   {inits(3), true, 3},
		"hundred inits and a partner": {inits(100), true, 10},
		"one of version 1":            {[][]byte{initOf(1, 77, Init{PortType: PortNN1})}, false, 1},
		"report":                      {[][]byte{reportPacket(77, 0, 1)}, false, 0},
		"NAT test":                    {[][]byte{Check{Test{PortType: PortNN3}}.AppendTo(Header{3, TypeNATTest, 777}.AppendTo(nil))}, false, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := newStation(t, DefaultOptions(), "198.51.100.1:1")
				in, most := 0, 0
				for _, p := range tc.forged {
					st.deliver(0, alice, p)
					in += len(p)
					most += max(len(p), min(maxAnswer, len(p)+longAckMore))
				}
				if tc.partner {
					st.inits(77, 1, mallory)
				}
				st.pass(2 * time.Minute)
				answers, connects, bytesOut := 0, 0, 0
				for _, p := range st.post.Take() {
					if p.to.String() != alice {
						continue
					}
					bytesOut += len(p.data)
					if p.header(t).Type == TypeConnect || p.header(t).Type == TypeTest && p.header(t).Cookie == 77 {
						connects++
					} else {
						answers++
					}
				}
				if answers != len(tc.forged) || connects > tc.connects || bytesOut > most+connects*(headerSize+connectBody) {
					t.Errorf("%d packets of %d bytes brought %d answers, %d connects and tests, %d bytes; want %d answers, at most %d of the others",
						len(tc.forged), in, answers, connects, bytesOut, len(tc.forged), tc.connects)
				}
				if st.Open() != 0 {
					t.Errorf("%d cookies are open at the end", st.Open())
				}
			})
		})
	}
}

func TestConnectsBackOffAndEndWithTheReceipt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStation(t, DefaultOptions(), "")
		for range 2 {
			st.inits(77, 0, alice)
		}
		st.inits(77, 1, bob)
		if got := st.deliver(0, bob, connectAckPacket(77, 1)); got != notDropped {
			t.Fatalf("connect receipt: dropped as %q", got)
		}
		if n := len(st.of(TypeConnect, alice)); n != 1 {
			t.Fatalf("got %d connects at once, want 1", n)
		}
		start, last, gap := time.Now(), time.Now(), 400*time.Millisecond
		count := 1
		for time.Since(start) < 20*time.Second {
			st.pass(wheelStep)
			for _, p := range st.post.Take() {
				if p.to.String() != alice {
					t.Errorf("after its receipt, %v was sent %x", p.to, p.data)
					continue
				}
				next := time.Since(last)
				if next < gap-wheelStep || time.Since(start) > connectWindow {
					t.Errorf("connect %d came %v after the one before and %v after the first", count, next, time.Since(start))
				}
				last, gap = time.Now(), next
				count++
			}
		}
		if want := len(connectGaps) + 1; count != want {
			t.Errorf("got %d connects, want %d", count, want)
		}
	})
}

func TestNATTestsAreAnsweredHonestly(t *testing.T) {
	const a, b, c = "198.51.100.1:27901", "198.51.100.2:27901", "198.51.100.3:27901"
	const second = "198.51.100.1:40000"
	// answer is the socket and the address that the answer leaves from; none is
	// "no answer".
	type answer struct {
		socket int
		from   string
	}
	none := answer{-9, ""}
	tests := map[string]struct {
		at     []string
		second string
		assume bool                // Config.AssumeUnrestricted
		to     int                 // socket that the tests come to
		other  int                 // socket of natneg2, which test 3 came to before test 2
		want   map[PortType]answer // of tests 1 to 3
	}{
		"one address": {[]string{a}, second, false, 0, 0, map[PortType]answer{
			1: {0, a}, 2: none, 3: {-1, a},
		}},
		"one address, insisting": {[]string{a}, second, true, 0, 0, map[PortType]answer{
			1: {0, a}, 2: {0, a}, 3: {-1, a},
		}},
		"one address, no second socket": {[]string{a}, "", false, 0, 0, map[PortType]answer{
			1: {0, a}, 2: none, 3: none,
		}},
		"one address, another port": {[]string{a, "198.51.100.1:27902"}, "", false, 0, 0, map[PortType]answer{
			1: {0, a}, 2: none, 3: {1, a},
		}},
		"two addresses, natneg1": {[]string{a, b}, second, false, 0, 1, map[PortType]answer{
			1: {0, a}, 2: none, 3: {-1, a},
		}},
		"two addresses, all names lead to one": {[]string{a, b}, second, false, 0, 0, map[PortType]answer{
			1: {0, a}, 2: {1, b}, 3: {-1, a},
		}},
		"two addresses, natneg2": {[]string{a, b}, second, false, 1, 0, map[PortType]answer{
			1: {1, b}, 2: none, 3: {-1, a},
		}},
		"two addresses, second socket on all": {[]string{a, b}, "0.0.0.0:40000", false, 1, 0, map[PortType]answer{
			1: {1, b}, 2: none, 3: {-1, b},
		}},
		"three addresses, natneg1": {[]string{a, b, c}, second, false, 0, 1, map[PortType]answer{
			1: {0, a}, 2: {2, c}, 3: {-1, a},
		}},
		"three addresses, natneg2": {[]string{a, b, c}, second, false, 1, 0, map[PortType]answer{
			1: {1, b}, 2: {2, c}, 3: {-1, a},
		}},
		"three addresses and further ports": {[]string{a, "198.51.100.1:27902", b, "198.51.100.2:27902", c}, "", false, 0, 2, map[PortType]answer{
			1: {0, a}, 2: {4, c}, 3: {1, a},
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			st := newStation(t, options(func(o *Options) { o.AssumeUnrestricted = tc.assume }), tc.second, tc.at...)
			for port, want := range tc.want {
				if port == PortNN2 {
					st.deliver(tc.other, alice, Check{Test{PortType: PortNN3}}.AppendTo(Header{3, TypeNATTest, 777}.AppendTo(nil)))
					st.post.Take()
				}
				check := Check{Test{PortType: port, Data: [8]byte{1, 2, 3, 4, 5, 6, 7, 8}}}
				dropped := st.deliver(tc.to, alice, check.AppendTo(Header{3, TypeNATTest, 777}.AppendTo(nil)))
				got := st.post.Take()
				if want == none {
					if len(got) != 0 || dropped != dropUntestable {
						t.Errorf("test %d: got %+v, dropped as %q; want no answer", port, got, dropped)
					}
					continue
				}
				data := check.Test.AppendTo(Header{3, TypeTest, 777}.AppendTo(nil))
				if len(got) != 1 || got[0].socket != want.socket || got[0].from != netip.MustParseAddrPort(want.from).Addr() ||
					!bytes.Equal(got[0].data, data) || got[0].to.String() != alice {
					t.Errorf("test %d: got %+v, want %x from %+v", port, got, data, want)
				}
			}
			if st.Open() != 0 {
				t.Errorf("%d cookies are open after NAT tests", st.Open())
			}
		})
	}
}

func TestNATTest2OnAWildcardAddressIsHonest(t *testing.T) {
	st := newStation(t, DefaultOptions(), "", "0.0.0.0:27901", "198.51.100.2:27901", "198.51.100.3:27901")
	deliver := func(to, natneg2 string) []sent {
		st.handle(0, st.wires[0], netserve.Packet{
			Data: Check{Test{PortType: PortNN3}}.AppendTo(Header{3, TypeNATTest, 777}.AppendTo(nil)),
			From: netip.MustParseAddrPort(alice), To: netip.MustParseAddr(natneg2),
		})
		st.post.Take()
		test := Check{Test{PortType: PortNN2}}.AppendTo(Header{3, TypeNATTest, 777}.AppendTo(nil))
		p := netserve.Packet{Data: test, From: netip.MustParseAddrPort(alice)}
		if to != "" {
			p.To = netip.MustParseAddr(to)
		}
		st.handle(0, st.wires[0], p)
		return st.post.Take()
	}
	if got := deliver("198.51.100.1", "198.51.100.2"); len(got) != 1 || got[0].socket != 2 {
		t.Errorf("sent to .1: got %+v, want an answer from .3", got)
	}
	if got := deliver("198.51.100.2", "198.51.100.3"); len(got) != 0 {
		t.Errorf("sent to .2, with one other left that is natneg2: got %+v, want no answer", got)
	}
	if got := deliver("", "198.51.100.2"); len(got) != 0 {
		t.Errorf("sent to an address that the system does not tell: got %+v, want no answer", got)
	}
}

func TestAddressCheckCookies(t *testing.T) {
	st := newStation(t, DefaultOptions(), "")
	for cookie := range uint32(5) {
		st.deliver(0, alice, Check{Test{PortType: PortNN2, Data: [8]byte{7, 8}}}.AppendTo(Header{4, TypeAddressCheck, cookie}.AppendTo(nil)))
		got := st.post.Take()
		if cookie > maxCookieAddress {
			if len(got) != 0 {
				t.Errorf("cookie %d: got %+v, want no answer", cookie, got)
			}
			continue
		}
		want := AddressReply{PortNN2, 7, 8, netip.MustParseAddrPort(alice)}.AppendTo(Header{4, TypeAddressReply, cookie}.AppendTo(nil))
		if len(got) != 1 || !bytes.Equal(got[0].data, want) {
			t.Errorf("cookie %d: got %+v, want %x", cookie, got, want)
		}
	}
	if st.Open() != 0 {
		t.Errorf("%d cookies are open after address checks", st.Open())
	}
}

func TestOutcomesAreLoggedAndCounted(t *testing.T) {
	reports := func(a, b int) func(st *station) {
		return func(st *station) {
			st.inits(77, 0, alice)
			st.inits(77, 1, bob)
			st.deliver(0, alice, connectAckPacket(77, 0))
			st.deliver(0, bob, connectAckPacket(77, 1))
			for i, result := range []int{a, b} {
				if result >= 0 {
					r := Report{Index: byte(i), Result: byte(result), NATType: [4]byte{5}}
					p := r.AppendTo(Header{3, TypeReport, 77}.AppendTo(nil))
					st.deliver(0, []string{alice, bob}[i], p)
					st.deliver(0, []string{alice, bob}[i], p) // a repeated one counts once
				}
			}
		}
	}
	tests := map[string]struct {
		play         func(st *station)
		words        string
		nats, result string
	}{
		"both connected":   {reports(1, 1), "connected", "symmetric x symmetric", "connected"},
		"one report came":  {reports(-1, 1), "connected", "unknown x symmetric", "connected"},
		"one side only":    {reports(0, 1), "connected on one side only: symmetric x symmetric", "symmetric x symmetric", "one_sided"},
		"none connected":   {reports(0, 0), "gave up: symmetric x symmetric", "symmetric x symmetric", "gave_up"},
		"none reported":    {reports(-1, -1), "introduced, no report came", "unknown x unknown", "no_report"},
		"no partner":       {func(st *station) { st.inits(77, 0, alice) }, "partner never came", "unknown x unknown", "no_partner"},
		"stopped half-way": {func(st *station) { st.deliver(0, alice, initPacket(77, 0, PortNN2)) }, "packets of one stopped half-way", "unknown x unknown", "half_way"},
		"no receipts": {func(st *station) {
			st.inits(77, 0, alice)
			st.inits(77, 1, bob)
		}, "introduced, not confirmed by both", "unknown x unknown", "unanswered"},
	}
	catalogue, err := games.NewCatalog([]games.Game{{Name: "gmtest"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				reg := prometheus.NewPedanticRegistry()
				var met []string
				st := newStation(t, options(func(o *Options) {
					o.Games, o.Log, o.Registerer = catalogue, zerolog.New(&log), reg
					o.Met = func(a netip.AddrPort) { met = append(met, a.String()) }
				}), "")
				tc.play(st)
				st.pass(2 * time.Minute)
				wantMet := []string(nil)
				if tc.result == "connected" {
					wantMet = []string{alice, bob}
				}
				if !slices.Equal(met, wantMet) {
					t.Errorf("Met was called with %q, want %q", met, wantMet)
				}
				if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), `"result":"`+tc.words+`"`) {
					t.Errorf("log: got %s, want one line with result %q", log.String(), tc.words)
				}
				if strings.Contains(log.String(), "77") {
					t.Errorf("log: the cookie is in %s", log.String())
				}
				want := map[string]float64{"gmtest, " + tc.nats + ", " + tc.result: 1}
				if diff := cmp.Diff(want, gathered(t, reg, "respawnd_natneg_negotiations_total")); diff != "" {
					t.Errorf("metrics (-want +got):\n%s", diff)
				}
				if st.Open() != 0 {
					t.Errorf("%d cookies are open at the end", st.Open())
				}
			})
		})
	}
}

// gathered returns the values of a metric by its labels.
func gathered(t *testing.T, reg prometheus.Gatherer, name string) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			if f.GetName() == name {
				out[strings.Join(labels, ", ")] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return out
}

func TestGamesBeyondTheLabelsCountAsOther(t *testing.T) {
	m := newMetrics(nil, func() int { return 0 }, func() int { return 0 })
	for i := range maxGameLabels + 5 {
		want := addr(i)
		if i >= maxGameLabels {
			want = otherGames
		}
		if got := m.label(addr(i)); got != want {
			t.Errorf("label of game %d: got %q, want %q", i, got, want)
		}
	}
	if got := m.label(addr(3)); got != addr(3) {
		t.Errorf("label of a game that has one: got %q", got)
	}
	if got := m.label(""); got != otherGames {
		t.Errorf("label of an unknown game: got %q", got)
	}
}

func TestLogIsNotFilledByStrangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		j := newJournal(zerolog.New(&log).Level(zerolog.InfoLevel))
		for range 10 * logBurst {
			j.note(&outcome{result: resultNoPartner})
		}
		if got := strings.Count(log.String(), "\n"); got != logBurst {
			t.Errorf("got %d lines at once, want %d", got, logBurst)
		}
	})
}

func TestPacketsAndTicksMayCrossEachOther(t *testing.T) {
	st := newStation(t, options(func(o *Options) { o.MaxOpen = 50 }), "")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for cookie := range uint32(300) {
				from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(1 + i)}), uint16(1000+cookie))
				for _, p := range pairPackets() {
					if p.index == byte(i%2) {
						binary.BigEndian.PutUint32(p.data[8:], cookie)
						st.serve(0, nettest.Discard{}, packetFrom(from, p.data))
					}
				}
			}
		})
	}
	wg.Go(func() {
		for range 100 {
			st.Tick()
		}
	})
	wg.Wait()
	if st.Open() > 50 {
		t.Errorf("%d cookies are open, want at most 50", st.Open())
	}
}

func FuzzHandle(f *testing.F) {
	for _, c := range readJSON[captured](f, "packets.json") {
		f.Add(nettest.Unhex(f, c.Hex), nettest.Unhex(f, c.Hex))
	}
	f.Add(initOf(1, 77, Init{PortType: PortNN1}), initOf(1, 77, Init{PortType: PortNN1, Index: 1}))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		st := newStation(t, DefaultOptions(), "198.51.100.1:1")
		in := map[string]int{}
		for i, p := range [][]byte{a, b, a, b} {
			from := []string{alice, bob}[i%2]
			st.deliver(0, from, p)
			in[from] += len(p)
			if h, _, err := ParseHeader(p); err == nil && h.Version == 1 && h.Type == TypeInit {
				in[from] += longAckMore
			}
		}
		out := map[string]int{}
		connects := map[string]int{}
		for _, p := range st.post.Take() {
			if p.header(t).Type == TypeConnect {
				connects[p.to.String()]++
				continue
			}
			out[p.to.String()] += len(p.data)
		}
		for to, n := range out {
			if n > in[to] || connects[to] > 1 {
				t.Errorf("%s sent %d bytes and was sent %d and %d connects", to, in[to], n, connects[to])
			}
		}
	})
}
