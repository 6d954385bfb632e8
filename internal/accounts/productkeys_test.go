package accounts

import (
	"errors"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/storage"
)

func TestProductKeySeal(t *testing.T) {
	s := open(t, Options{})
	id := storage.ProductKeyID{Product: 461, Hash: strings.Repeat("a", 32)}
	sealed, err := s.SealProductKey(id, "AAAA-BBBB")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(sealed), "AAAA") {
		t.Errorf("sealed key %q holds the key", sealed)
	}
	if _, err := s.RotateKey(t.Context()); err != nil {
		t.Fatal(err)
	}
	if key, err := s.OpenProductKey(id, sealed); key != "AAAA-BBBB" || err != nil {
		t.Errorf("OpenProductKey() after a rotation = %q, %v", key, err)
	}
	other := id
	other.Product++
	for name, open := range map[string]func() (string, error){
		"other product": func() (string, error) { return s.OpenProductKey(other, sealed) },
		"cut":           func() (string, error) { return s.OpenProductKey(id, sealed[:5]) },
		"changed": func() (string, error) {
			return s.OpenProductKey(id, append(sealed[:len(sealed)-1:len(sealed)-1], sealed[len(sealed)-1]^1))
		},
	} {
		if _, err := open(); !errors.Is(err, ErrUnsealable) {
			t.Errorf("%s: OpenProductKey() = %v, want ErrUnsealable", name, err)
		}
	}
}
