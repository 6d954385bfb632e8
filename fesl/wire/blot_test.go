package wire

import (
	"bytes"
	"strings"
	"testing"
)

func TestBlot(t *testing.T) {
	stars := func(b []byte) { copy(b, bytes.Repeat([]byte{'*'}, len(b))) }
	for text, want := range map[string]string{
		"TXN=Login\nname=a%40b.example\npassword=x y\nmac=1\n\x00": "TXN=Login\nname=*************\npassword=***\nmac=1\n\x00",
		"TXN=Login\nx.0.PASSWORD=1\nmail=me@b.example\x00rest":     "TXN=Login\nx.0.PASSWORD=*\nmail=************\x00****",
		"TXN=Login\nno key\n=\x00":                                 "TXN=Login\n******\n=\x00",
		"decodedSize=3\nsize=4\ndata=YWJj\x00":                     "decodedSize=3\nsize=4\ndata=YWJj\x00",
	} {
		for _, kind := range []Kind{Request, RequestPart} {
			if kind == RequestPart {
				want = strings.ReplaceAll(want, "YWJj", "****")
			}
			h := Header{"acct", kind, 7}
			b := (&Frame{h, []byte(text)}).Append(nil)
			Blot(b, func(key string) bool { return key == "password" }, stars)
			if got := string(b[HeaderSize:]); got != want {
				t.Errorf("%q becomes %q, want %q", text, got, want)
			}
		}
	}
	b := []byte("no frame, with a password")
	if Blot(b, func(string) bool { return false }, stars); strings.Trim(string(b), "*") != "" {
		t.Errorf("no frame becomes %q", b)
	}
}

func TestLengthAndShape(t *testing.T) {
	b := (&Frame{Header{"acct", Reply, 7}, []byte("TXN=Login\nerrorCode=122\x00")}).Append(nil)
	for n, want := range map[int]int{0: 0, HeaderSize: 0, len(b) - 1: 0, len(b): len(b)} {
		if got := Length(b[:n]); got != want {
			t.Errorf("%d bytes: %d, want %d", n, got, want)
		}
	}
	if got := Length(append(bytes.Clone(b), b...)); got != len(b) {
		t.Errorf("two frames: %d", got)
	}
	if got := Length([]byte("GET / HTTP/1.1")); got != len("GET / HTTP/1.1") {
		t.Errorf("no frame: %d", got)
	}
	for want, frame := range map[string][]byte{
		"acct Login 122": b, "USER bpar": (&Frame{Failure("USER", "bpar"), []byte("TID=1\x00")}).Append(nil), "": []byte("x"),
		"GLST": (&Frame{Header{"GLST", TheaterReply, 0}, []byte("TID=1\x00")}).Append(nil),
	} {
		if got := Shape(frame); got != want {
			t.Errorf("Shape(%q) = %q, want %q", frame, got, want)
		}
	}
}
