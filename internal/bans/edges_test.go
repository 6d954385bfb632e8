package bans

import (
	"strings"
	"testing"
)

func TestPrefixTextLimit(t *testing.T) {
	const address = "192.0.2.7"
	for n, want := range map[int]string{maxPrefixText: "neither an address", maxPrefixText + 1: "longer than any address"} {
		if _, err := ParsePrefix(strings.Repeat("1", n)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParsePrefix of %d digits: %v, want one with %q", n, err, want)
		}
	}
	if _, err := ParsePrefix(address + strings.Repeat(" ", maxPrefixText)); err != nil {
		t.Errorf("spaces count: %v", err)
	}
}
