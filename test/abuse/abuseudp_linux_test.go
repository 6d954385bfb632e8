package abuse

import (
	"bytes"
	"fmt"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/respawnd/respawnd/cdkey"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/ssq"
	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/mangler"
	"github.com/respawnd/respawnd/natneg"
	"github.com/respawnd/respawnd/test/rig"
	"github.com/respawnd/respawnd/valvemaster"
)

// datagrams is a service over UDP.
type datagrams struct {
	service string
	// ping is answered with one packet, to an address that sends it for the first
	// time.
	ping []byte
	// packets are other packets of clients.
	packets [][]byte
	// burst is the number of packets of an unproved address that are answered
	// at once by default, and rate the number per second later on.
	burst, rate int
}

// datagramServices are all services over UDP that answer strangers.
func datagramServices(t testing.TB) []datagrams {
	question := new(dns.Msg).SetQuestion("gpcm.gamespy.com.", dns.TypeA)
	name, err := question.Pack()
	if err != nil {
		t.Fatal(err)
	}
	init := natneg.Init{PortType: natneg.PortNN1, Game: []byte(rig.TestGame)}
	report := natneg.Report{Result: 1}
	heartbeat := gamespy.AppendPair([]byte("\x03KKKK"), "gamename", rig.TestGame)
	ask := func(text string) []byte { return append(ssq.Header{ID: 7, Count: 1}.AppendTo(nil), text...) }
	return []datagrams{{
		service: "qr2", ping: []byte("\x09KKKK" + rig.TestGame + "\x00"), burst: 60, rate: 20,
		packets: [][]byte{heartbeat, []byte("\x08KKKK"), []byte("\x01KKKKwrong\x00"), []byte(`\heartbeat\6500\gamename\` + rig.TestGame), []byte(`\echo\hello`)},
	}, {
		service: "natneg", ping: report.AppendTo(natneg.Header{Version: 3, Type: natneg.TypeReport, Cookie: 7}.AppendTo(nil)), burst: 200, rate: 40,
		packets: [][]byte{init.AppendTo(natneg.Header{Version: 3, Type: natneg.TypeInit, Cookie: 7}.AppendTo(nil), 3)},
	}, {
		service: "zanmaster", ping: zandronum.Encode(nil, zandronum.AppendListRequest(nil, zandronum.ListVersion)), burst: 2, rate: 1,
		packets: [][]byte{
			zandronum.Encode(nil, zandronum.AppendChallenge(nil, zandronum.Challenge{Verification: []byte(rig.ZanString), Complete: true, Enforces: true, Revision: rig.ZanRevision})),
			zandronum.Encode(nil, zandronum.AppendQuery(nil, zandronum.Query{})),
		},
	}, {
		service: "valvemaster", ping: valvemaster.ChallengeRequest{}.AppendTo(nil), burst: 60, rate: 20,
		packets: [][]byte{valvemaster.ListRequest{Region: valvemaster.AnyRegion, Seed: valvemaster.Start}.AppendTo(nil), []byte("b\n")},
	}, {
		service: "q3master", ping: []byte("\xff\xff\xff\xffgetservers 68"), burst: 16, rate: 1,
		packets: [][]byte{[]byte("\xff\xff\xff\xffheartbeat QuakeArena-1\n"), []byte("\xff\xff\xff\xffheartbeat DarkPlaces\n"), []byte("\xff\xff\xff\xffinfoResponse\n\\challenge\\x")},
	}, {
		service: "q2master", ping: []byte("query"), burst: 16, rate: 1,
		packets: [][]byte{[]byte("\xff\xff\xff\xffheartbeat\n\\hostname\\x\n"), []byte("\xff\xff\xff\xffping"), []byte("\xff\xff\xff\xffshutdown")},
	}, {
		service: "qwmaster", ping: []byte("c\n\x00"), burst: 16, rate: 1,
		packets: [][]byte{[]byte("a\n1\n0\n"), []byte("k\x00"), []byte("C\n")},
	}, {
		service: "odamaster", ping: []byte("\xa3\xdb\x0b\x00"), burst: 16, rate: 1,
		packets: [][]byte{[]byte("\xd4\xd6T\x00\xaa\x29"), []byte("\xd4\xd6T\x00"), []byte("\xd4\xd6T\x00\x01\x02\x03\x04\x05\x06\x07\x08x")},
	}, {
		service: "torquemaster", ping: []byte("\x02\x00\x01\x02\x03\x04"), burst: 16, rate: 1,
		packets: [][]byte{[]byte("\x16\x00\x00\x00\x00\x00"), []byte("\x0c\x00\x01\x02\x03\x04\x01a\x01b\x08"), []byte("\x06\x00\x01\x02\x03\x04\xff")},
	}, {
		service: "tribesmaster", ping: []byte("\x10\x03\xff\x00\x02"), burst: 16, rate: 1,
		packets: [][]byte{[]byte("\x10\x05"), []byte("\x10\x04\x00\x00\x01\x02"), []byte("\x10\x03\xff")},
	}, {
		service: "idmaster", ping: []byte("\xff\xffgetServers\x00\x29\x00\x01\x00\x00\x00"), burst: 16, rate: 1,
		packets: [][]byte{[]byte("\xff\xffheartbeat\x00"), []byte("\xff\xffsrvAuth\x00\x01"), []byte("\xff\xffinfoResponse\x00\x01\x02\x03\x04")},
	}, {
		service: "codmaster", ping: []byte("\xff\xff\xff\xffgetservers 118"), burst: 16, rate: 1,
		packets: [][]byte{[]byte("\xff\xff\xff\xffheartbeat COD-2\n"), []byte("\xff\xff\xff\xffgetIpAuthorize 1"), []byte("\xff\xff\xff\xffgetKeyAuthorize 0 KEY")},
	}, {
		service: "nwmaster", ping: []byte("BMMA\x00\x14\x00\x00"), burst: 1 << 20, // as many as there were questions: none is longer
		packets: [][]byte{[]byte("BMHB"), []byte("BMPA\x01"), []byte("BNXR")},
	}, {
		service: "ssq", ping: ask("PING"), burst: 1 << 20, // as many as there were questions: none is longer
		packets: [][]byte{ask("SELECT hostip,hostname          "), ask("CL LONG                         "), ask("VERSION                         ")},
	}, {
		service: "cdkey", ping: rig.CdKeyAuth("KEY", 461, 7), burst: 400, rate: 50,
		packets: [][]byte{rig.GamespyXOR(`\uoff\\skey\7`), rig.GamespyXOR(`\ka\`), rig.GamespyXOR(`\ison\\cd\` + cdkey.HashOf("KEY") + `\skey\7\pch\x`)},
	}, {
		service: "mangler", ping: mangler.NewRequest([2]byte{0x7f, 0}, 12345).AppendTo(nil), burst: 400, rate: 50,
		packets: [][]byte{make([]byte, mangler.PacketLen), mangler.Packet{Command: mangler.Answer}.AppendTo(nil), []byte("\xF0\x0D")},
	}, {
		service: "theater", ping: []byte("ECHO@\x00\x00\x00\x00\x00\x00\x1eTXN=ECHO\nTID=1\n\x00\x00\x00"), burst: 10, rate: 5,
		packets: [][]byte{[]byte("CONN@\x00\x00\x00\x00\x00\x00\x0c"), []byte("ECHO")},
	}, {
		service: "dns", ping: name, burst: 200, rate: 50, packets: [][]byte{name[:len(name)-1], {0, 1, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
	}}
}

// fences make sure that all packets before them have been handled.
type fences struct {
	d *rig.Running
	n uint16
}

// Wait returns once a service has answered a packet from an address that has
// never sent one before.
func (f *fences) Wait(s datagrams) {
	f.d.T.Helper()
	f.n++
	c := rig.NewFlooder(f.d.T, netip.AddrFrom4([4]byte{127, 41, byte(f.n >> 8), byte(f.n)}))
	c.MustSend(f.d.Address[s.service], s.ping)
	if _, err := c.Conn.Read(make([]byte, 1<<16)); err != nil {
		f.d.T.Fatalf("%s: a stranger is not answered: %v", s.service, err)
	}
	_ = c.Conn.Close()
}

// Lists to unproved addresses are limited in total; the address of a listed
// server still gets them.
func TestZandronumListsInAll(t *testing.T) {
	t.Parallel()
	d := rig.StartZan(t, t.TempDir(), rig.NoWindow, rig.Variable("zanmaster.lists_total", "1"))
	h := rig.NewZanHost(t, d, rig.Home, nil)
	h.MustRegister()
	rig.WantZanList(t, rig.NewZanPeer(t, d, netip.MustParseAddr("127.43.0.1"), nil), h)
	refused := false
	for n := byte(1); !refused && n <= 3; n++ { // ten seconds may end before the first of them asks
		late := rig.NewZanPeer(t, d, netip.AddrFrom4([4]byte{127, 43, 1, n}), nil)
		late.MustSend(zandronum.AppendListRequest(nil, zandronum.ListVersion))
		got, err := zandronum.ParseListPacket(late.MustNext("an answer"))
		rig.Must(t, err)
		refused = got.Answer == zandronum.AnswerTooSoon
	}
	if !refused {
		t.Error("no list is refused, want one in ten seconds")
	}
	rig.WantZanList(t, rig.NewZanPeer(t, d, rig.Home, nil), h)
	d.Stop()
}

// An unproved address is answered at the default rate, and is never sent more
// packets than it sent.
func TestStrangersAreRationed(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	f := fences{d: d}
	for i, s := range datagramServices(t) {
		began := time.Now()
		c := rig.NewFlooder(t, netip.AddrFrom4([4]byte{127, 40, 0, byte(i)}))
		const packets, portion = 600, 50 // portions, so that none is lost
		got := 0
		for range packets / portion {
			for range portion {
				c.MustSend(d.Address[s.service], s.ping)
			}
			f.Wait(s)
			got += len(c.Answers())
		}
		most := min(packets, s.burst+int(time.Since(began).Seconds()*float64(s.rate))+1)
		if got > most || got < min(s.burst, packets)/2 {
			t.Errorf("%s: %d packets brought %d answers, want at most %d", s.service, packets, got, most)
		}
	}
	d.Stop()
}

// A packet with the forged address of another service does not start an endless
// exchange between the two services.
func TestServicesDoNotTalkToEachOther(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	rig.Register(t, d, "hostname", "Here")
	f := fences{d: d}
	services := datagramServices(t)
	n := byte(0)
	for _, first := range services {
		for _, second := range services {
			n++
			c := rig.NewFlooder(t, netip.AddrFrom4([4]byte{127, 42, n, 1}))
			for _, p := range append([][]byte{first.ping}, first.packets...) {
				c.MustSend(d.Address[first.service], p)
			}
			began := time.Now()
			f.Wait(first)
			came := c.Answers()
			const longest, endless = 12, 200 // the echo of the older protocol answers a few, then one a second
			for turn := 0; len(came) > 0; turn++ {
				if turn >= min(longest+int(time.Since(began)/time.Second), endless) {
					t.Errorf("%s and %s talk to each other: %x", first.service, second.service, came[0])
					break
				}
				to := second
				if turn%2 == 1 {
					to = first
				}
				for _, p := range came {
					c.MustSend(d.Address[to.service], p)
				}
				f.Wait(to)
				came = c.Answers()
			}
			_ = c.Conn.Close()
		}
	}
	d.Stop()
}

// Invalid packets from many addresses are counted and not answered, and no
// memory is kept for them.
func TestGarbageIsCountedAndNotAnswered(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	f := fences{d: d}
	for i, s := range datagramServices(t) {
		var sources []rig.Flooder
		for j := range byte(64) {
			sources = append(sources, rig.NewFlooder(t, netip.AddrFrom4([4]byte{127, 43, byte(i), 1 + j})))
		}
		sent := 0
		for round := range byte(8) {
			for _, c := range sources {
				// Not the first byte of anything, in any of the protocols.
				c.MustSend(d.Address[s.service], append([]byte{0xEE, 0x80, 0x80 | round}, bytes.Repeat([]byte{round}, int(round)*100)...))
				sent++
			}
			f.Wait(s)
		}
		for _, c := range sources {
			if got := c.Answers(); len(got) != 0 && s.service != "ssq" {
				t.Fatalf("%s answers rubbish with %x", s.service, got[0])
			}
			_ = c.Conn.Close()
		}
		received, err := strconv.Atoi(rig.Metric(t, d, fmt.Sprintf("respawnd_packets_received_total{service=%q}", s.service)))
		if err != nil || received < sent {
			t.Errorf("%s: %d packets counted, %v, want at least %d", s.service, received, err, sent)
		}
	}
	d.Stop()
}
