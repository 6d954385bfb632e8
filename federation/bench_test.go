package federation

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/quake3"
)

// BenchmarkPoll reads a master with 5,000 servers that are known already, as every poll
// after the first does. Time that the scripted master takes is included, and for q3 the
// second that a reading waits for further packets.
func BenchmarkPoll(b *testing.B) {
	list := numbered(5000)
	for name, tc := range map[string]struct {
		entry string
		at    func() string
	}{
		"q3":        {"q3 %s protocol=3", func() string { return packetMaster(b, sends(quake3.AppendLists(nil, list, false)...)) }},
		"zandronum": {"zandronum %s", func() string { return packetMaster(b, sends(zandronumPackets(list)...)) }},
		"valve":     {"valve %s", func() string { return packetMaster(b, valvePages(list, 230)) }},
		"gamespy":   {"gamespy %s game=ut enctype=2", func() string { return connMaster(b, gameSpyMaster(2, "Z5Nfb0", list)) }},
		"respawnd":  {"respawnd %s", func() string { return jsonPeer(b, len(list)) }},
	} {
		b.Run(name, func(b *testing.B) {
			w := newBench(b)
			s := w.reader(b, fmt.Sprintf(tc.entry, tc.at()))
			s.turn(b.Context())
			if s.told.Load() < 4400 { // Zandronum's list ends after 255 packets
				b.Fatalf("told of %d servers: %s", s.told.Load(), s.now(0).Error)
			}
			for b.Loop() {
				s.turn(b.Context())
			}
		})
	}
}

// BenchmarkTell records known servers, 5,000 at a time.
func BenchmarkTell(b *testing.B) {
	w := newBench(b)
	s := w.source(b, 0, "q3 a.org protocol=1")
	list := numbered(5000)
	for b.Loop() {
		s.begin()
		tellAll(s, list)
		s.finish(resultRead, nil, w.live.Load(), time.Now())
	}
}

// jsonPeer answers with n servers.
func jsonPeer(b *testing.B, n int) string {
	b.Helper()
	var out strings.Builder
	out.WriteString(`{"master":"other","count":1,"servers":[`)
	for i, a := range numbered(n) {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, `{"id":"quake3-%s","game":"openarena","origin":"quake3","query":"quake3","address":%q}`, a, a)
	}
	out.WriteString("]}")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(out.String())) }))
	b.Cleanup(s.Close)
	return s.URL
}
