package bolt

import (
	"path/filepath"
	"testing"
)

func BenchmarkSaveServers10000(b *testing.B) {
	for name, opt := range map[string]Options{"sync": {}, "nosync": {NoSync: true}} {
		b.Run(name, func(b *testing.B) {
			s, err := Open(b.Context(), filepath.Join(b.TempDir(), "bench.db"), opt)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = s.Close() })
			b.ReportAllocs()
			for b.Loop() {
				if n, err := s.SaveServers(b.Context(), records(0, 10000)); n != 10000 || err != nil {
					b.Fatal(n, err)
				}
			}
		})
	}
}

func BenchmarkLoadServers10000(b *testing.B) {
	s, err := Open(b.Context(), filepath.Join(b.TempDir(), "bench.db"), Options{NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	if _, err := s.SaveServers(b.Context(), records(0, 10000)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range s.LoadServers(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
