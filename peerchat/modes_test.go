package peerchat

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestParseModes(t *testing.T) {
	for _, tc := range []struct {
		text, want string // want is the result of appendModes
		ok         bool
	}{
		{"-i+p-s-m+n+t+l+e 8", "-i+p-s-m+n+t+l+e 8", true},
		{"-i+p-s-m-n+t+l-e 8", "-i+p-s-m-n+t+l-e 8", true},
		{"+k pw1", "+k pw1", true},
		{"-k x", "-k x", true},
		{"-k", "-k *", true},
		{"-kl", "-k-l *", true},
		{"+l 4", "+l 4", true},
		{"-l 4", "-l", true},
		{"+b *!*@1.2.3.4", "+b *!*@1.2.3.4", true},
		{"+b", "+", true},
		{"b", "+", true},
		{"+ov-v a b c", "+o+v-v a b c", true},
		{"m", "+m", true},
		{"+-+", "+", true},
		{"+Zm surplus", "+Z+m", true},
		{"", "", false},
		{"+k", "", false},
		{"+l", "", false},
		{"+o", "", false},
		{"+ol a", "", false},
		{"+m ", "+m", true},
		{"+m!", "", false},
		{"+\xe4", "", false},
		{"+k :a", "", false},
		{strings.Repeat("m", maxModes), strings.Repeat("+m", maxModes), true},
		{strings.Repeat("m", maxModes+1), "", false},
		{strings.Repeat("+-", 2000), "+", true},
	} {
		words := strings.Split(strings.TrimRight(tc.text, " "), " ")
		changes, ok := parseModes(words[0], words[1:])
		if ok != tc.ok {
			t.Errorf("parseModes(%.60q): %v, want %v", tc.text, ok, tc.ok)
			continue
		}
		if got := string(appendModes(nil, changes)); ok && got != " "+tc.want+"\r\n" {
			t.Errorf("parseModes(%.60q) is written %.60q, want %.60q", tc.text, got, tc.want)
		}
	}
	for _, arg := range []string{"", "a b", ":a", "a\rb", "a\x00"} {
		if got, ok := parseModes("+k", []string{arg}); ok {
			t.Errorf("parseModes of +k with %q = %v", arg, got)
		}
	}
}

func TestChannelFlags(t *testing.T) {
	if strings.Index(channelFlags, "k") > strings.Index(channelFlags, "l") {
		t.Errorf("%s: want k before l", channelFlags)
	}
	for _, c := range []byte(channelFlags) {
		if got, want := takesArgument(modeChange{add: true, letter: c}), c == 'k' || c == 'l'; got != want {
			t.Errorf("+%c takes an argument: %v", c, got)
		}
	}
}

// FuzzModes writes the modes it has read and reads them again.
func FuzzModes(f *testing.F) {
	f.Add("-i+p-s-m+n+t+l+e", "8")
	f.Add("+bkl-k", "a\nb\n3")
	f.Fuzz(func(t *testing.T, text, args string) {
		changes, ok := parseModes(text, strings.Split(args, "\n"))
		if !ok {
			return
		}
		b := appendModes([]byte("MODE #c"), changes)
		if bytes.ContainsAny(b[:len(b)-2], "\r\n\x00") || !bytes.HasPrefix(b, []byte("MODE #c +")) && !bytes.HasPrefix(b, []byte("MODE #c -")) {
			t.Fatalf("%q is written %q", text, b)
		}
		m, ok := parseLine(bytes.TrimRight(b, "\r\n"))
		if !ok || len(m.params) > maxParams {
			t.Fatalf("%q cannot be read", b)
		}
		if len(changes) > maxParams-2 {
			return // more arguments than one line carries
		}
		again, ok := parseModes(m.params[1], m.params[2:])
		if want := slices.DeleteFunc(changes, modeChange.isQuery); !ok || !slices.Equal(again, want) {
			t.Errorf("%q is read as %v, %v, want %v", b, again, ok, want)
		}
	})
}
