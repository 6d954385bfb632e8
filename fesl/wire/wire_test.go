package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// examples returns the frames of testdata by name.
func examples(t testing.TB) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile("testdata/examples.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, name := make(map[string][]byte), ""
	for line := range strings.Lines(string(text)) {
		digits, more := strings.CutPrefix(strings.TrimSpace(line), "#")
		switch {
		case more:
		case line[0] != ' ':
			name = digits
		default:
			b, err := hex.DecodeString(digits)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all[name] = append(all[name], b...)
		}
	}
	return all
}

// next returns the only frame in b.
func next(t testing.TB, b []byte) Frame {
	t.Helper()
	var in Inbox
	r := iotest.OneByteReader(bytes.NewReader(b))
	f, err := in.Next(r, len(b))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Next(r, len(b)); !errors.Is(err, io.EOF) {
		t.Errorf("after the frame: %v", err)
	}
	return f
}

func TestExamples(t *testing.T) {
	all := examples(t)
	if len(all) < 15 {
		t.Fatalf("%d examples", len(all))
	}
	for name, want := range all {
		t.Run(name, func(t *testing.T) {
			f := next(t, want)
			text, err := ParseText(f.Payload, MaxLines)
			if err != nil {
				t.Fatal(err)
			}
			end := ServerEnd
			if name[0] == 'C' {
				end = ClientEnd
			}
			if got := (&Frame{f.Header, text.Append(nil, end)}).Append(nil); !bytes.Equal(got, want) {
				t.Errorf("written again:\n got %q\nwant %q", got, want)
			}
		})
	}
}

func TestExamples_fields(t *testing.T) {
	all := examples(t)
	f := next(t, all["S1 Hello"])
	if want := (Header{"fsys", Reply, 1}); f.Header != want {
		t.Errorf("header %v, want %v", f.Header, want)
	}
	text, _ := ParseText(f.Payload, MaxLines)
	at := time.Date(2026, time.November, 24, 14, 0, 0, 0, time.UTC)
	if text.TXN() != "Hello" || text.Get("CURTIME") != Time(at) || text.Get("theaterPort") != "18845" {
		t.Errorf("text %v", text)
	}
	f = next(t, all["S4 NuGetPersonas"])
	text, _ = ParseText(f.Payload, MaxLines)
	if got := text.List("personas"); !cmp.Equal(got, []string{"Tanya"}) {
		t.Errorf("personas %q", got)
	}
}

func TestLongExample(t *testing.T) {
	want := examples(t)["S GetTos"]
	payload := []byte("TXN=GetTos\ntos=\"x\"\n\x00")
	whole, done, err := new(Parts).Add(next(t, want))
	if err != nil || !done || !bytes.Equal(whole.Payload, payload) || whole.Header != (Header{"acct", Reply, 3}) {
		t.Errorf("put together: %v %q, %v, %v", whole.Header, whole.Payload, done, err)
	}
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a": "a", `"a b"`: "a b", "a%3d%3Db": "a==b", "%": "%", "%4": "%4", "%zz": "%zz", "a%41": "aA",
		`"`: `"`, `""`: "", `"a`: `"a`, "%0a%00": "\n\x00", "a b": "a b", "\xff%ff": "\xff\xff", "%+1": "%+1",
	} {
		if got := Unescape(in); got != want {
			t.Errorf("Unescape(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestParseText(t *testing.T) {
	for in, want := range map[string]Text{
		"":                             nil,
		"TXN=Ping\n\x00":               {{"TXN", "Ping"}},
		"TXN=Ping":                     {{"TXN", "Ping"}},
		"a=b=c\n\nno\n=x\nd=\x00e=f":   {{"a", "b=c"}, {"d", ""}},
		"name=Ann%0aTXN%3dLogin\n\x00": {{"name", "Ann\nTXN=Login"}},
		"k=" + strings.Repeat("v", MaxValue) + "\n" + strings.Repeat("k", MaxKey) + "=": {
			{"k", strings.Repeat("v", MaxValue)}, {strings.Repeat("k", MaxKey), ""},
		},
	} {
		if got, err := ParseText([]byte(in), 2); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%.40q: %v, %v", in, got, err)
		}
	}
	for name, in := range map[string]string{
		"lines": "a=1\nb=2\nc=3", "key": strings.Repeat("k", MaxKey+1) + "=", "value": "k=" + strings.Repeat("v", MaxValue+1),
	} {
		if got, err := ParseText([]byte(in), 2); !errors.Is(err, ErrText) {
			t.Errorf("too many %s: %v, %v", name, got, err)
		}
	}
}

func TestText_List(t *testing.T) {
	text := Text{{"x.[]", "1000000000"}, {"x.10", "c"}, {"x.2", "b"}, {"X.0", "a"}, {"x.a", "no"}, {"xx.1", "no"}, {"x.1.name", "no"}, {"x.-1", "no"}}
	if got, want := text.List("x"), []string{"a", "b", "c"}; !cmp.Equal(got, want) {
		t.Errorf("List = %q, want %q", got, want)
	}
	var made Text
	made.AddList("y", "a", "b")
	if got, want := string(made.Append(nil, ServerEnd)), "y.[]=2\ny.0=a\ny.1=b\x00"; got != want {
		t.Errorf("AddList = %q, want %q", got, want)
	}
}

func TestInbox_bad(t *testing.T) {
	frame := func(length, body int) string {
		return "fsys\xc0\x00\x00\x01" + string([]byte{byte(length >> 24), byte(length >> 16), byte(length >> 8), byte(length)}) + strings.Repeat("x", body)
	}
	for name, tc := range map[string]struct {
		in   string
		want error
	}{
		"longest":             {frame(100, 88), nil},
		"one more":            {frame(101, 89), ErrTooLong},
		"length of a lie":     {frame(0x7fffffff, 0), ErrTooLong},
		"negative":            {frame(0xfffffff0, 0), ErrTooLong},
		"shorter than itself": {frame(11, 0), ErrFrame},
		"letters":             {"GET / HTTP/1.1\r\n\r\n", ErrFrame},
		"cut":                 {frame(50, 10), io.EOF},
		"empty payload":       {frame(12, 0), nil},
	} {
		var in Inbox
		if _, err := in.Next(strings.NewReader(tc.in), 100); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}

// TestInbox_interrupted reads a frame whose reader fails between all its bytes.
func TestInbox_interrupted(t *testing.T) {
	want := Frame{Header{"acct", Request, 7}, []byte("TXN=Ping\n\x00")}
	var in Inbox
	whole := want.Append(nil)
	for i := range whole {
		f, err := in.Next(iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(whole[i:]))), 100)
		switch {
		case i == len(whole)-1 && (err != nil || !cmp.Equal(f, want)):
			t.Errorf("frame %v, %v", f, err)
		case i < len(whole)-1 && (!errors.Is(err, iotest.ErrTimeout) || !in.Begun()):
			t.Fatalf("after %d bytes: %v", i+1, err)
		}
	}
	if in.Begun() {
		t.Error("something is left")
	}
}

// TestInbox_memory sends the header of a long frame and little of it.
func TestInbox_memory(t *testing.T) {
	var in Inbox
	_, err := in.Next(strings.NewReader("fsys\xc0\x00\x00\x01\x00\x01\x00\x00abc"), 1<<16)
	if !errors.Is(err, io.EOF) || cap(in.body) > 2*firstBody {
		t.Errorf("%d bytes are kept for 3, %v", cap(in.body), err)
	}
}

// parts returns the frames of a message.
func parts(t testing.TB, b []byte) (all []Frame) {
	t.Helper()
	var in Inbox
	r := bytes.NewReader(b)
	for r.Len() > 0 {
		f, err := in.Next(r, MaxFragment)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

func TestAppendMessage(t *testing.T) {
	for name, tc := range map[string]struct{ payload, fragment, frames int }{
		"fits":              {MaxFragment - HeaderSize - spare, MaxFragment, 1},
		"one byte more":     {MaxFragment - HeaderSize - spare + 1, MaxFragment, 2},
		"small fragments":   {4000, 2048, 4},
		"nonsense":          {MinFragment - HeaderSize - spare, -1, 1},
		"larger than known": {MaxFragment, 1 << 30, 2},
	} {
		payload := bytes.Repeat([]byte{0xfb}, tc.payload)
		h := Header{"rank", Reply, 9}
		all := parts(t, AppendMessage(nil, h, payload, tc.fragment))
		if len(all) != tc.frames {
			t.Errorf("%s: %d frames, want %d", name, len(all), tc.frames)
		}
		var p Parts
		whole, done := all[0], len(all) == 1
		for _, f := range all {
			if n := HeaderSize + len(f.Payload); n > min(max(tc.fragment, MinFragment), MaxFragment) {
				t.Errorf("%s: a frame of %d bytes", name, n)
			}
			var err error
			if f.Kind.IsPart() {
				if whole, done, err = p.Add(f); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !done || p.Begun() || !cmp.Equal(whole, Frame{h, payload}) {
			t.Errorf("%s: put together as %v, %d bytes", name, whole.Header, len(whole.Payload))
		}
	}
}

func TestParts_bad(t *testing.T) {
	part := func(n uint32, text string) Frame { return Frame{Header{"rank", RequestPart, n}, []byte(text)} }
	for name, tc := range map[string]struct {
		parts []Frame
		want  error
	}{
		"longest":            {[]Frame{part(1, "size=262144\ndata=QUFB")}, nil},
		"too long":           {[]Frame{part(1, "size=262145\ndata=QUFB")}, ErrTooLong},
		"no size":            {[]Frame{part(1, "data=QUFB")}, ErrFrame},
		"size 0":             {[]Frame{part(1, "size=0\ndata=QUFB")}, ErrFrame},
		"no data":            {[]Frame{part(1, "size=8\ndata=")}, ErrFrame},
		"more than stated":   {[]Frame{part(1, "size=4\ndata=QUFBQUFB")}, ErrFrame},
		"other number":       {[]Frame{part(1, "size=8\ndata=QUFB"), part(2, "size=8\ndata=QUFB")}, ErrFrame},
		"other size":         {[]Frame{part(1, "size=8\ndata=QUFB"), part(1, "size=12\ndata=QUFB")}, ErrFrame},
		"not base64":         {[]Frame{part(1, "size=4\ndata=????")}, ErrFrame},
		"other decoded size": {[]Frame{part(1, "decodedSize=4\nsize=4\ndata=QUFB")}, ErrFrame},
		"negative decoded":   {[]Frame{part(1, "decodedSize=-1\nsize=4\ndata=QUFB")}, ErrFrame},
		"lines":              {[]Frame{part(1, strings.Repeat("a=\n", MaxLines+1))}, ErrText},
	} {
		var p Parts
		var err error
		for _, f := range tc.parts {
			_, _, err = p.Add(f)
		}
		if !errors.Is(err, tc.want) || err != nil && p.Begun() {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}

// FuzzText reads what it wrote, and writes what it read.
func FuzzText(f *testing.F) {
	for _, b := range examples(f) {
		f.Add(b[HeaderSize:])
	}
	f.Add([]byte("a=\"%22 %0a%00\xff\"\nb=%%%\n"))
	f.Fuzz(func(t *testing.T, payload []byte) {
		read, err := ParseText(payload, MaxLines)
		if err != nil {
			return
		}
		written := read.Append(nil, ClientEnd)
		again, err := ParseText(written, MaxLines)
		if err != nil || !cmp.Equal(read, again) {
			t.Errorf("%q was read as %v, written as %q and read as %v, %v", payload, read, written, again, err)
		}
		for _, field := range read {
			_ = read.List(field.Key)
		}
	})
}

// FuzzStream reads frames and long messages.
func FuzzStream(f *testing.F) {
	for _, b := range examples(f) {
		f.Add(b)
	}
	f.Add(AppendMessage(nil, Header{"rank", Request, 1}, bytes.Repeat([]byte("a=b\n"), 3000), MaxFragment))
	f.Fuzz(func(t *testing.T, stream []byte) {
		var in Inbox
		var p Parts
		var again []byte
		r := bytes.NewReader(stream)
		for {
			frame, err := in.Next(r, 1<<16)
			if err != nil {
				break
			}
			again = frame.Append(again)
			if !frame.Kind.IsPart() {
				continue
			}
			if whole, done, _ := p.Add(frame); done && len(whole.Payload) > MaxLong {
				t.Errorf("a message of %d bytes", len(whole.Payload))
			}
		}
		if !bytes.HasPrefix(stream, again) {
			t.Errorf("%q was written again as %q", stream, again)
		}
	})
}
