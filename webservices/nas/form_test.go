package nas

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseForm(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat("a=MQ**&", maxFields), "&")
	for name, tt := range map[string]struct {
		in   string
		want Form
		ok   bool
	}{
		"empty":                {"", nil, true},
		"one":                  {"action=bG9naW4*", Form{{"action", []byte("login")}}, true},
		"line end and zero":    {"a=MQ**\r\n\x00", Form{{"a", []byte("1")}}, true},
		"foreign alphabet":     {"a=..8*", Form{{"a", []byte{0xFB, 0xEF}}}, true},
		"no value":             {"a=", Form{{"a", []byte{}}}, true},
		"no equals sign":       {"a", nil, false},
		"no key":               {"=MQ**", nil, false},
		"empty parts":          {"&a=MQ**&&", Form{{"a", []byte("1")}}, true},
		"escaped padding":      {"a=MQ%2A%2a", Form{{"a", []byte("1")}}, true},
		"escape in key":        {"%61=MQ", Form{{"a", []byte("1")}}, true},
		"cut escape":           {"a=MQ%2", nil, false},
		"bad escape":           {"a=MQ%zz", nil, false},
		"not base64":           {"a=b_", nil, false},
		"space":                {"a=M Q", nil, false},
		"line end inside":      {"a=M\nQ", nil, false},
		"padding inside":       {"a=M*Q*", nil, false},
		"one character":        {"a=M", nil, false},
		"second value of name": {"a=MQ**&a=Mg**", Form{{"a", []byte("1")}, {"a", []byte("2")}}, true},
		"patched":              {"_a=***&b=MQ**&_c=%", Form{{"b", []byte("1")}}, true},
		"most fields":          {many, slices.Repeat(Form{{"a", []byte("1")}}, maxFields), true},
		"too many fields":      {many + "&a=MQ**", nil, false},
		"too many empty ones":  {strings.Repeat("&", maxFields+1), nil, false},
		"longest key":          {strings.Repeat("k", maxKey) + "=MQ**", Form{{strings.Repeat("k", maxKey), []byte("1")}}, true},
		"too long key":         {strings.Repeat("k", maxKey+1) + "=MQ**", nil, false},
		"too long":             {"a=" + strings.Repeat("A", maxBody), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseForm([]byte(tt.in))
			if (err == nil) != tt.ok || err == nil && !cmp.Equal(got, tt.want) {
				t.Errorf("ParseForm() = %q, %v, want %q, %v", got, err, tt.want, tt.ok)
			}
		})
	}
}

// TestAlphabets reads a value in all alphabets that are known of consoles.
func TestAlphabets(t *testing.T) {
	want := []byte{0xFB, 0xFF, 0xBF, 0xBE}
	for _, text := range []string{".-.-vg**", ".-+-vg==", "+/+/vg", ">?>?vg**", "%2B%2F%2B%2Fvg%3D%3D"} {
		f, err := ParseForm([]byte("a=" + text))
		if err != nil || !bytes.Equal(f.Value("a"), want) {
			t.Errorf("%s: %x, %v, want %x", text, f.Value("a"), err, want)
		}
	}
	if got := string(Form{{"a", want}}.Append(nil)); got != "a=.-.-vg**" {
		t.Errorf("Append() = %s", got)
	}
}

func TestText(t *testing.T) {
	f := Form{{"a", []byte("x\x00\x00")}, {"b", []byte("x\x00y")}, {"c", []byte("é")}, {"d", nil}}
	for name, want := range map[string]struct {
		text string
		ok   bool
	}{"a": {"x", true}, "b": {"", false}, "c": {"", false}, "d": {"", true}, "missing": {"", true}} {
		if text, ok := f.Text(name); text != want.text || ok != want.ok {
			t.Errorf("Text(%s) = %q, %v", name, text, ok)
		}
	}
	if !f.Has("d") || f.Has("missing") {
		t.Error("Has() is wrong about an empty or a missing field")
	}
}

func TestDecodeUTF16(t *testing.T) {
	for name, tt := range map[string]struct {
		in   []byte
		want string
		ok   bool
	}{
		"empty":            {nil, "", true},
		"text":             {[]byte{0, 'A', 1, 0x42}, "Ał", true},
		"pair":             {[]byte{0xD8, 0x3D, 0xDE, 0x00}, "\U0001F600", true},
		"own characters":   {[]byte{0xE0, 0x01}, "\uE001", true},
		"half a character": {[]byte{0, 'A', 1}, "", false},
		"first half":       {[]byte{0xD8, 0x3D}, "", false},
		"first halves":     {[]byte{0xD8, 0x3D, 0xD8, 0x3D}, "", false},
		"second half":      {[]byte{0xDE, 0x00, 0, 'A'}, "", false},
	} {
		got, err := decodeUTF16(tt.in, binary.BigEndian)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%s: %q, %v, want %q, %v", name, got, err, tt.want, tt.ok)
		}
	}
}

// FuzzForm checks that a form stays the same when it is sent and read again.
func FuzzForm(f *testing.F) {
	f.Add([]byte("action=bG9naW4*&userid=MTIz&_a=%&b=>?.-+/"))
	f.Add(login().Append(nil))
	f.Add([]byte("%20=MQ**&a=%2A"))
	f.Fuzz(func(t *testing.T, in []byte) {
		form, err := ParseForm(bytes.Clone(in))
		if err != nil {
			return
		}
		sent := form.Append(nil)
		again, err := ParseForm(bytes.Clone(sent))
		if len(sent) > maxBody {
			return // names grow when they are escaped
		}
		if err != nil || fmt.Sprint(again) != fmt.Sprint(form) {
			t.Errorf("%q\nbecame %q (%v)\nover %q", form, again, err, sent)
		}
		_, _ = readConsole(form)
		if n, ok := countWords(form); ok && (n < 1 || n > maxWords) {
			t.Errorf("%d words", n)
		}
	})
}

// FuzzText checks that a text in UTF-16 stays the same.
func FuzzText(f *testing.F) {
	f.Add([]byte{0, 'A', 0xD8, 0x3D, 0xDE, 0x00})
	f.Fuzz(func(t *testing.T, in []byte) {
		text, err := decodeUTF16(in, binary.LittleEndian)
		if err == nil && !bytes.Equal(encodeUTF16(text, binary.LittleEndian), in) {
			t.Errorf("%x became %q", in, text)
		}
	})
}
