package uplink

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// A path has no post twice, and each step can be any of them.
func TestPathOf(t *testing.T) {
	var seen [PostSteps][PostCount]bool
	for n := range uint64(1 << 14) {
		path := pathOf(n * 0x9E3779B97F4A7C15)
		for i, at := range path {
			seen[i][at] = true
			if slices.Contains(path[:i], at) {
				t.Fatalf("path %v of %d", path, n)
			}
		}
	}
	for i := range seen {
		if slices.Contains(seen[i][:], false) {
			t.Errorf("step %d is at %v", i, seen[i])
		}
	}
}

// heard notes the packets that come to a post.
type heard struct {
	number int
	got    chan int
}

func (h heard) ServePacket(netserve.PacketWriter, netserve.Packet) { h.got <- h.number }

// Posts are opened with the first question, and not again once they are closed.
func TestPosts(t *testing.T) {
	conn, err := netserve.ListenPackets(t.Context(), "udp4", "127.0.0.1:0", netserve.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	p := NewPosts("127.0.0.1")
	if p.list.Load() != nil {
		t.Error("open before a question")
	}
	ctx, cancel := context.WithCancel(t.Context())
	got, ended := make(chan int), make(chan error)
	go func() {
		ended <- p.Serve(ctx, func(number int) netserve.PacketHandler { return heard{number, got} }, netserve.PacketOptions{})
	}()
	for _, number := range []int{3, PostCount - 1} {
		w := p.at(number, time.Now())
		if w == nil {
			t.Fatal("no post")
		}
		if err := conn.WritePacket([]byte("answer"), netip.Addr{}, w.(*netserve.PacketConn).LocalAddr()); err != nil {
			t.Fatal(err)
		}
		if at := <-got; at != number {
			t.Errorf("the answer to post %d came to %d", number, at)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	late := NewPosts("127.0.0.1")
	if err := late.Close(); err != nil || late.at(0, time.Now()) != nil {
		t.Errorf("a post after the end: %v", err)
	}
	unusable := NewPosts("192.0.2.1")
	if unusable.at(0, time.Now()) != nil || len(unusable.conns) > 0 {
		t.Error("a post at an address of another machine")
	}
}
