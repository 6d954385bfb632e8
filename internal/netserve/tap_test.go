package netserve

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func TestTapTakesOneAddress(t *testing.T) {
	var tap Tap
	m := NewMetrics(nil, "svc").Tapped(&tap)
	peer := netip.MustParseAddrPort("192.0.2.1:5000")
	var got []string
	w := &Watch{Addr: peer.Addr(), Take: func(p Part) { got = append(got, p.Service+p.Over+string(p.Data)) }}
	m.packet(m.watching(), Heard, 1, peer, []byte("before"))
	if !tap.Begin(w) || tap.Begin(w) {
		t.Fatal("one recording at a time")
	}
	m.packet(m.watching(), Heard, 1, peer, []byte("1"))
	m.packet(m.watching(), Said, 1, netip.MustParseAddrPort("[::ffff:192.0.2.1]:5000"), []byte("2"))
	m.packet(m.watching(), Said, 1, netip.MustParseAddrPort("192.0.2.2:5000"), []byte("other"))
	tap.End()
	m.packet(m.watching(), Heard, 1, peer, []byte("after"))
	if strings.Join(got, " ") != "svcudp1 svcudp2" {
		t.Errorf("taken: %q", got)
	}
}

func TestTapTakesRequestsAndAnswers(t *testing.T) {
	var tap Tap
	m := NewMetrics(nil, "web").Tapped(&tap)
	var got []string
	tap.Begin(&Watch{Addr: netip.MustParseAddr("192.0.2.1"), Take: func(p Part) { got = append(got, string(p.Data)) }})
	h := tapHTTP(m, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b := make([]byte, 3)
		_, _ = r.Body.Read(b)
		w.Header().Set("X", "y")
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("answer to " + string(b)))
	}))
	for _, from := range []string{"192.0.2.1:1", "192.0.2.2:1"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/path", strings.NewReader("abc"))
		r.RemoteAddr = from
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusTeapot || w.Body.String() != "answer to abc" {
			t.Errorf("answer %d %q", w.Code, w.Body)
		}
	}
	want := []string{"", "POST /path HTTP/1.1\r\nHost: example.com\r\n\r\nabc", "HTTP/1.1 418 I'm a teapot\r\nX: y\r\n\r\nanswer to abc", ""}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("taken: %q, want %q", got, want)
	}
}

// A tap without a recording must cost nothing that can be measured.
func BenchmarkTapUnused(b *testing.B) {
	var tap Tap
	m := NewMetrics(nil, "svc").Tapped(&tap)
	peer, data := netip.MustParseAddrPort("192.0.2.1:5000"), make([]byte, 100)
	b.ReportAllocs()
	for b.Loop() {
		m.packet(m.watching(), Heard, 1, peer, data)
	}
}
