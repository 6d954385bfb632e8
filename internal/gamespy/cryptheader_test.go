package gamespy

import (
	"bytes"
	"errors"
	"testing"
)

func TestParseCryptHeaderRefuses(t *testing.T) {
	full := AppendCryptHeader(nil, 0x80, []byte("random"), []byte("challenge"))
	for n := range len(full) {
		if _, _, _, err := ParseCryptHeader(full[:n]); !errors.Is(err, ErrShortCryptHeader) {
			t.Errorf("ParseCryptHeader of %d of %d bytes: error %v, want %v", n, len(full), err, ErrShortCryptHeader)
		}
	}
	for name, p := range map[string][]byte{
		"no room for the flags":  {1 ^ 0xEC, 0, 1 ^ 0xEA, 0},
		"nothing before":         {0xEC, 1 ^ 0xEA, 0},
		"empty server challenge": AppendCryptHeader(nil, 0, nil, nil),
	} {
		if _, _, _, err := ParseCryptHeader(p); !errors.Is(err, ErrCryptHeader) {
			t.Errorf("%s: error %v, want %v", name, err, ErrCryptHeader)
		}
	}
}

func TestCryptHeaderLimits(t *testing.T) {
	client := [8]byte{1, 2, 3, 4, 5, 6, 7, 8}
	random := bytes.Repeat([]byte{'r'}, MaxCryptRandom+1)
	server := bytes.Repeat([]byte{'s'}, MaxServerChallenge+1)
	server[MaxServerChallenge] = 'x'
	header := AppendCryptHeader(nil, 0x1234, random, server)
	flags, got, rest, err := ParseCryptHeader(header)
	if err != nil || flags != 0x1234 || !bytes.Equal(got, server[:MaxServerChallenge]) || len(rest) != 0 {
		t.Fatalf("ParseCryptHeader = %#x, %d bytes, %d left, %v, want 0x1234, 255 bytes, none left, nil", flags, len(got), len(rest), err)
	}
	if sent, read := BrowseKey("HA6zkS", client, server), BrowseKey("HA6zkS", client, got); sent != read {
		t.Errorf("the key of the sender is %x, that of the reader %x", sent, read)
	}
}

func TestBrowseKeyOfEmptySecretDoesNotPanic(t *testing.T) {
	client := [8]byte{1, 2, 3, 4, 5, 6, 7, 8}
	if got, want := BrowseKey("", client, []byte("abc")), BrowseKey("\x00", client, []byte("abc")); got != want {
		t.Errorf("BrowseKey of an empty secret = %x, want that of a zero byte, %x", got, want)
	}
	if got := BrowseKey("HA6zkS", client, nil); got != client {
		t.Errorf("BrowseKey without server challenge = %x, want the client's %x", got, client)
	}
}

func FuzzCryptHeader(f *testing.F) {
	for _, v := range loadEnctypex(f).Streams {
		f.Add([]byte(v.Stream))
	}
	f.Add([]byte{0xEC})
	f.Fuzz(func(t *testing.T, p []byte) {
		flags, server, rest, err := ParseCryptHeader(p)
		if err != nil {
			if server != nil || rest != nil {
				t.Fatalf("ParseCryptHeader(%x) = _, %x, %x, %v, want nothing beside the error", p, server, rest, err)
			}
			return
		}
		random := p[3 : 1+int(p[0]^0xEC)]
		again := append(AppendCryptHeader(nil, flags, random, server), rest...)
		if !bytes.Equal(again, p) {
			t.Fatalf("ParseCryptHeader(%x) written again = %x", p, again)
		}
	})
}
