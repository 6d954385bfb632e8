package filter_test

import (
	"testing"

	"github.com/respawnd/respawnd/master/filter"
)

const three = "gametype='arena' and gamever='1.0' and numplayers>=0"

func BenchmarkMatchThree(b *testing.B) {
	f := compile(b, three)
	r := server{"gametype": "arena", "gamever": "1.0", "numplayers": "12"}.row(f.Names())
	budget := &filter.Budget{}
	b.ReportAllocs()
	for b.Loop() {
		budget.Steps = 1000
		if !f.Match(r, budget) {
			b.Fatal("no match")
		}
	}
}

func BenchmarkMatchLike(b *testing.B) {
	f := compile(b, "hostname like '%GameSpy%'")
	r := server{"hostname": "The last gamespy server"}.row(f.Names())
	b.ReportAllocs()
	for b.Loop() {
		if !f.Match(r, nil) {
			b.Fatal("no match")
		}
	}
}

func BenchmarkMatchIn(b *testing.B) {
	f := compile(b, "gametype in ('ctf','dm','tdm','arena')")
	r := server{"gametype": "arena"}.row(f.Names())
	b.ReportAllocs()
	for b.Loop() {
		if !f.Match(r, nil) {
			b.Fatal("no match")
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := filter.Compile(three); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkString(b *testing.B) {
	f := compile(b, three)
	b.ReportAllocs()
	for b.Loop() {
		if f.String() == "" {
			b.Fatal("no text")
		}
	}
}
