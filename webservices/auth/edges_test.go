package auth

import (
	"bytes"
	"testing"
)

func TestPaddingLimit(t *testing.T) {
	for n, want := range map[int]bool{minPadding - 1: false, minPadding: true, minPadding + 1: true} {
		block := append([]byte{0, 2}, bytes.Repeat([]byte{1}, n)...)
		block = append(append(block, 0), bytes.Repeat([]byte{'p'}, keyBytes-len(block)-1)...)
		if _, ok := unpad(block); ok != want {
			t.Errorf("padding of %d bytes: %v, want %v", n, ok, want)
		}
	}
}
