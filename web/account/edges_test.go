package account

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestContactLimit(t *testing.T) {
	var p Pages
	for n, want := range map[int]int{0: 0, maxContact: maxContact, maxContact + 1: maxContact} {
		text := strings.Repeat("c", n)
		p.SetContact(text)
		got := *p.contact.Load()
		if utf8.RuneCountInString(got) != want || (got == text) != (n == want) {
			t.Errorf("contact of %d characters: %q, want %d characters", n, got, want)
		}
	}
}
