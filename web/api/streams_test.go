package api

import (
	"bytes"
	"fmt"
	"net"
	"runtime"
	"testing"

	"github.com/respawnd/respawnd/web/webtest"
)

// inUse returns the bytes of heap and stacks that this process holds.
func inUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// readUntil reads from c until the received bytes end with the text.
func readUntil(t testing.TB, c net.Conn, buf []byte, text string) {
	t.Helper()
	n := 0
	for !bytes.HasSuffix(buf[:n], []byte(text)) {
		got, err := c.Read(buf[n:])
		if err != nil {
			t.Fatalf("waiting for %q: %v after %q", text, err, buf[:n])
		}
		n += got
	}
}

// openStreams opens n streams at addr and waits until each has its place.
func openStreams(t testing.TB, connect func() net.Conn, n int) []net.Conn {
	t.Helper()
	buf := make([]byte, 4096)
	conns := make([]net.Conn, n)
	for i := range conns {
		conns[i] = connect()
		if _, err := fmt.Fprint(conns[i], "GET /api/v1/events HTTP/1.0\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatalf("stream %d: %v", i, err)
		}
		readUntil(t, conns[i], buf, "-0\n\n")
	}
	return conns
}

// The figure holds the clients of the test, too.
func TestStreamMemory(t *testing.T) {
	const streams, most = 250, 25 << 20
	f := newFixture(t)
	f.api.SetStreams(streams, streams)
	at, _, _ := f.Start(t)
	before := inUse()
	conns := openStreams(t, func() net.Conn { return webtest.Dial(t, at) }, streams)
	f.Put(webtest.Listed{Rules: []string{"hostname", "seen by all"}})
	buf := make([]byte, 4096)
	for _, c := range conns {
		readUntil(t, c, buf, "}\n\n")
	}
	used := inUse() - before
	t.Logf("%d streams take %d KiB each, %d MiB in all", streams, used/streams>>10, used>>20)
	if n := f.api.feed.len(); n != streams || used > most {
		t.Errorf("%d streams are open and take %d bytes, want %d and at most %d", n, used, streams, most)
	}
	if n := len(f.api.feed.batches); n != 1 {
		t.Errorf("one change for all streams was written %d times, want once", n)
	}
}

func BenchmarkEventBatch1000(b *testing.B) {
	f := newFixture(b)
	f.FillReal(1000)
	b.ReportAllocs()
	for b.Loop() {
		b.SetBytes(int64(len(f.api.feed.write(0, 1000).text)))
	}
}
