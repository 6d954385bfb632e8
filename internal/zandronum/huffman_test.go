package zandronum

import (
	"bytes"
	"testing"

	"github.com/respawnd/respawnd/internal/nettest"
)

func TestEncodeMatchesTheOriginal(t *testing.T) {
	for _, v := range huffmanCases(t).Encode {
		t.Run(v.Name, func(t *testing.T) {
			plain, want := nettest.Unhex(t, v.Plain), nettest.Unhex(t, v.Encoded)
			if got := Encode(nil, plain); !bytes.Equal(got, want) {
				t.Errorf("Encode(%x): got %x, want %x", plain, got, want)
			}
			if got := Decode(nil, want, 1<<16); !bytes.Equal(got, plain) {
				t.Errorf("Decode(%x): got %x, want %x", want, got, plain)
			}
		})
	}
}

func TestDecodeMatchesTheOriginal(t *testing.T) {
	for _, v := range huffmanCases(t).Decode {
		t.Run(v.Name, func(t *testing.T) {
			in, want := nettest.Unhex(t, v.Input), nettest.Unhex(t, v.Decoded)
			if got := Decode(nil, in, 1<<16); !bytes.Equal(got, want) {
				t.Errorf("Decode(%x): got %x, want %x", in, got, want)
			}
		})
	}
}

func TestDecodeStopsAtItsLimit(t *testing.T) {
	for _, v := range huffmanCases(t).Capacity {
		in, want := nettest.Unhex(t, v.Input), nettest.Unhex(t, v.Decoded)
		if got := Decode(nil, in, v.Capacity); !bytes.Equal(got, want) {
			t.Errorf("Decode(%x) into %d bytes: got %x, want %x", in, v.Capacity, got, want)
		}
	}
}

func TestDecodeAppends(t *testing.T) {
	got := Decode([]byte("ab"), Encode(nil, make([]byte, 4)), 3)
	if string(got) != "ab\x00\x00\x00" {
		t.Errorf("Decode behind 2 bytes with limit 3: got %q, want %q", got, "ab\x00\x00\x00")
	}
}

// The worst case is the shortest code, of three bits, repeated.
func TestDecompressionBombIsBounded(t *testing.T) {
	bomb := bytes.Repeat([]byte{0x92, 0x24, 0x49}, 20000) // 010 over and over is the shortest code
	bomb[0] = 0
	const limit = 1024
	if got := Decode(nil, bomb, limit); len(got) != limit {
		t.Errorf("Decode of %d bytes: got %d bytes, want the limit of %d", len(bomb), len(got), limit)
	}
}

// TestCodeIsComplete proves from the table that every ten bits begin with
// exactly one code.
func TestCodeIsComplete(t *testing.T) {
	var sum int
	for value, code := range codes {
		if len(code) < 3 || len(code) > longestCode {
			t.Errorf("code of %#x: length %d, want 3 to %d", value, len(code), longestCode)
		}
		sum += lookupSize >> len(code)
	}
	if sum != lookupSize {
		t.Errorf("codes cover %d of %d bit strings", sum, lookupSize)
	}
	for i, m := range lookup {
		if m.len == 0 {
			t.Fatalf("no code for bits %010b", i)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, v := range huffmanCases(f).Decode {
		f.Add(nettest.Unhex(f, v.Input), 64)
	}
	f.Fuzz(func(t *testing.T, in []byte, limit int) {
		limit %= 1 << 16
		out := Decode(nil, in, limit)
		if len(out) > max(limit, 0) {
			t.Fatalf("Decode(%x, %d): got %d bytes", in, limit, len(out))
		}
		if len(out) == 0 {
			return
		}
		again := Decode(nil, Encode(nil, out), len(out))
		if !bytes.Equal(again, out) {
			t.Fatalf("Decode(Encode(%x)): got %x", out, again)
		}
	})
}

func FuzzEncode(f *testing.F) {
	for _, v := range huffmanCases(f).Encode {
		f.Add(nettest.Unhex(f, v.Plain))
	}
	f.Fuzz(func(t *testing.T, plain []byte) {
		wire := Encode(nil, plain)
		if len(wire) > len(plain)+1 {
			t.Fatalf("Encode of %d bytes: got %d bytes", len(plain), len(wire))
		}
		if got := Decode(nil, wire, len(plain)); !bytes.Equal(got, plain) {
			t.Fatalf("Decode(Encode(%x)): got %x", plain, got)
		}
	})
}

// message is a full packet of a list, about 1,000 bytes.
func message() []byte {
	packets, _ := ListPackets(several(145))
	return packets[0]
}

func BenchmarkEncode(b *testing.B) {
	m := message()
	dst := make([]byte, 0, len(m)+1)
	b.SetBytes(int64(len(m)))
	b.ReportAllocs()
	for b.Loop() {
		dst = Encode(dst[:0], m)
	}
}

func BenchmarkDecode(b *testing.B) {
	m := message()
	wire := Encode(nil, m)
	dst := make([]byte, 0, len(m))
	b.SetBytes(int64(len(m)))
	b.ReportAllocs()
	for b.Loop() {
		dst = Decode(dst[:0], wire, len(m))
	}
}

func BenchmarkDecodeHeartbeat(b *testing.B) {
	wire := Encode(nil, AppendChallenge(nil, Challenge{Verification: []byte("0e04013de8c13978e938cff564589fd0"), Complete: true, Enforces: true}))
	dst := make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		dst = Decode(dst[:0], wire, cap(dst))
	}
}
