package gamespy

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pairs returns the fields of m as key, value, key, value.
func pairs(m Message) []string {
	var list []string
	for k, v := range m.Fields() {
		list = append(list, k, v)
	}
	return list
}

func TestParseMessage(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"heartbeat":                     {`\heartbeat\26900\gamename\gmtest`, []string{"heartbeat", "26900", "gamename", "gmtest"}},
		"empty last value":              {`\heartbeat\1\statechanged\`, []string{"heartbeat", "1", "statechanged", ""}},
		"missing last value":            {`\heartbeat\1\statechanged`, []string{"heartbeat", "1", "statechanged", ""}},
		"empty value in the middle":     {`\login\\challenge\abc`, []string{"login", "", "challenge", "abc"}},
		"only a name":                   {`\ka\`, []string{"ka", ""}},
		"two queries in one":            {`\status\\secure\ABCDEF`, []string{"status", "", "secure", "ABCDEF"}},
		"list of everything":            {`\list\\gamename\x`, []string{"list", "", "gamename", "x"}},
		"final before queryid":          {`\team_0\\final\\queryid\2.1`, []string{"team_0", "", "final", "", "queryid", "2.1"}},
		"final behind queryid":          {`\mapname\dm1\queryid\5.1\final\`, []string{"mapname", "dm1", "queryid", "5.1", "final", ""}},
		"queryid of the message before": {`\queryid\1.1\\list\cmp\gamename\x`, []string{"queryid", "1.1", "list", "cmp", "gamename", "x"}},
		"line end between messages":     {"\\queryid\\1.1\\\r\n\\list\\cmp", []string{"queryid", "1.1", "list", "cmp"}},
		"line end in front":             {"\r\n\\list\\cmp", []string{"list", "cmp"}},
		"NUL of the message before":     {"\x00\\ka\\", []string{"ka", ""}},
		"junk in front":                 {`junk\ka\`, []string{"ka", ""}},
		"NUL at the end":                {"\\statechanged\\2\x00", []string{"statechanged", "2"}},
		"NUL and stale buffer":          {"\\statechanged\\2\x00\\old\\text", []string{"statechanged", "2"}},
		"line end at the end":           {"\\statechanged\\2\r\n", []string{"statechanged", "2"}},
		"line end inside a value":       {"\\motd\\a\nb\n\\port\\1", []string{"motd", "a\nb\n", "port", "1"}},
		"space belongs to the value":    {`\nick\ x \`, []string{"nick", " x "}},
		"repeated key":                  {`\unknown\1\unknown\2`, []string{"unknown", "1", "unknown", "2"}},
		"bytes of another code page":    {"\\nick\\\xe4\xff\x80", []string{"nick", "\xe4\xff\x80"}},
		"backslash inside a value":      {`\bm\1\msg\hello \ bob`, []string{"bm", "1", "msg", "hello ", " bob", ""}},
		"many backslashes at the end":   {`\ka\\\\\`, []string{"ka", ""}},
		"many backslashes at the start": {`\\\\ka\1`, []string{"ka", "1"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := ParseMessage([]byte(tt.text))
			if err != nil {
				t.Fatalf("ParseMessage(%q): %v", tt.text, err)
			}
			if diff := cmp.Diff(tt.want, pairs(m)); diff != "" {
				t.Errorf("ParseMessage(%q) (-want +got):\n%s", tt.text, diff)
			}
			if m.Name() != tt.want[0] || m.Len() != len(tt.want)/2 {
				t.Errorf("Name, Len = %q, %d, want %q, %d", m.Name(), m.Len(), tt.want[0], len(tt.want)/2)
			}
		})
	}
}

func TestParseMessageRefuses(t *testing.T) {
	tests := map[string]struct {
		text string
		want error
	}{
		"nothing":            {"", ErrNoFields},
		"no backslash":       {"heartbeat", ErrNoFields},
		"only backslashes":   {`\\\\`, ErrNoFields},
		"only a line end":    {"\\\r\n\\", ErrNoFields},
		"NUL before any key": {"\\\x00ka\\", ErrNoFields},
		"one field too many": {strings.Repeat(`\a\b`, MaxFields+1), ErrTooManyFields},
		"one byte too long":  {`\a\` + strings.Repeat("x", MaxMessage-2), ErrMessageTooLong},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if m, err := ParseMessage([]byte(tt.text)); !errors.Is(err, tt.want) || m.Len() != 0 {
				t.Errorf("ParseMessage = %d fields, error %v, want none, %v", m.Len(), err, tt.want)
			}
		})
	}
}

func TestParseMessageAtItsLimits(t *testing.T) {
	for name, text := range map[string]string{
		"fields": strings.Repeat(`\a\b`, MaxFields),
		"bytes":  `\a\` + strings.Repeat("x", MaxMessage-3),
	} {
		if _, err := ParseMessage([]byte(text)); err != nil {
			t.Errorf("%s: ParseMessage: %v", name, err)
		}
	}
}

func TestMessageDoesNotShareTheBuffer(t *testing.T) {
	b := []byte(`\nick\bob`)
	m, err := ParseMessage(b)
	if err != nil {
		t.Fatal(err)
	}
	clear(b)
	if got, _ := m.Get("nick"); got != "bob" {
		t.Errorf("Get after the buffer changed = %q, want %q", got, "bob")
	}
}

func TestGet(t *testing.T) {
	var m Message
	m.Add("productID", "11")
	m.Add("PRODUCTID", "12")
	m.Add("empty", "")
	m.Add("gr\xfcn", "code page")
	m.Add("k", "letter")
	tests := map[string]struct {
		key, want string
		ok        bool
	}{
		"first of two wins":         {"productid", "11", true},
		"upper case":                {"PRODUCTID", "11", true},
		"empty value is there":      {"empty", "", true},
		"missing":                   {"product", "", false},
		"bytes above ASCII as is":   {"GR\xfcN", "code page", true},
		"other bytes above ASCII":   {"gr\xfdn", "", false},
		"no folding beyond ASCII":   {"\u212a", "", false},
		"no folding of punctuation": {"[", "", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got, ok := m.Get(tt.key); got != tt.want || ok != tt.ok {
				t.Errorf("Get(%q) = %q, %v, want %q, %v", tt.key, got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestEmptyMessage(t *testing.T) {
	var m Message
	if m.Name() != "" || m.Len() != 0 || pairs(m) != nil {
		t.Errorf("zero Message has name %q and fields %q", m.Name(), pairs(m))
	}
	if b, err := m.AppendTo(nil); len(b) != 0 || err != nil {
		t.Errorf("AppendTo = %q, %v, want nothing", b, err)
	}
}

func TestFieldsCanBeLeftEarly(t *testing.T) {
	m, err := ParseMessage([]byte(`\a\1\b\2`))
	if err != nil {
		t.Fatal(err)
	}
	for k := range m.Fields() {
		if k != "a" {
			t.Fatalf("first key %q, want a", k)
		}
		break
	}
}

func TestAppendToBrokenFraming(t *testing.T) {
	tests := map[string][2]string{
		"backslash in value": {"nick", `a\id\1`},
		"backslash in key":   {`a\b`, "1"},
		"NUL in value":       {"nick", "a\x00"},
		"NUL in key":         {"ni\x00ck", "a"},
		"empty key":          {"", "a"},
		"value final":        {"nick", "final"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var m Message
			m.Add("pi", "")
			m.Add(tt[0], tt[1])
			if b, err := m.AppendTo([]byte("kept")); !errors.Is(err, ErrUnwritable) || string(b) != "kept" {
				t.Errorf("AppendTo = %q, %v, want %q, %v", b, err, "kept", ErrUnwritable)
			}
		})
	}
}

func TestCutFinal(t *testing.T) {
	tests := map[string]struct {
		in, message, rest string
		ok                bool
	}{
		"one":               {`\ka\\final\`, `\ka\`, "", true},
		"two at once":       {`\ka\\final\\logout\\final\`, `\ka\`, `\logout\\final\`, true},
		"queryid behind":    {`\validate\x\final\\queryid\1.1\`, `\validate\x`, `\queryid\1.1\`, true},
		"half a marker":     {`\ka\\fina`, "", `\ka\\fina`, false},
		"other letter case": {`\ka\\FINAL\`, "", `\ka\\FINAL\`, false},
		"nothing":           {"", "", "", false},
		"marker alone":      {Final, "", "", true},
		"in the last bytes": {strings.Repeat("x", MaxMessage-len(Final)) + Final, strings.Repeat("x", MaxMessage-len(Final)), "", true},
		"beyond the limit":  {strings.Repeat("x", MaxMessage-len(Final)+1) + Final, "", strings.Repeat("x", MaxMessage-len(Final)+1) + Final, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			message, rest, ok := CutFinal([]byte(tt.in))
			if string(message) != tt.message || string(rest) != tt.rest || ok != tt.ok {
				t.Errorf("CutFinal(%.40q) = %.40q, %.40q, %v, want %.40q, %.40q, %v", tt.in, message, rest, ok, tt.message, tt.rest, tt.ok)
			}
		})
	}
}

// TestRequestsOfTheOriginalClientSurvive reads and writes requests as the
// original presence client sent them, all in one stream.
func TestRequestsOfTheOriginalClientSurvive(t *testing.T) {
	requests := loadJSON[[]string](t, "requests.json")
	stream := []byte(strings.Join(requests, ""))
	for _, want := range requests {
		text, rest, ok := CutFinal(stream)
		if !ok {
			t.Fatalf("CutFinal(%.60q) found nothing, want %q", stream, want)
		}
		stream = rest
		m, err := ParseMessage(text)
		if err != nil {
			t.Fatalf("ParseMessage(%q): %v", text, err)
		}
		got, err := m.AppendTo(nil)
		if err != nil {
			t.Fatalf("AppendTo of %q: %v", text, err)
		}
		got = append(got, Final...)
		if m.Name() == "bm" {
			// The client lets a backslash into its message: an odd key at the
			// end, which is written with its empty value.
			want = strings.Replace(want, Final, `\`+Final, 1)
		}
		if string(got) != want {
			t.Errorf("written again = %q, want %q", got, want)
		}
	}
	if len(stream) != 0 {
		t.Errorf("%q is left of the stream", stream)
	}
}

func FuzzParseMessage(f *testing.F) {
	for _, request := range loadJSON[[]string](f, "requests.json") {
		f.Add([]byte(request))
		message, _, _ := CutFinal([]byte(request))
		f.Add(message)
	}
	f.Add([]byte("\\queryid\\1.1\\\r\n\\list\\cmp\x00"))
	f.Add([]byte("\\a\\b\n\\\r\\"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ParseMessage(b)
		if err != nil {
			return
		}
		text, err := m.AppendTo(nil)
		if err != nil {
			hasFinal := false
			for _, v := range m.Fields() {
				hasFinal = hasFinal || v == "final"
			}
			if !hasFinal {
				t.Fatalf("AppendTo of the parsed %q: %v", b, err)
			}
			return
		}
		if len(text) > MaxMessage {
			return // a missing last value was written out
		}
		again, err := ParseMessage(text)
		if err != nil || !slices.Equal(again.fields, m.fields) {
			t.Fatalf("ParseMessage(%q) = %q, written as %q and read again: %q, %v", b, m.fields, text, again.fields, err)
		}
	})
}

func BenchmarkParseMessage(b *testing.B) {
	b.ReportAllocs()
	text := []byte(`\gamename\gmtest\gamever\2.00\location\1\hostname\A Server\hostport\25000\mapname\gmtmap1\gametype\arena\numplayers\1\maxplayers\32\final\\queryid\2.1`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := ParseMessage(text); err != nil {
			b.Fatal(err)
		}
	}
}
