package ssq

import (
	"testing"

	wire "github.com/respawnd/respawnd/internal/ssq"
)

// FuzzServer has a stranger and a trusted client send the same datagram.
func FuzzServer(f *testing.F) {
	for _, text := range []string{
		"SELECT hostip,hostname,map WHERE numplayers > 0 and map != \"x\" or port < 9", "SP players WHERE hostip = 192.0.2.9:27015",
		"SP x-games", "CL LONG", "VERSION", "PING", "AUTH correct-horse", "SELECT x-source,x-verdict IDENTIFIED abc X-TOKEN abc",
		"SELECT x-player-ip,x-team-score,x-secure X-HEADER null X-OFFSET 1 X-LIMIT 2", `SELECT port WHERE map = "open`, "SELECT \\,'x\n\\n' = 1",
		"SELECT port WHERE x-first > 20260101T000000+02 or playertime = 012000 or x-seen < E5", "\n\x00", "j\x00\n", "a\x00\n\x00b\x00\n\x00",
	} {
		f.Add(append(wire.Header{ID: testID, Count: 1}.AppendTo(nil), text...))
	}
	f.Add([]byte{0, 0x10, 'C', 'L'})
	fix := newFixture(f)
	fix.threeServers()
	fix.many(400)
	f.Fuzz(func(t *testing.T, data []byte) {
		fix.t = t
		fix.server.partials.table = [maxPartial]partial{} // forget the unfinished packets of other clients
		fix.packet(stranger, data)
		if fix.bytesSent() > len(data) || len(fix.sent) > 1 {
			t.Fatalf("a stranger is sent %d bytes in %d packets for %d", fix.bytesSent(), len(fix.sent), len(data))
		}
		fix.packet(trustedClient, data)
		if len(fix.sent) == 0 {
			return
		}
		var a wire.Assembly
		for _, sent := range fix.sent {
			if sent[0] != data[0] || len(sent) > wire.MaxPacket {
				t.Fatalf("packet %x of %d bytes", sent[:2], len(sent))
			}
			if _, err := a.Add(sent); err != nil {
				t.Fatal(err)
			}
		}
		if answer := a.Answer(); string(answer) != "j\x00\n" {
			q, _ := wire.ParseQuery(data[wire.HeaderLen:])
			if _, err := wire.ParseTable(answer, q.Columns()); err != nil && (q.Header == wire.NormalHeader || q.Columns() != nil) {
				t.Fatalf("answer %q: %v", answer, err)
			}
		}
		for _, sent := range fix.sent {
			if fix.packet(trustedClient, sent); len(fix.sent) != 0 {
				t.Fatalf("the answer %q is answered", sent)
			}
		}
	})
}
