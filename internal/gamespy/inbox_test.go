package gamespy

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// An Inbox that rests holds little memory until it needs more.
func TestInboxRest(t *testing.T) {
	long := strings.Repeat("x", 3*restInbox)
	text := `\a\b\final\\c\d\final\` + `e\final\` + long + Final
	cut := len(`\a\b\final\\c\d\final\`)
	var in Inbox
	next := func(r io.Reader, want string) {
		t.Helper()
		if got, err := in.Next(r); string(got) != want || err != nil {
			t.Errorf("Next() = %.40q, %v, want %.40q", got, err, want)
		}
	}
	first, rest := strings.NewReader(text[:cut]), strings.NewReader(text[cut:])
	next(first, `\a\b`)
	in.Rest() // there is more
	next(first, `\c\d`)
	in.Rest()
	if in.buf != nil {
		t.Errorf("%d bytes at rest", len(in.buf))
	}
	next(iotest.OneByteReader(rest), "e")
	if len(in.buf) != restInbox {
		t.Errorf("%d bytes after a rest, want %d", len(in.buf), restInbox)
	}
	next(rest, long)
	if len(in.buf) > keepInbox {
		t.Errorf("%d bytes kept", len(in.buf))
	}
}

func TestInbox(t *testing.T) {
	longest := strings.Repeat("x", MaxMessage-len(Final))
	for name, tc := range map[string]struct {
		text string
		want []string
		err  error
	}{
		"nothing":    {"", nil, io.EOF},
		"messages":   {`\a\b\final\\c\d\final\`, []string{`\a\b`, `\c\d`}, io.EOF},
		"unfinished": {`\a\b\final\\c`, []string{`\a\b`}, io.EOF},
		"longest":    {longest + Final + "y" + Final, []string{longest, "y"}, io.EOF},
		"too long":   {longest + "x" + Final, nil, ErrMessageTooLong},
	} {
		for form, r := range map[string]io.Reader{
			"at once": strings.NewReader(tc.text), "bytewise": iotest.OneByteReader(strings.NewReader(tc.text)),
		} {
			t.Run(name+"/"+form, func(t *testing.T) {
				var in Inbox
				for _, want := range tc.want {
					if got, err := in.Next(r); !bytes.Equal(got, []byte(want)) || err != nil {
						t.Fatalf("Next = %.40q, %v, want %.40q", got, err, want)
					}
				}
				if got, err := in.Next(r); got != nil || !errors.Is(err, tc.err) {
					t.Errorf("Next at the end = %.40q, %v, want %v", got, err, tc.err)
				}
				if name == "messages" && len(in.buf) > keepInbox {
					t.Errorf("%d bytes kept", len(in.buf))
				}
			})
		}
	}
}
