package api

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/web/webtest"
)

// A compressed stream has the same content as an uncompressed one, at the same time.
func TestEventsCompressed(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *webtest.Pipes, _ func() time.Duration) {
		zip := []string{"Accept-Encoding", "br, gzip"}
		all := []*listener{listen(t, ln.Dial(t), "", zip...), listen(t, ln.Dial(t), "", "Accept-Encoding", "gzip;q=0")}
		if !all[0].zipped || all[1].zipped {
			t.Fatalf("compressed: %v and %v, want the first alone", all[0].zipped, all[1].zipped)
		}
		first := f.api.feed.id(f.api.feed.newest())
		mine := listen(t, ln.Dial(t), "?game=gmother", zip...)
		f.Put(webtest.Listed{Addr: "192.0.2.1:1", Rules: []string{"motd", strings.Repeat("large ", 5_000)}})
		f.Put(webtest.Listed{Addr: "192.0.2.2:1", Game: "gmother"})
		for _, l := range all {
			l.expect("added 192.0.2.1:1", "added 192.0.2.2:1")
		}
		mine.expect("added 192.0.2.2:1")
		time.AfterFunc(streamBeat+time.Second, func() {
			f.Put(webtest.Listed{Addr: "192.168.7.7:1", Game: "gmother"}) // depends on the asker
		})
		for _, l := range append(all, mine) {
			l.expect("added 192.168.7.7:1")
			if l.beats != 1 {
				t.Errorf("compressed %v: %d comments, want 1", l.zipped, l.beats)
			}
		}
		back := listen(t, ln.Dial(t), "", append(zip, "Last-Event-ID", first)...)
		back.expect("added 192.0.2.1:1", "added 192.0.2.2:1", "added 192.168.7.7:1")
		lost := listen(t, ln.Dial(t), "", append(zip, "Last-Event-ID", "x")...)
		lost.expect("reset restart")
	})
}

// The events of a batch are written and compressed once for all subscribers with the
// same choice.
func TestFormsAreShared(t *testing.T) {
	b := &batch{text: []byte("ABC"), events: []eventEnd{{"gmtest", 1}, {"gmother", 2}, {"gmtest", 3}}}
	one, two := b.formFor("gmtest", nil, advertise.Asker{}), b.formFor("gmtest", nil, advertise.Asker{})
	if one != two || string(one.bytes(false)) != "AC" || &one.bytes(true)[0] != &two.bytes(true)[0] {
		t.Errorf("two streams of a game get %q and %q, want the same memory", one.text, two.text)
	}
	for i := range 2 * maxForms {
		if got := b.formFor(fmt.Sprint("game", i), nil, advertise.Asker{}).bytes(true); len(got) != 0 {
			t.Errorf("a game without events gets %q", got)
		}
	}
	if n := len(b.forms.kept); n != maxForms {
		t.Errorf("%d forms are kept, want %d", n, maxForms)
	}
	if got := string(b.formFor("gmother", nil, advertise.Asker{}).bytes(false)); got != "B" || b.forms.bytes() != 2 {
		t.Errorf("one form too many = %q, and %d bytes are kept, want B and 2", got, b.forms.bytes())
	}
	private := &batch{text: []byte("ABC"), events: []eventEnd{{"gmtest", 3}}}
	private.mark(1, 2, netip.MustParseAddrPort("192.168.7.7:1"), func(b []byte, _ netip.AddrPort) []byte { return append(b, 'x') })
	if got := string(private.formFor("", nil, advertise.Asker{}).bytes(false)); got != "AxC" {
		t.Errorf("events with a private address = %q, want AxC", got)
	}
}

// Blocks can be read as soon as they have arrived, in any order.
func FuzzBlocks(f *testing.F) {
	f.Add([]byte(""), []byte("a"), uint16(0))
	f.Add([]byte("id: 1\nevent: added\ndata: {}\n\n"), []byte(":\n\n"), uint16(3))
	f.Fuzz(func(t *testing.T, one, two []byte, times uint16) {
		one = bytes.Repeat(one, int(times%512)+1)
		in, out := io.Pipe()
		want := bytes.Join([][]byte{one, two, one, one}, nil)
		blocks := [][]byte{deflate(one), deflate(two), deflate(one), deflate(one)}
		go func() {
			for _, b := range blocks {
				_, _ = out.Write(b)
			}
			// out stays open: a reader gets everything all the same
		}()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(flate.NewReader(in), got); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("read %d bytes of %d, %v", len(got), len(want), err)
		}
		_ = in.Close()
	})
}

func BenchmarkDeflate1000(b *testing.B) {
	f := newFixture(b)
	f.FillReal(1000)
	text := f.api.feed.write(0, 1000).text
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		b.ReportMetric(float64(len(deflate(text)))/float64(len(text)), "ratio")
	}
}
