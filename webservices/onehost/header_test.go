package onehost

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/iotest"
)

// headers are headers as they arrive, and as they are passed on.
var headers = map[string]struct {
	in, out  string
	repaired int
}{
	"one host":             {"GET / HTTP/1.1\r\nHost: a.b\r\nX: y\r\n\r\n", "GET / HTTP/1.1\r\nHost: a.b\r\nX: y\r\n\r\n", 0},
	"twice":                {"POST /ac HTTP/1.0\r\nHost: nas.x\r\nHost: nas.x\r\nContent-Length: 2\r\n\r\nab", "POST /ac HTTP/1.0\r\nHost: nas.x\r\nContent-Length: 2\r\n\r\nab", 1},
	"apart, other case":    {"GET / HTTP/1.1\nHOST: a\nX: y\nhost:a \n\n", "GET / HTTP/1.1\nHOST: a\nX: y\n\n", 1},
	"at the end":           {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 1},
	"three":                {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 2},
	"in the body":          {"GET / HTTP/1.1\r\nHost: a\r\n\r\nHost: a\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\nHost: a\r\nHost: a\r\n\r\n", 0},
	"two hosts":            {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nHost: a\r\n\r\n", 0},
	"continued":            {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n b\r\n\r\n", 0},
	"first continued":      {"GET / HTTP/1.1\r\nHost: a\r\n\tb\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\tb\r\nHost: a\r\n\r\n", 0},
	"space before colon":   {"GET / HTTP/1.1\r\nHost: a\r\nHost : a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost : a\r\n\r\n", 0},
	"empty twice":          {"GET / HTTP/1.1\r\nHost:\r\nHost:\r\n\r\n", "GET / HTTP/1.1\r\nHost:\r\n\r\n", 1},
	"request line is host": {"Host: a\r\nHost: a\r\n\r\n", "Host: a\r\nHost: a\r\n\r\n", 0},
	"cut off":              {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\nHo", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\nHo", 0},
	"cut off, held":        {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n", 0},
	"too many": {
		"GET / HTTP/1.1\r\n" + strings.Repeat("Host: a\r\n", maxRemoved+3) + "\r\n",
		"GET / HTTP/1.1\r\n" + strings.Repeat("Host: a\r\n", 3) + "\r\n", maxRemoved,
	},
	"longest line":  {"GET / HTTP/1.1\r\n" + hostLine(maxLine) + hostLine(maxLine) + "\r\n", "GET / HTTP/1.1\r\n" + hostLine(maxLine) + "\r\n", 1},
	"too long line": {"GET / HTTP/1.1\r\n" + hostLine(maxLine+2) + hostLine(maxLine+2) + "\r\n", "GET / HTTP/1.1\r\n" + hostLine(maxLine+2) + hostLine(maxLine+2) + "\r\n", 0},
	"nothing":       {"", "", 0},
}

// hostLine returns a Host line of n bytes.
func hostLine(n int) string { return "Host: " + strings.Repeat("a", n-8) + "\r\n" }

// source is a connection whose other side has sent something.
type source struct {
	net.Conn
	io.Reader
}

func (s source) Read(p []byte) (int, error) { return s.Reader.Read(p) }

func TestRead(t *testing.T) {
	for name, tt := range headers {
		for pieces, cut := range map[string]func(io.Reader) io.Reader{
			"at once": func(r io.Reader) io.Reader { return r }, "by bytes": iotest.OneByteReader, "with the error": iotest.DataErrReader,
		} {
			t.Run(name+"/"+pieces, func(t *testing.T) {
				repaired := 0
				c := &conn{Conn: source{Reader: cut(strings.NewReader(tt.in))}, header: header{repaired: func() { repaired++ }}}
				got, err := io.ReadAll(c)
				if err != nil || string(got) != tt.out || repaired != tt.repaired {
					t.Errorf("%q, %d repairs, %v; want %q, %d", got, repaired, err, tt.out, tt.repaired)
				}
			})
		}
	}
}

// TestReadTimeout continues after a time-out between two bytes, which net/http uses to
// interrupt a read.
func TestReadTimeout(t *testing.T) {
	in := "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"
	c := &conn{Conn: source{Reader: &stuttering{in: in}}}
	var got []byte
	for {
		var b [16]byte
		n, err := c.Read(b[:])
		got = append(got, b[:n]...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
	}
	if want := "GET / HTTP/1.1\r\nHost: a\r\n\r\n"; string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// stuttering is a reader with a time-out before each byte.
type stuttering struct {
	in    string
	ready bool
}

func (s *stuttering) Read(p []byte) (int, error) {
	if s.ready = !s.ready; s.ready {
		return 0, os.ErrDeadlineExceeded
	}
	if s.in == "" {
		return 0, io.EOF
	}
	n := copy(p[:1], s.in)
	s.in = s.in[n:]
	return n, nil
}

// FuzzRead checks that nothing but repetitions of the Host line is removed, that how the
// bytes arrive does not matter, and that a request that the standard library accepts stays
// the same request.
func FuzzRead(f *testing.F) {
	for _, tt := range headers {
		f.Add([]byte(tt.in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		read := func(r io.Reader) []byte {
			b, err := io.ReadAll(&conn{Conn: source{Reader: r}})
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		out := read(bytes.NewReader(in))
		if !bytes.Equal(out, read(iotest.OneByteReader(bytes.NewReader(in)))) {
			t.Errorf("%q depends on how it arrives", in)
		}
		if len(out) > len(in) || len(in)-len(out) > maxRemoved*(2*maxLine+16) {
			t.Errorf("%d bytes became %d", len(in), len(out))
		}
		before, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(in)))
		if err != nil || len(before.Header["Host"]) > 0 {
			return
		}
		after, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(out)))
		if err != nil {
			t.Fatalf("%q became %q: %v", in, out, err)
		}
		if before.Host != after.Host || before.Method != after.Method || before.RequestURI != after.RequestURI || before.ContentLength != after.ContentLength || len(before.Header) != len(after.Header) {
			t.Errorf("%q became %q", in, out)
		}
	})
}
