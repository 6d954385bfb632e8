package zandronum

import (
	"encoding/hex"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func block(addr string, ports ...uint16) Block {
	return Block{Addr: netip.MustParseAddr(addr), Ports: ports}
}

// several returns n blocks of one server each.
func several(n int) (blocks []Block) {
	for i := range n {
		blocks = append(blocks, Block{netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), []uint16{10666}})
	}
	return blocks
}

func ports(n int) (list []uint16) {
	for i := range n {
		list = append(list, uint16(11000+i))
	}
	return list
}

// read parses the packets of a list and checks their numbers and ends.
func read(t testing.TB, packets [][]byte) (servers []netip.AddrPort, perPacket []int) {
	t.Helper()
	for i, b := range packets {
		p, err := ParseListPacket(b)
		if err != nil {
			t.Fatalf("ParseListPacket(%x): %v", b, err)
		}
		if p.Answer != AnswerList || int(p.Number) != i || p.Last != (i == len(packets)-1) {
			t.Fatalf("packet %d of %d: answer %d, number %d, last %t", i, len(packets), p.Answer, p.Number, p.Last)
		}
		if len(b) > 1026 {
			t.Errorf("packet %d has %d bytes", i, len(b))
		}
		servers, perPacket = append(servers, p.Servers...), append(perPacket, len(p.Servers))
	}
	return servers, perPacket
}

func flat(blocks []Block) (servers []netip.AddrPort) {
	for _, b := range blocks {
		for _, p := range b.Ports {
			servers = append(servers, netip.AddrPortFrom(b.Addr, p))
		}
	}
	return servers
}

func TestListPackets(t *testing.T) {
	tests := map[string]struct {
		blocks    []Block
		perPacket []int
		left      int
	}{
		"no servers":                        {nil, []int{0}, 0},
		"as many as fit one packet":         {several(145), []int{145}, 0},
		"one more":                          {several(146), []int{145, 1}, 0},
		"two packets full":                  {several(290), []int{145, 145}, 0},
		"255 ports are one block":           {[]Block{block("10.0.0.1", ports(255)...)}, []int{255}, 0},
		"256 ports are two":                 {[]Block{block("10.0.0.1", ports(256)...)}, []int{256}, 0},
		"a block that does not fit is next": {[]Block{block("10.0.0.1", ports(600)...)}, []int{255, 345}, 0},
		"as many packets as there may be":   {several(145 * MaxListPackets), nil, 0},
		"one server too many":               {several(145*MaxListPackets + 1), nil, 1},
		"many too many":                     {several(145*MaxListPackets + 200), nil, 200},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			packets, left := ListPackets(tc.blocks)
			servers, perPacket := read(t, packets)
			want := flat(tc.blocks)
			want = want[:len(want)-tc.left]
			if diff := cmp.Diff(want, servers, cmpopts.EquateComparable(netip.AddrPort{}), cmpopts.EquateEmpty()); diff != "" || left != tc.left {
				t.Errorf("ListPackets: left %d, want %d; servers (-want +got):\n%s", left, tc.left, diff)
			}
			if tc.perPacket != nil && !cmp.Equal(tc.perPacket, perPacket) {
				t.Errorf("servers per packet: got %v, want %v", perPacket, tc.perPacket)
			}
			if len(packets) > MaxListPackets {
				t.Errorf("%d packets, want at most %d", len(packets), MaxListPackets)
			}
		})
	}
}

func TestListBytes(t *testing.T) {
	blocks := []Block{block("127.0.1.5", 10710, 10711), block("127.0.1.6", 10712)}
	packets, _ := ListPackets(blocks)
	if got, want := hex.EncodeToString(packets[0]), "060000000008027f000105d629d729017f000106d8290002"; got != want {
		t.Errorf("ListPackets: got %s, want %s", got, want)
	}
	old, _ := OldList(blocks)
	if got, want := hex.EncodeToString(old), "00000000017f000105d629017f000105d729017f000106d82902"; got != want {
		t.Errorf("OldList: got %s, want %s", got, want)
	}
}

func TestOldListIsCutBetweenServers(t *testing.T) {
	b, left := OldList(several(1200))
	p, err := ParseListPacket(b)
	if err != nil || len(b) > maxOldList || !p.Last {
		t.Fatalf("OldList: %d bytes, last %t, %v", len(b), p.Last, err)
	}
	if len(p.Servers)+left != 1200 || len(p.Servers) != 1169 {
		t.Errorf("OldList of 1200: %d servers and %d left, want 1169 and 31", len(p.Servers), left)
	}
}

func FuzzParseListPacket(f *testing.F) {
	for _, n := range []int{0, 2} {
		packets, _ := ListPackets(several(n))
		f.Add(packets[0])
		old, _ := OldList(several(n))
		f.Add(old)
	}
	f.Add(AppendAnswer(nil, AnswerTooSoon))
	f.Fuzz(func(t *testing.T, message []byte) {
		if p, _ := ParseListPacket(message); len(p.Servers) > len(message) {
			t.Fatalf("%d servers in %d bytes", len(p.Servers), len(message))
		}
	})
}
