package peerchat

import (
	"bytes"
	"testing"

	"github.com/respawnd/respawnd/internal/gamespy"
)

func TestCipher(t *testing.T) {
	for _, v := range loadJSON[[]struct {
		Challenge, Secret        string
		Keystream, First, Second hexBytes
	}](t, "cipher.json") {
		c := newCipher(v.Challenge, v.Secret)
		zeros := make([]byte, len(v.Keystream))
		if c.apply(zeros); !bytes.Equal(zeros, v.Keystream) {
			t.Errorf("%s, %s: keystream %x, want %x", v.Challenge, v.Secret, zeros, v.Keystream)
		}
		c = newCipher(v.Challenge, v.Secret)
		for _, line := range []struct {
			clear string
			want  []byte
		}{{"USRIP\r\n", v.First}, {"NICK *\r\n", v.Second}} {
			got := []byte(line.clear)
			if c.apply(got); !bytes.Equal(got, line.want) {
				t.Errorf("%s, %s: %q is %x, want %x", v.Challenge, v.Secret, line.clear, got, line.want)
			}
		}
	}
}

func TestCipher_lengths(t *testing.T) {
	seen := make(map[string]bool)
	for _, challenge := range []string{"", "abc", "0123456789abcdef", string(make([]byte, 300))} {
		for _, secret := range []string{"", "x", "HA6zkS", string(bytes.Repeat([]byte("z"), 300))} {
			c := newCipher(challenge, secret)
			b := make([]byte, 32)
			c.apply(b)
			seen[string(b)] = true
		}
	}
	if len(seen) < 10 {
		t.Errorf("%d different keystreams of 16 keys", len(seen))
	}
	if got := gamespy.RandomLetters(challengeLen); len(got) != challengeLen {
		t.Errorf("challenge %q", got)
	}
}

// TestCipher_recorded reads both directions of all recorded sessions.
func TestCipher_recorded(t *testing.T) {
	for name, lines := range recordedSessions(t) {
		t.Run(name, func(t *testing.T) {
			fromClient := newCipher(recordedFromClient, recordedSecret)
			fromServer := newCipher(recordedFromServer, recordedSecret)
			encrypted := false
			for _, l := range lines {
				got := bytes.Clone(l.Wire)
				want := l.Clear
				if l.Dir == "S>C" {
					want += "\r\n"
				}
				if encrypted && l.Dir == "S>C" {
					fromServer.apply(got)
				} else if encrypted {
					fromClient.apply(got)
				}
				if string(got) != want {
					t.Fatalf("%s: got %q, want %q", l.Dir, got, want)
				}
				if command, _ := paramsOf(got); command == "705" {
					encrypted = true
				}
			}
		})
	}
}

// FuzzCipher enciphers text in pieces and deciphers it in others.
func FuzzCipher(f *testing.F) {
	f.Add("0123456789abcdef", "HA6zkS", []byte("USRIP\r\nNICK *\r\n"), []byte{1, 2, 3}, []byte{7})
	f.Add("", "", []byte("x"), []byte{}, []byte{0})
	f.Fuzz(func(t *testing.T, challenge, secret string, text, out, in []byte) {
		b := bytes.Clone(text)
		applyInPieces(newCipher(challenge, secret), b, out)
		applyInPieces(newCipher(challenge, secret), b, in)
		if !bytes.Equal(b, text) {
			t.Errorf("got %q, want %q", b, text)
		}
	})
}

// applyInPieces applies a cipher to b, in pieces as long as sizes says.
func applyInPieces(c cipher, b, sizes []byte) {
	for _, n := range sizes {
		cut := min(int(n), len(b))
		c.apply(b[:cut])
		b = b[cut:]
	}
	c.apply(b)
}

func BenchmarkCipher(b *testing.B) {
	c := newCipher("0123456789abcdef", "HA6zkS")
	line := make([]byte, 100)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		c.apply(line)
	}
}
