package dnsserver

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/racetest"
)

// clientQuestions are typical questions of clients.
func clientQuestions(t testing.TB) (packets [][]byte) {
	for _, name := range []string{"gmtest.master.gamespy.com", "gpcm.gamespy.com", "example.org", "."} {
		for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeTXT, dns.TypeANY, dns.TypeAXFR} {
			packets = append(packets, pack(t, about(name, kind)), pack(t, about(name, kind).SetEdns0(4096, true)))
		}
	}
	chaos := about("version.bind", dns.TypeTXT)
	chaos.Question[0].Qclass = dns.ClassCHAOS
	status := about("gpcm.gamespy.com", dns.TypeA)
	status.Opcode = dns.OpcodeStatus
	return append(packets, pack(t, chaos), pack(t, status),
		[]byte("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\xC0\x0C\x00\x01\x00\x01"),
		[]byte("\x12\x34\x01\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01\x00\x00\x01\x00\x01"))
}

func TestFloodOfStrangersIsNotAnswered(t *testing.T) {
	a := &nettest.Attack{Handler: newServer(t, nil), To: netip.MustParseAddr("192.168.1.5"), Packets: clientQuestions(t)}
	if r := a.Run(t); r.Total.PacketsOut != 0 {
		t.Errorf("strangers were sent %d packets", r.Total.PacketsOut)
	}
}

// An answer is larger than its question by a record, and a compressed name is
// expanded in it. So only machines of one network get answers.
func TestFloodFromForgedNetworkAddresses(t *testing.T) {
	racetest.Skip(t, "sends many packets")
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, func(o *Options) {
			configs.Defaults(&o.Config)
		})
		a := &nettest.Attack{
			Handler: s, To: netip.MustParseAddr("192.168.1.5"), Packets: clientQuestions(t), First: netip.MustParseAddr("10.0.0.0"), Memory: 64 << 20,
			Pass: func() { time.Sleep(50 * time.Millisecond) },
			Exceptions: []nettest.Exception{{
				Name: "answers", Is: func([]byte) bool { return true },
				More: func(in nettest.Account) (packets, size int) { return 0, longestRecord*in.PacketsIn + longName },
			}},
		}
		a.Run(t)
	})
}

// longestRecord is the length of a SOA in an answer, the longest record there, in bytes.
const longestRecord = 35

// longName bounds the bytes by which expanded names lengthen answers to damaged
// questions, over a whole attack.
const longName = 512
