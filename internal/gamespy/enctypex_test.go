package gamespy

import (
	"bytes"
	"encoding/hex"
	"testing"
)

type enctypexVectors struct {
	Known struct {
		Key        string
		Stream     hexBytes // of 40 zero bytes
		Rotor      uint8
		Ratchet    uint8
		Avalanche  uint8
		LastPlain  uint8    `json:"last_plain"`
		LastCipher uint8    `json:"last_cipher"`
		Cards      hexBytes // the first 16
	}
	Streams []enctypexStream
}

type enctypexStream struct {
	Name, Secret   string
	Client         hexBytes
	Flags          uint16
	Random, Server hexBytes
	Header, Key    hexBytes
	Clear, Stream  hexBytes
}

func loadEnctypex(t testing.TB) enctypexVectors {
	v := loadJSON[enctypexVectors](t, "enctypex.json")
	if len(v.Streams) != 12 {
		t.Fatalf("enctypex.json has %d streams, want 12", len(v.Streams))
	}
	return v
}

func TestCipherStartState(t *testing.T) {
	known := loadEnctypex(t).Known
	c := NewCipher([]byte(known.Key))
	got := [...]uint8{c.rotor, c.ratchet, c.avalanche, c.lastPlain, c.lastCipher}
	want := [...]uint8{known.Rotor, known.Ratchet, known.Avalanche, known.LastPlain, known.LastCipher}
	if got != want {
		t.Errorf("counters of NewCipher(%q) = %d, want %d", known.Key, got, want)
	}
	if first := c.cards[:len(known.Cards)]; !bytes.Equal(first, known.Cards) {
		t.Errorf("cards of NewCipher(%q) start with %x, want %x", known.Key, first, known.Cards)
	}
	stream := make([]byte, len(known.Stream))
	c.Encrypt(stream, stream)
	if !bytes.Equal(stream, known.Stream) {
		t.Errorf("Encrypt of zeros = %x, want %x", stream, known.Stream)
	}
}

func TestStreamsOfTheOriginalBrowser(t *testing.T) {
	for _, v := range loadEnctypex(t).Streams {
		t.Run(v.Name, func(t *testing.T) {
			header := AppendCryptHeader(nil, v.Flags, v.Random, v.Server)
			if !bytes.Equal(header, v.Header) {
				t.Errorf("AppendCryptHeader = %x, want %x", header, v.Header)
			}
			flags, server, body, err := ParseCryptHeader(v.Stream)
			if err != nil || flags != v.Flags || !bytes.Equal(server, v.Server) {
				t.Fatalf("ParseCryptHeader = %#x, %x, _, %v, want %#x, %x, _, nil", flags, server, err, v.Flags, []byte(v.Server))
			}
			key := BrowseKey(v.Secret, [8]byte(v.Client), server)
			if !bytes.Equal(key[:], v.Key) {
				t.Fatalf("BrowseKey = %x, want %x", key, []byte(v.Key))
			}

			c := NewCipher(key[:])
			got := make([]byte, len(v.Clear))
			c.Encrypt(got, v.Clear)
			if !bytes.Equal(got, body) {
				t.Errorf("Encrypt = %x, want %x", got, body)
			}
			c = NewCipher(key[:])
			c.Decrypt(got, body)
			if !bytes.Equal(got, v.Clear) {
				t.Errorf("Decrypt = %x, want %x", got, []byte(v.Clear))
			}
		})
	}
}

func TestEncryptStaysWithinInput(t *testing.T) {
	dst := []byte("????tail")
	c := NewCipher([]byte("key"))
	c.Encrypt(dst, []byte("text"))
	if string(dst[4:]) != "tail" || string(dst[:4]) == "????" {
		t.Errorf("Encrypt into a longer slice left %q", dst)
	}
}

func TestCopiedCipherGoesItsOwnWay(t *testing.T) {
	a := NewCipher([]byte("key"))
	b := a
	var first, second [32]byte
	a.Encrypt(first[:], first[:])
	b.Encrypt(second[:], second[:])
	if first != second {
		t.Errorf("copy gave %x, the original %x", second, first)
	}
}

func TestShortOutputPanics(t *testing.T) {
	for name, run := range map[string]func(c *Cipher, dst, src []byte){
		"Encrypt": (*Cipher).Encrypt,
		"Decrypt": (*Cipher).Decrypt,
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic, though dst is shorter than src")
				}
			}()
			c := NewCipher([]byte("key"))
			run(&c, make([]byte, 3, 8), make([]byte, 4))
		})
	}
}

func TestCipherDoesNotAllocate(t *testing.T) {
	buf, key := make([]byte, 256), []byte("ABCDEFGH")
	n := testing.AllocsPerRun(100, func() {
		c := NewCipher(key)
		c.Encrypt(buf, buf)
		c.Decrypt(buf, buf)
	})
	if n != 0 {
		t.Errorf("NewCipher, Encrypt and Decrypt allocate %v times, want 0", n)
	}
}

func FuzzCipher(f *testing.F) {
	for _, v := range loadEnctypex(f).Streams {
		f.Add([]byte(v.Key), []byte(v.Clear), uint16(1), uint16(7))
	}
	f.Add([]byte{}, []byte("empty key"), uint16(0), uint16(0))
	f.Add(bytes.Repeat([]byte{0}, 300), []byte("long key of zeros"), uint16(3), uint16(3))
	f.Fuzz(func(t *testing.T, key, clear []byte, cutA, cutB uint16) {
		whole := make([]byte, len(clear))
		c := NewCipher(key)
		c.Encrypt(whole, clear)

		a := int(cutA) % (len(clear) + 1)
		pieces := bytes.Clone(clear)
		c = NewCipher(key)
		c.Encrypt(pieces[:a], pieces[:a])
		c.Encrypt(pieces[a:], pieces[a:])
		if !bytes.Equal(pieces, whole) {
			t.Fatalf("Encrypt cut at %d = %x, want %x", a, pieces, whole)
		}

		b := int(cutB) % (len(clear) + 1)
		c = NewCipher(key)
		c.Decrypt(pieces[:b], pieces[:b])
		c.Decrypt(pieces[b:], pieces[b:])
		if !bytes.Equal(pieces, clear) {
			t.Fatalf("Decrypt cut at %d = %x, want %x", b, pieces, clear)
		}
	})
}

func benchmarkStream(b *testing.B, run func(c *Cipher, dst, src []byte)) {
	b.ReportAllocs()
	text, _ := hex.DecodeString("5c686f73746e616d655c41207365727665725c6e756d706c61796572735c3137")
	buf := bytes.Repeat(text, 64<<10/len(text)+1)[:64<<10]
	b.SetBytes(int64(len(buf)))
	c := NewCipher([]byte("ABCDEFGH"))
	for b.Loop() {
		run(&c, buf, buf)
	}
}

func BenchmarkEncrypt(b *testing.B) { benchmarkStream(b, (*Cipher).Encrypt) }

func BenchmarkDecrypt(b *testing.B) { benchmarkStream(b, (*Cipher).Decrypt) }

func BenchmarkNewCipher(b *testing.B) {
	b.ReportAllocs()
	key := []byte("ABCDEFGH")
	for b.Loop() {
		NewCipher(key)
	}
}
