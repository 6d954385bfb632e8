package clean

import (
	"strings"
	"testing"
)

func TestCut(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "",
		"12345678":                "12345678",
		"123456789":               "12345678... (9 bytes in all)",
		"1234567\u00e9":           "1234567... (9 bytes in all)",
		"123456\u00e9":            "123456\u00e9",
		"12345\U0001F600":         "12345... (9 bytes in all)",
		strings.Repeat("x", 1e6):  "xxxxxxxx... (1000000 bytes in all)",
		strings.Repeat("\x80", 9): "\x80\x80\x80\x80... (9 bytes in all)", // no text at all
	} {
		if got := Cut(text, 8); got != want {
			t.Errorf("Cut(%.20q, 8) = %.60q, want %q", text, got, want)
		}
	}
}
