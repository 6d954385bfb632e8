package mangler

import (
	"bytes"
	"errors"
	"net/netip"
	"testing"

	"github.com/respawnd/respawnd/internal/nettest"
)

// The example dialogue. It was made from the layout and was not recorded.
const (
	exampleRequest = "008f29ecf00d7f004444303944444444" + "0c004444"
	exampleAnswer  = "0092133cf00d7f009c413039cb007107" + "2c004444"
)

func TestExample(t *testing.T) {
	for name, test := range map[string]struct {
		hex  string
		want Packet
	}{
		"request": {exampleRequest, NewRequest([2]byte{0x7F, 0}, 12345)},
		"answer": {exampleAnswer, Packet{
			ID: [2]byte{0x7F, 0}, Seen: netip.MustParseAddrPort("203.0.113.7:40001"), Local: 12345, Command: Answer, Unused: [2]byte{0x44, 0x44},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			wire := nettest.Unhex(t, test.hex)
			got, err := Parse(wire)
			if err != nil || got != test.want {
				t.Errorf("Parse = %+v, %v; want %+v", got, err, test.want)
			}
			if out := test.want.AppendTo(nil); !bytes.Equal(out, wire) {
				t.Errorf("AppendTo = %x, want %x", out, wire)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	good := nettest.Unhex(t, exampleRequest)
	change := func(at int, fix bool) []byte {
		b := bytes.Clone(good)
		b[at] ^= 1
		if fix {
			c := sum(b[4:])
			b[0], b[1], b[2], b[3] = byte(c>>24), byte(c>>16), byte(c>>8), byte(c)
		}
		return b
	}
	for name, test := range map[string]struct {
		wire []byte
		want error
	}{
		"nothing":         {nil, ErrLength},
		"16 bytes":        {good[:16], ErrLength},
		"19 bytes":        {good[:19], ErrLength},
		"21 bytes":        {append(bytes.Clone(good), 0), ErrLength},
		"64 KiB":          {make([]byte, 1<<16), ErrLength},
		"other checksum":  {change(0, false), ErrChecksum},
		"other last byte": {change(19, false), ErrChecksum},
		"other magic":     {change(4, true), ErrMagic},
		"zeros":           {make([]byte, PacketLen), ErrMagic},
	} {
		if _, err := Parse(test.wire); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// The sum keeps the bit that leaves on the left.
func TestSumRotates(t *testing.T) {
	if got := sum(append([]byte{0x80}, make([]byte, 32)...)); got != 0x80 {
		t.Errorf("32 rotations of 80 = %x, want 80", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(nettest.Unhex(f, exampleRequest))
	f.Add(nettest.Unhex(f, exampleAnswer))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Parse(b)
		if err != nil {
			return
		}
		if out := p.AppendTo(nil); !bytes.Equal(out, b) {
			t.Errorf("%x was read and written as %x", b, out)
		}
	})
}
