package services

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/respawnd/respawnd/configs"
)

// FuzzLoad feeds arbitrary files to Load: it must not panic, must return either
// a configuration or mistakes, and a configuration must be usable.
func FuzzLoad(f *testing.F) {
	f.Add(configs.Default())
	for _, sample := range []string{"lan.yaml", "zandronum-only.yaml", "community.yaml", "federated.yaml"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "configs", sample))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, text := range []string{
		"", "---", "hello", "- 1", "{", "qr2: {sockets: 65}", "qr2.sockets: 2", "? [a]\n: b", "a: &a [*a]", "<<: {qr2: 1}",
		"net: {trusted: [10.0.0.0/8, ~]}", "natneg: {extra_listen: [':1', ':1']}", "!!map qr2: !!binary aaaa", "qr2:\n---\n", "\xff\xfe",
	} {
		f.Add([]byte(text))
	}
	file := filepath.Join(f.TempDir(), "fuzz.yaml")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		c, _, err := Load(configs.Options{File: file})
		if err != nil {
			all, isErrors := errors.AsType[*configs.Errors](err)
			if c != nil || !isErrors || len(all.Unwrap()) == 0 || err.Error() == "" {
				t.Fatalf("Load = %v, %#v, want no configuration and at least one mistake", c, err)
			}
			return
		}
		if c == nil || c.DataDir == "" || len(c.Games.Domains) == 0 || c.QR2.Sockets < 1 || c.QR2.Expire <= 0 {
			t.Fatalf("Load accepts an unusable configuration: %+v", c)
		}
		for _, l := range c.Listeners() {
			if _, _, err := net.SplitHostPort(l.Address); err != nil {
				t.Fatalf("listener %+v: %v", l, err)
			}
		}
	})
}
