package seal

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"
)

func create(t testing.TB) *Keys {
	t.Helper()
	k, err := Create(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func flipped(b []byte) []byte {
	b = bytes.Clone(b)
	b[len(b)-1] ^= 1
	return b
}

func TestSeal(t *testing.T) {
	k := create(t)
	sealed := k.Seal([]byte("secret"), []byte("alice"))
	if got, err := k.Open(sealed, []byte("alice")); err != nil || string(got) != "secret" {
		t.Errorf("Open() = %q, %v", got, err)
	}
	for name, tt := range map[string]struct {
		bound  string
		sealed []byte
	}{
		"bound to another": {"bob", sealed},
		"a changed bit":    {"alice", flipped(sealed)},
		"nothing":          {"alice", nil},
		"a header":         {"alice", sealed[:header+nonceLen]},
		"half a nonce":     {"alice", sealed[:header+1]},
		"another version":  {"alice", append([]byte{2}, sealed[1:]...)},
		"another key":      {"alice", append([]byte{1, 0, 0, 0, 9}, sealed[header:]...)},
	} {
		if got, err := k.Open(tt.sealed, []byte(tt.bound)); !errors.Is(err, ErrUnsealable) {
			t.Errorf("%s: Open() = %q, %v, want ErrUnsealable", name, got, err)
		}
	}
	if again := k.Seal([]byte("secret"), []byte("alice")); bytes.Equal(again, sealed) {
		t.Error("the same secret was sealed the same twice")
	}
}

func TestSealFor(t *testing.T) {
	k := create(t)
	sealed, err := k.SealFor("keys", []byte("AAAA-BBBB"), []byte("461"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed, []byte("AAAA")) {
		t.Errorf("sealed key %q holds the key", sealed)
	}
	before := k.Fingerprint()
	if err := k.Rotate(func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if key, err := k.OpenFor("keys", sealed, []byte("461")); string(key) != "AAAA-BBBB" || err != nil || k.Fingerprint() != before {
		t.Errorf("OpenFor() after a rotation = %q, %v", key, err)
	}
	for name, tt := range map[string]struct {
		purpose, bound string
		sealed         []byte
	}{
		"another purpose": {"others", "461", sealed},
		"another bound":   {"keys", "462", sealed},
		"nothing":         {"keys", "461", nil},
		"cut":             {"keys", "461", sealed[:5]},
		"changed":         {"keys", "461", flipped(sealed)},
	} {
		if _, err := k.OpenFor(tt.purpose, tt.sealed, []byte(tt.bound)); !errors.Is(err, ErrUnsealable) {
			t.Errorf("%s: OpenFor() = %v, want ErrUnsealable", name, err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	k := create(f)
	sealed := k.Seal([]byte("secret"), nil)
	f.Add(sealed)
	f.Add(sealed[:17])
	f.Add([]byte{1, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, p []byte) {
		if got, err := k.Open(p, nil); err == nil && !bytes.Equal(p, sealed) {
			t.Errorf("Open(%x) = %q", p, got)
		}
	})
}

func TestKeyFileLimit(t *testing.T) {
	for n, want := range map[int]error{0: ErrKeyFile, 1: nil, maxKeys: nil, maxKeys + 1: ErrKeyFile} {
		f := keyFile{Format: keyFormat, Digest: make([]byte, keyLen)}
		for i := range n {
			f.Keys = append(f.Keys, sealingKey{ID: uint32(i + 1), Key: make([]byte, keyLen)})
		}
		f.Active = uint32(n)
		if _, err := newKeyring(f); !errors.Is(err, want) {
			t.Errorf("file of %d keys: %v, want %v", n, err, want)
		}
	}
}
