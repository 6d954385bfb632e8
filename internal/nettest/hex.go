package nettest

import (
	"encoding/hex"
	"strings"
	"testing"
)

// Unhex returns the bytes of hexadecimal text, which may have white space in it.
func Unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		t.Fatalf("hex %.20q...: %v", text, err)
	}
	return b
}
