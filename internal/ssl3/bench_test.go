package ssl3

import (
	"bytes"
	"testing"
)

// BenchmarkHandshake measures the server's part of a handshake.
func BenchmarkHandshake(b *testing.B) {
	id := testIdentity(b)
	for b.Loop() {
		b.StopTimer()
		p := newPair(b)
		p.server.identity = id
		hello := bytes.Clone(p.client.flight)
		p.client.flight = nil
		b.StartTimer()
		if _, err := feed(&p.server.state, hello); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := deliver(&p.server.state, &p.client.state); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := deliver(&p.client.state, &p.server.state); err != nil {
			b.Fatal(err)
		}
	}
}
