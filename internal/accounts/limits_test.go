package accounts

import (
	"errors"
	"strings"
	"testing"
)

func TestKeyFileLimit(t *testing.T) {
	for n, want := range map[int]error{0: ErrKeyFile, 1: nil, maxKeys: nil, maxKeys + 1: ErrKeyFile} {
		f := keyFile{Format: keyFormat, Digest: make([]byte, keyLen)}
		for i := range n {
			f.Keys = append(f.Keys, sealedKey{ID: uint32(i + 1), Key: make([]byte, keyLen)})
		}
		f.Active = uint32(n)
		if _, err := newKeyring(f); !errors.Is(err, want) {
			t.Errorf("file of %d keys: %v, want %v", n, err, want)
		}
	}
}

func TestCDKeyLimit(t *testing.T) {
	s := open(t, Options{})
	id := register(t, s, alice()).ID
	for n, want := range map[int]error{MaxCDKey: nil, MaxCDKey + 1: ErrBadCDKey} {
		if err := s.RegisterCDKey(t.Context(), id, "gmtest", strings.Repeat("A", n)); !errors.Is(err, want) {
			t.Errorf("CD key of %d letters: %v, want %v", n, err, want)
		}
	}
}
