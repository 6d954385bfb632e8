package dnsserver

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/miekg/dns"
)

// FuzzServePacket checks the handling of packets of clients.
func FuzzServePacket(f *testing.F) {
	f.Add(pack(f, about("gmtest.master.gamespy.com", dns.TypeA)))
	f.Add(pack(f, about("gpcm.gamespy.com", dns.TypeA).SetEdns0(4096, true)))
	f.Add(pack(f, about("example.org", dns.TypeANY)))
	f.Add([]byte("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\xC0\x0C\x00\x01\x00\x01"))
	f.Add([]byte("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x02\x03www\xC0\x0C\x00\x01\x00\x01\xC0\x0C\x00\x29\x10\x00\x00\x00\x80\x00\x00\x04\xC0\x0C\xC0\x0C"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := newServer(t, nil)
		got := s.packet(t, "192.168.1.77:99", b)
		if got == nil {
			return
		}
		m := unpack(t, got)
		if !m.Response || !bytes.Equal(got[:2], b[:2]) {
			t.Errorf("answer %v to %x", m, b)
		}
		// A compressed name in the question is expanded in the answer.
		most := max(len(b), headerSize) + longestRecord
		if written := headerSize + 255 + 4 + longestRecord + 11; bytes.IndexFunc(b[min(headerSize, len(b)):], func(r rune) bool { return r > 0x7F }) >= 0 {
			most = written
		}
		if len(got) > most {
			t.Errorf("%d bytes for %d: %v", len(got), len(b), m)
		}
		if len(m.Answer) > 0 && (!isGame(dns.CanonicalName(m.Question[0].Name[:len(m.Question[0].Name)-1])[:len(m.Question[0].Name)-1]) || addressIn(m) != "192.168.1.5") {
			t.Errorf("answer %v to a name that is not ours", m)
		}
	})
}

// FuzzRelay checks the handling of packets of upstreams, for clients with every
// limit.
func FuzzRelay(f *testing.F) {
	q := about("example.org", dns.TypeTXT).SetEdns0(1232, true)
	f.Add(pack(f, long(q, 3)), uint16(512))
	f.Add(pack(f, long(q, 40)), uint16(1232))
	f.Add(pack(f, says(f, q, "192.0.2.1")), uint16(0xFFFF))
	f.Add(pack(f, empty(q, dns.TypeTKEY)), uint16(1232))
	f.Fuzz(func(t *testing.T, b []byte, limit uint16) {
		limit = max(limit, dns.MinMsgSize)
		if len(b) >= 2 {
			binary.BigEndian.PutUint16(b, 7)
		}
		from, ok := question{name: "example.org.", kind: dns.TypeTXT}.answeredBy(b, 7)
		if !ok {
			return
		}
		for _, edns := range []bool{true, false} {
			m := about("Example.ORG", dns.TypeTXT)
			if edns {
				m.SetEdns0(4096, true)
			}
			var w query
			if code, ok := w.read(pack(t, m)); !ok || code != dns.RcodeSuccess {
				t.Fatal(code, ok)
			}
			var r reply
			r.begin(&w, dns.RcodeServerFailure, true)
			r.relay(from)
			got, err := r.pack(nil, int(limit))
			if err != nil || len(got) > int(limit) {
				t.Fatalf("%d bytes, %v; want at most %d", len(got), err, limit)
			}
			if a := unpack(t, got); a.Id != m.Id || a.Question[0] != m.Question[0] || (a.IsEdns0() != nil) != edns {
				t.Errorf("answer %v to %v", a, m)
			}
		}
	})
}
