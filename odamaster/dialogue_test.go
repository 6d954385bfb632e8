package odamaster

import (
	"bytes"
	"testing"
)

// What is behind the part of an info that is read is overwritten, and an info that ends too early.
func TestRecordingsHoldNoPasswords(t *testing.T) {
	whole := infoOf([]byte("key!"))
	whole = whole[:len(whole)-1] // a byte that is not read
	for _, b := range [][]byte{append(bytes.Clone(whole), "0123456789abcdef\x00"...), append(bytes.Clone(whole[:infoHead]), "0123456789abcdef"...)} {
		dialogueOf().Blot(b)
		if bytes.Contains(b, []byte("0123")) || !bytes.HasPrefix(b, whole[:infoHead]) {
			t.Errorf("an info becomes %q", b)
		}
	}
	b := bytes.Clone(whole)
	if dialogueOf().Blot(b); !bytes.Equal(b, whole) {
		t.Errorf("an info without a password becomes %q", b)
	}
}
