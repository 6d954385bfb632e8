package peerchat

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/respawnd/respawnd/internal/racetest"
)

func TestInbox(t *testing.T) {
	longest := strings.Repeat("x", maxLine-1)
	for name, tc := range map[string]struct {
		text string
		want []string
		err  error
	}{
		"nothing":     {"", nil, io.EOF},
		"lines":       {"USRIP\r\nNICK a\n\r\n\nPING\r\n", []string{"USRIP", "NICK a", "PING"}, io.EOF},
		"unfinished":  {"NICK a\r\nNICK b", []string{"NICK a"}, io.EOF},
		"CR and NUL":  {"A\rB\x00C\r\r\n\r\x00\n\x00D\n", []string{"ABC", "D"}, io.EOF},
		"other bytes": {"\xe4\u20ac\x01\t\n", []string{"\xe4\u20ac\x01\t"}, io.EOF},
		"longest":     {"a\n" + longest + "\nb\n", []string{"a", longest, "b"}, io.EOF},
		"too long":    {"a\n" + longest + "x\nb\n", []string{"a"}, errLineTooLong},
	} {
		for form, r := range map[string]io.Reader{
			"at once": strings.NewReader(tc.text), "bytewise": iotest.OneByteReader(strings.NewReader(tc.text)),
			"with the error": iotest.DataErrReader(strings.NewReader(tc.text)),
		} {
			t.Run(name+"/"+form, func(t *testing.T) {
				var in inbox
				for _, want := range tc.want {
					if got, err := in.next(r); string(got) != want || err != nil {
						t.Fatalf("next = %.40q, %v, want %.40q", got, err, want)
					}
				}
				for range 2 {
					if got, err := in.next(r); got != nil || !errors.Is(err, tc.err) {
						t.Errorf("next at the end = %.40q, %v, want %v", got, err, tc.err)
					}
				}
				if errors.Is(tc.err, io.EOF) && in.from == in.to && len(in.buf) != firstInbox {
					t.Errorf("%d bytes kept", len(in.buf))
				}
			})
		}
	}
}

// cryptStream is a CRYPT in clear with ciphertext right behind it.
func cryptStream(lines ...string) []byte {
	c := newCipher(recordedFromClient, recordedSecret)
	b := []byte(strings.Join(lines, "\r\n") + "\r\n")
	c.apply(b)
	return append([]byte("CRYPT des 1 gmtest\r\n"), b...)
}

func TestInbox_encrypt(t *testing.T) {
	racetest.Skip(t, "reads a stream in all parts")
	want := []string{"USRIP", "USER X14saFv19X|1 127.0.0.1 peerchat.gamespy.com :name", "NICK a", strings.Repeat("y", 3000), "QUIT :x"}
	stream := cryptStream(want...)
	for cut := range stream { // ciphertext in the segment of the CRYPT or behind it
		checkEncrypted(t, io.MultiReader(bytes.NewReader(stream[:cut]), bytes.NewReader(stream[cut:])), want)
	}
	checkEncrypted(t, iotest.OneByteReader(bytes.NewReader(stream)), want)
	checkEncrypted(t, iotest.HalfReader(bytes.NewReader(stream)), want)
}

// checkEncrypted reads a CRYPT in clear and the encrypted lines after it.
func checkEncrypted(t *testing.T, r io.Reader, want []string) {
	t.Helper()
	var in inbox
	if got, err := in.next(r); string(got) != "CRYPT des 1 gmtest" || err != nil {
		t.Fatalf("next = %q, %v", got, err)
	}
	in.encrypt(newCipher(recordedFromClient, recordedSecret))
	for _, w := range want {
		if got, err := in.next(r); string(got) != w || err != nil {
			t.Fatalf("next = %.40q, %v, want %.40q", got, err, w)
		}
	}
	if _, err := in.next(r); !errors.Is(err, io.EOF) {
		t.Fatalf("next at the end: %v", err)
	}
}

// TestInbox_interrupted reads a line whose reader ran into a deadline in the middle,
// before and behind the start of the cipher.
func TestInbox_interrupted(t *testing.T) {
	stream := cryptStream("USRIP", "NICK a")
	for cut := 1; cut < len(stream); cut++ {
		var in inbox
		var got []string
		r := iotest.TimeoutReader(&pieces{bytes.Clone(stream), []byte{byte(cut - 1), 255}}) // fails once, after the first piece
		for failures := 0; ; {
			line, err := in.next(r)
			if errors.Is(err, iotest.ErrTimeout) && failures == 0 {
				failures++
				continue
			} else if err != nil {
				break
			}
			if got = append(got, string(line)); len(got) == 1 {
				in.encrypt(newCipher(recordedFromClient, recordedSecret))
			}
		}
		if want := []string{"CRYPT des 1 gmtest", "USRIP", "NICK a"}; !slices.Equal(got, want) {
			t.Fatalf("interrupted after %d bytes: %q, want %q", cut, got, want)
		}
	}
}

// TestInbox_memory measures a waiting inbox: after a burst of lines and after a long
// one.
func TestInbox_memory(t *testing.T) {
	long := strings.Repeat("x", maxLine-1) + "\n"
	for name, text := range map[string]string{
		"burst": strings.Repeat("PRIVMSG #GSP!gmtest :hello\r\n", 200), "long": long, "both": long + "PING\r\n" + long + "PING\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			var in inbox
			for r := strings.NewReader(text); ; {
				if len(in.buf) > maxLine {
					t.Fatalf("%d bytes of memory", len(in.buf))
				}
				if _, err := in.next(r); err != nil {
					break
				}
			}
			if len(in.buf) != firstInbox {
				t.Errorf("waits with %d bytes, want %d", len(in.buf), firstInbox)
			}
		})
	}
}

func TestInbox_allocations(t *testing.T) {
	var in inbox
	line := []byte("PRIVMSG #GSP!gmtest :hello\r\n")
	r := bytes.NewReader(line)
	if n := testing.AllocsPerRun(100, func() {
		r.Reset(line)
		if _, err := in.next(r); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a line costs %v allocations", n)
	}
}

// FuzzInbox compares lines that arrive in pieces with a simple reader of them, with
// and without a cipher from the second line on.
func FuzzInbox(f *testing.F) {
	f.Add([]byte("CRYPT des 1 a\r\nUSRIP\r\n\r\nNICK b\n"), []byte{3, 9}, true)
	f.Add([]byte("a\rb\x00\n\n\r\n"), []byte{}, false)
	f.Fuzz(func(t *testing.T, text, sizes []byte, encrypt bool) {
		var want []string
		firstEnd := 0
		rest := text
		for len(rest) > 0 {
			line, after, ok := bytes.Cut(rest, []byte("\n"))
			if !ok || len(line) >= maxLine {
				break
			}
			rest = after
			if line = slices.DeleteFunc(bytes.Clone(line), isBreak); len(line) > 0 {
				if len(want) == 0 {
					firstEnd = len(text) - len(after)
				}
				want = append(want, string(line))
			}
		}
		wire := bytes.Clone(text)
		if encrypt && firstEnd > 0 {
			c := newCipher("a", "b")
			c.apply(wire[firstEnd:])
		}
		in, r := inbox{}, &pieces{wire, sizes}
		for i, w := range want {
			got, err := in.next(r)
			if string(got) != w || err != nil {
				t.Fatalf("next = %q, %v, want %q", got, err, w)
			}
			if i == 0 && encrypt {
				in.encrypt(newCipher("a", "b"))
			}
		}
		if got, err := in.next(r); err == nil {
			t.Fatalf("next = %q at the end", got)
		}
	})
}

// pieces is a reader of data in pieces as long as sizes says.
type pieces struct{ data, sizes []byte }

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	n := len(b)
	if len(p.sizes) > 0 {
		n, p.sizes = int(p.sizes[0])+1, p.sizes[1:]
	}
	n = copy(b[:min(n, len(b))], p.data)
	p.data = p.data[n:]
	return n, nil
}
