package netclient

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/nettest"
)

func TestLines_Next(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	for name, tc := range map[string]struct {
		parts []string
		want  []string
		err   error
	}{
		"both ends":   {[]string{"a\r\nb\nc d \r\n"}, []string{"a", "b", "c d "}, io.EOF},
		"in pieces":   {[]string{"a", "\r", "\nb", "\n"}, []string{"a", "b"}, io.EOF},
		"empty":       {[]string{"\r\n\n"}, []string{"", ""}, io.EOF},
		"long":        {[]string{long + "\r\n" + long + "\n"}, []string{long, long}, io.EOF},
		"never ended": {[]string{"a\n", strings.Repeat("x", MaxLine)}, []string{"a"}, ErrLineTooLong},
		"cut off":     {[]string{"a\nb"}, []string{"a"}, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, _ := nettest.Recite(t, tc.parts...)
			l := NewLines(conn)
			var got []string
			for {
				line, err := l.Next(t.Context())
				if err != nil {
					if !errors.Is(err, tc.err) {
						t.Errorf("Next: %v, want %v", err, tc.err)
					}
					break
				}
				got = append(got, line)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("lines %.80q, want %.80q", got, tc.want)
			}
		})
	}
}

// TestLines_Encrypt switches ciphers on between two lines of one segment.
func TestLines_Encrypt(t *testing.T) {
	t.Parallel()
	flip := func(b []byte) {
		for i := range b {
			b[i] ^= 0x55
		}
	}
	secret := []byte("secret\r\nlast\r\n")
	flip(secret)
	conn, heard := nettest.Recite(t, "clear\r\n"+string(secret[:3]), string(secret[3:9]), string(secret[9:]))
	l := NewLines(conn)
	for i, want := range []string{"clear", "secret", "last"} {
		if got, err := l.Next(t.Context()); got != want || err != nil {
			t.Fatalf("Next: %q, %v, want %q", got, err, want)
		}
		if i == 0 {
			if err := l.Send("plain"); err != nil {
				t.Fatal(err)
			}
			l.Encrypt(flip, flip)
		}
		if i == 1 {
			if err := l.Send("hidden"); err != nil {
				t.Fatal(err)
			}
		}
	}
	hidden := []byte("hidden\r\n")
	flip(hidden)
	if got, want := heard(), "plain\r\n"+string(hidden); got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
}
