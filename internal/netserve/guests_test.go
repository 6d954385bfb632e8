package netserve

import (
	"bytes"
	"slices"
	"testing"
)

// named notes the datagrams that it gets.
type named struct {
	name string
	got  *[]string
}

func (n named) ServePacket(_ PacketWriter, p Packet) {
	*n.got = append(*n.got, n.name+" "+string(p.Data))
}

// The first one that takes a datagram gets it.
func TestGuests(t *testing.T) {
	var none *Guests
	if none.Serve(nil, Packet{}) || new(Guests).Serve(nil, Packet{}) {
		t.Error("a datagram was taken by no service")
	}
	var got []string
	var g Guests
	for _, name := range []string{"a", "ab", "b"} {
		g.Add(func(p []byte) bool { return bytes.HasPrefix(p, []byte(name)) }, named{name, &got})
	}
	for text, want := range map[string]bool{"ab1": true, "b2": true, "c": false} {
		if taken := g.Serve(nil, Packet{Data: []byte(text)}); taken != want {
			t.Errorf("%s was taken: %v", text, taken)
		}
	}
	if slices.Sort(got); !slices.Equal(got, []string{"a ab1", "b b2"}) {
		t.Errorf("taken %q", got)
	}
}
