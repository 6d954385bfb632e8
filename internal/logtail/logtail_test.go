package logtail

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"
)

// texts returns the messages of lines.
func texts(t *testing.T, lines []Line) string {
	t.Helper()
	var out []string
	for _, l := range lines {
		var v struct{ Message string }
		if err := json.Unmarshal(l.Text, &v); err != nil {
			t.Errorf("line %d %q: %v", l.Seq, l.Text, err)
		}
		out = append(out, v.Message)
	}
	return strings.Join(out, " ")
}

// fill logs messages, one line each; those that begin with "e" as errors.
func fill(r *Ring, messages ...string) {
	log := zerolog.New(r)
	for _, m := range messages {
		level := zerolog.InfoLevel
		if strings.HasPrefix(m, "e") {
			level = zerolog.ErrorLevel
		}
		log.WithLevel(level).Msg(m)
	}
}

func TestLastLinesAreKept(t *testing.T) {
	r := New(3)
	if got := r.Last(10, zerolog.TraceLevel); len(got) != 0 {
		t.Errorf("Last() of an empty ring = %v", got)
	}
	fill(r, "a", "e1")
	if got := texts(t, r.Last(10, zerolog.TraceLevel)); got != "a e1" {
		t.Errorf("Last(10) = %s", got)
	}
	fill(r, "b", "c", "e2")
	for n, want := range map[int]string{10: "b c e2", 3: "b c e2", 2: "c e2", 0: ""} {
		if got := texts(t, r.Last(n, zerolog.TraceLevel)); got != want {
			t.Errorf("Last(%d) = %s, want %s", n, got, want)
		}
	}
	if got := texts(t, r.Last(10, zerolog.WarnLevel)); got != "e2" {
		t.Errorf("Last(10, warn) = %s", got)
	}
}

func TestLevelIsRead(t *testing.T) {
	tests := map[string]zerolog.Level{
		`{"level":"warn","message":"x"}`: zerolog.WarnLevel,
		`{"level":"debug"}`:              zerolog.DebugLevel,
		`{"message":"no level"}`:         zerolog.NoLevel,
		`{"level":"odd"}`:                zerolog.NoLevel,
		`{"level":"warn`:                 zerolog.NoLevel,
		``:                               zerolog.NoLevel,
	}
	for line, want := range tests {
		if got := levelOf([]byte(line)); got != want {
			t.Errorf("levelOf(%s) = %v, want %v", line, got, want)
		}
	}
}

func TestLongLinesAreCut(t *testing.T) {
	r := New(2)
	for n, cut := range map[int]bool{MaxLine: false, MaxLine + 1: true} {
		if _, err := r.Write(append(bytes.Repeat([]byte("x"), n), '\n')); err != nil {
			t.Fatal(err)
		}
		got := r.Last(1, zerolog.TraceLevel)[0]
		if len(got.Text) != MaxLine || got.Cut != cut {
			t.Errorf("a line of %d bytes is kept with %d, cut %v", n, len(got.Text), got.Cut)
		}
	}
}

func TestCallersBufferIsNotKept(t *testing.T) {
	r := New(1)
	p := []byte(`{"message":"a"}` + "\n")
	_, _ = r.Write(p)
	copy(p, `{"message":"b"}`)
	if got := texts(t, r.Last(1, zerolog.TraceLevel)); got != "a" {
		t.Errorf("the line became %s", got)
	}
}

func TestReaderGetsNewData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(3)
		fill(r, "a")
		from := r.Newest()
		type answer struct {
			lines        []Line
			next, missed uint64
		}
		got := make(chan answer)
		go func() {
			lines, next, missed, err := r.Next(t.Context(), from, 10, zerolog.WarnLevel)
			if err != nil {
				t.Errorf("Next() = %v", err)
			}
			got <- answer{lines, next, missed}
		}()
		synctest.Wait()
		fill(r, "e1")
		a := <-got
		if texts(t, a.lines) != "e1" || a.next != 2 || a.missed != 0 {
			t.Errorf("Next() = %+v", a)
		}
		fill(r, "b", "e2", "e3", "c", "e4")
		lines, next, missed, err := r.Next(t.Context(), a.next, 1, zerolog.WarnLevel)
		if texts(t, lines) != "e3" || next != 5 || missed != 2 || err != nil {
			t.Errorf("Next() of one line after five = %s, %d, %d, %v", texts(t, lines), next, missed, err)
		}
		lines, next, missed, err = r.Next(t.Context(), next, 10, zerolog.WarnLevel)
		if texts(t, lines) != "e4" || next != 7 || missed != 0 || err != nil {
			t.Errorf("Next() of the rest = %s, %d, %d, %v", texts(t, lines), next, missed, err)
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	r := New(1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, next, _, err := r.Next(ctx, 0, 1, zerolog.TraceLevel); !errors.Is(err, context.Canceled) || next != 0 {
		t.Errorf("Next() = %d, %v", next, err)
	}
}

func TestManyWriteAndReadAtOnce(t *testing.T) {
	r := New(8)
	const writers, each = 4, 500
	ctx, cancel := context.WithCancel(t.Context())
	var readers, all sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			var after, seen uint64
			for {
				lines, next, missed, err := r.Next(ctx, after, 3, zerolog.TraceLevel)
				if err != nil {
					return
				}
				seen += uint64(len(lines)) + missed
				if seen != next {
					t.Errorf("%d lines were read or missed up to line %d", seen, next)
					return
				}
				if after = next; after == writers*each {
					return
				}
			}
		})
	}
	for w := range writers {
		all.Go(func() {
			for i := range each {
				fill(r, fmt.Sprint(w, i))
			}
		})
	}
	all.Wait()
	readers.Wait()
	cancel()
}

func BenchmarkWrite(b *testing.B) {
	r := New(1000)
	line := []byte(`{"level":"info","service":"qr2","peer":"192.0.2.1:4000","time":"2026-11-01T12:00:00Z","message":"server listed"}` + "\n")
	b.ReportAllocs()
	for b.Loop() {
		_, _ = r.Write(line)
	}
}
