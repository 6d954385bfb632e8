package gstats

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/respawnd/respawnd/internal/gamespy"
)

// sealed returns a body as it is sent.
func sealed(body string) string { return string(seal([]byte(body), 0)) }

// hidden returns text of n bytes whose obfuscated form, at a position of the body, holds
// the terminator after lead bytes.
func hidden(position, lead, n int) string {
	b := bytes.Repeat([]byte{'x'}, n)
	copy(b[lead:], gamespy.Final)
	crypt(b[lead:lead+len(gamespy.Final)], position+lead)
	return string(b)
}

// setOf returns a setpd whose data hold the terminator in obfuscated form, with a length
// that differs from that of the data by off.
func setOf(lead, n, off int) string {
	head := fmt.Sprintf(`\setpd\\pid\1\ptype\1\dindex\0\kv\0\lid\1\length\%d\data\`, n+off)
	return head + hidden(len(head), lead, n)
}

// drain returns all messages of an inbox that reads r. A doubtful message at the end is
// cut.
func drain(r io.Reader, most int) (all []string, have progress) {
	in := inbox{most: most}
	for {
		body, have := in.next()
		switch have {
		case whole:
			all = append(all, string(body))
			continue
		case tooLong:
			return all, have
		case partial, doubtful:
		}
		if _, err := in.read(r); err != nil {
			if have != doubtful {
				return all, have
			}
			all = append(all, string(in.cut()))
		}
	}
}

func TestInbox(t *testing.T) {
	t.Parallel()
	plain := `\getpd\\pid\1\lid\2`
	binary := `\setpd\\pid\1\lid\1\length\12\data\` + "a\\\x00\\final\\\x01b"
	short := setOf(5, 40, 30)
	for name, tt := range map[string]struct {
		sent string
		most int // 0: 4096
		want []string
		have progress
	}{
		"two":                         {sealed(plain) + sealed(plain), 0, []string{plain, plain}, partial},
		"none":                        {"", 0, nil, partial},
		"empty body":                  {sealed(""), 0, []string{""}, partial},
		"text of the terminator":      {sealed(binary), 0, []string{binary}, partial},
		"terminator in the data":      {sealed(setOf(5, 40, 0)) + sealed(plain), 0, []string{setOf(5, 40, 0), plain}, partial},
		"at the start of the data":    {sealed(setOf(0, 40, 0)) + sealed(plain), 0, []string{setOf(0, 40, 0), plain}, partial},
		"at the end of the data":      {sealed(setOf(33, 40, 0)) + sealed(plain), 0, []string{setOf(33, 40, 0), plain}, partial},
		"one byte less than length":   {sealed(setOf(5, 40, 1)) + sealed(plain), 0, []string{setOf(5, 40, 1), plain}, partial},
		"no terminator, one less":     {sealed(`\setpd\\length\4\data\abc`) + sealed(plain), 0, []string{`\setpd\\length\4\data\abc`, plain}, partial},
		"more than length":            {sealed(`\setpd\\length\2\data\abc`) + sealed(plain), 0, []string{`\setpd\\length\2\data\abc`, plain}, partial},
		"length lies, nothing more":   {sealed(`\setpd\\length\900\data\abc`), 0, []string{`\setpd\\length\900\data\abc`}, partial},
		"length lies, requests":       {sealed(`\setpd\\length\900\data\abc`) + strings.Repeat(sealed(plain), 3), 0, []string{`\setpd\\length\900\data\abc`, plain, plain, plain}, partial},
		"length lies, many requests":  {sealed(`\setpd\\length\36\data\abc`) + strings.Repeat(sealed(plain), 3), 0, []string{`\setpd\\length\36\data\abc`, plain, plain, plain}, partial},
		"length beyond the limit":     {sealed(`\setpd\\length\4000\data\abc`) + sealed(plain), 4000, []string{`\setpd\\length\4000\data\abc`, plain}, partial},
		"length of no number":         {sealed(`\setpd\\length\99999999999\data\abc`) + sealed(plain), 0, []string{`\setpd\\length\99999999999\data\abc`, plain}, partial},
		"negative length":             {sealed(`\setpd\\length\-4\data\abc`) + sealed(plain), 0, []string{`\setpd\\length\-4\data\abc`, plain}, partial},
		"length behind the data":      {sealed(`\setpd\\data\abc\length\50`) + sealed(plain), 0, []string{`\setpd\\data\abc\length\50`, plain}, partial},
		"cut, and the rest is absent": {sealed(short), 0, []string{strings.TrimSuffix(short[:len(short)-28], "x")}, partial},
		"as long as the limit":        {strings.Repeat("x", 4089) + gamespy.Final, 4096, nil, partial},
		"longer than the limit":       {strings.Repeat("x", 4090) + gamespy.Final, 4096, nil, tooLong},
		"without an end":              {strings.Repeat("x", 5000), 4096, nil, tooLong},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			most := tt.most
			if most == 0 {
				most = 4096
			}
			got, have := drain(strings.NewReader(tt.sent), most)
			if name == "as long as the limit" {
				if len(got) != 1 || len(got[0]) != 4089 {
					t.Errorf("%d messages, want one", len(got))
				}
				return
			}
			if name == "cut, and the rest is absent" { // the rest is another message
				if len(got) != 2 || !strings.HasPrefix(short, got[0]) {
					t.Errorf("messages %q", got)
				}
				return
			}
			if !slices.Equal(got, tt.want) || have != tt.have {
				t.Errorf("messages %q, %d, want %q, %d", got, have, tt.want, tt.have)
			}
			if again, _ := drain(iotest.OneByteReader(strings.NewReader(tt.sent)), most); !slices.Equal(again, got) {
				t.Errorf("byte by byte: messages %q, want %q", again, got)
			}
		})
	}
}

func TestInboxMemory(t *testing.T) {
	t.Parallel()
	shared := &memory{most: 28 << 10}
	in := inbox{most: 1 << 20, shared: shared}
	long := strings.NewReader(strings.Repeat("x", 32<<10))
	for i := 0; ; i++ {
		if _, have := in.next(); have != partial {
			t.Fatalf("message %d", have)
		}
		full, err := in.read(long)
		if full || err != nil {
			t.Fatalf("read: %v, %v after %d bytes", full, err, in.to)
		}
		if in.to == 32<<10 {
			break
		}
	}
	if full, _ := in.read(long); !full {
		t.Error("memory without a bound")
	}
	other := inbox{most: 1 << 20, shared: shared}
	if full, err := other.read(strings.NewReader("x")); full || err != nil {
		t.Errorf("a small message needs shared memory: %v, %v", full, err)
	}
	in.free()
	other.free()
	if n := shared.used.Load(); n != 0 {
		t.Errorf("%d bytes are taken", n)
	}
}

// A buffer that was needed for one long message is released.
func TestInboxShrinks(t *testing.T) {
	t.Parallel()
	shared := &memory{most: 1 << 20}
	in := inbox{most: 1 << 20, shared: shared}
	r := io.MultiReader(strings.NewReader(sealed(`\ka\`+strings.Repeat("x", 50_000))), strings.NewReader("y"))
	for got := 0; got == 0; {
		body, _ := in.next()
		if got = len(body); got == 0 {
			if full, err := in.read(r); full || err != nil {
				t.Fatal(full, err)
			}
		}
	}
	if _, err := in.read(r); err != nil || len(in.buf) != firstInbox || shared.used.Load() != 0 {
		t.Errorf("%d bytes are kept, %d of them shared, %v", len(in.buf), shared.used.Load(), err)
	}
}

// However a stream is cut into reads, it has the same messages, and nothing is read twice
// or lost.
func FuzzInbox(f *testing.F) {
	for _, m := range loadRecorded(f).Session {
		if m.Dir == "C>S" {
			f.Add(m.bytes(f), uint8(3))
		}
	}
	f.Add([]byte(sealed(setOf(5, 40, 0))+sealed(setOf(9, 30, 1))), uint8(9))
	f.Add([]byte(sealed(`\setpd\\length\90\data\abc`)+sealed(`\ka\`)), uint8(1))
	f.Fuzz(func(t *testing.T, sent []byte, size uint8) {
		if len(sent) > 1<<14 {
			return
		}
		want, have := drain(bytes.NewReader(sent), 2048)
		var parts []io.Reader
		for part := range slices.Chunk(sent, int(size)+1) {
			parts = append(parts, bytes.NewReader(part))
		}
		got, end := drain(io.MultiReader(parts...), 2048)
		if !slices.Equal(got, want) || end != have {
			t.Errorf("in parts of %d: %q, %d, at once: %q, %d", int(size)+1, got, end, want, have)
		}
		total := 0
		for _, m := range got {
			total += len(m) + len(gamespy.Final)
		}
		if total > len(sent) {
			t.Errorf("%d bytes of messages in %d bytes", total, len(sent))
		}
	})
}

// A body is the same after it was sent, whatever it holds, unless a terminator lies in
// its obfuscated form outside of data.
func FuzzSeal(f *testing.F) {
	f.Add([]byte(`\ka\`), 0)
	f.Add([]byte("a\\b\\final\\c\x00d"), 3)
	f.Fuzz(func(t *testing.T, data []byte, before int) {
		before = min(max(before, 0), 64)
		head := fmt.Sprintf(`\setpd\\pid\%d\length\%d\data\`, before, len(data))
		body := head + string(data)
		got, _ := drain(strings.NewReader(sealed(body)+sealed(`\ka\`)), 1<<20)
		if !slices.Equal(got, []string{body, `\ka\`}) {
			t.Errorf("%q is read as %q", body, got)
		}
		twice := []byte(body)
		crypt(twice[:len(head)], 0)
		crypt(twice[len(head):], len(head))
		crypt(twice, 0)
		if string(twice) != body {
			t.Error("crypt in two parts differs from crypt at once")
		}
	})
}
