package natneg

import (
	"errors"
	"strings"
	"testing"
)

func TestPacketBounds(t *testing.T) {
	for n, want := range map[int]bool{minReportBody - 1: false, minReportBody: true} {
		if _, ok := ParseReport(make([]byte, n)); ok != want {
			t.Errorf("a report of %d bytes is read: %v, want %v", n, ok, want)
		}
	}
	for version, want := range map[byte]error{0: ErrVersion, 1: nil, maxVersion: nil, maxVersion + 1: ErrVersion} {
		if _, _, err := ParseHeader(Header{Version: version}.AppendTo(nil)); !errors.Is(err, want) {
			t.Errorf("version %d: %v, want %v", version, err, want)
		}
	}
}

func TestGameNameBounds(t *testing.T) {
	s := New(DefaultOptions())
	name := func(last string) []byte { return []byte(strings.Repeat("g", maxName-1) + last) }
	if nameHash(s.seed, name("x")) == nameHash(s.seed, name("y")) {
		t.Errorf("character %d of the name of a game does not count", maxName)
	}
	if nameHash(s.seed, name("gx")) != nameHash(s.seed, name("gy")) {
		t.Errorf("character %d of the name of a game counts", maxName+1)
	}
}
