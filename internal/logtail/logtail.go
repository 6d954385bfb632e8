// Package logtail keeps the last lines of the log in memory, so that an
// operator can read them and follow new ones.
//
// Its memory is fixed: a number of lines, each cut to a maximum length. Writing
// never waits for a reader; a reader that is too slow gets the number of lines
// that it missed. The lines do not survive the process.
package logtail

import (
	"bytes"
	"context"
	"sync"

	"github.com/rs/zerolog"
)

// MaxLine is the longest line that is kept, in bytes; more is cut.
const MaxLine = 4096

// Line is one line of the log.
type Line struct {
	Seq   uint64 // rises by one with each line, from 1
	Level zerolog.Level
	Text  []byte // JSON unless Cut, without the line's end; read-only
	Cut   bool   // the line was longer than MaxLine
}

// Ring holds the last lines. Its methods may be called from any goroutine.
type Ring struct {
	mu    sync.Mutex // guards the fields below
	lines []Line     // the line with number n is at n modulo the length
	last  uint64     // number of the newest line; 0: there is none
	more  chan struct{}
}

// New returns a ring for the last n lines, at least 1.
func New(n int) *Ring {
	return &Ring{lines: make([]Line, max(n, 1))}
}

// Write keeps a copy of one line of zerolog's. It never fails.
func (r *Ring) Write(p []byte) (int, error) {
	text := bytes.TrimRight(p, "\n")
	line := Line{Level: levelOf(text), Cut: len(text) > MaxLine}
	line.Text = bytes.Clone(text[:min(len(text), MaxLine)])
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	line.Seq = r.last
	r.lines[r.last%uint64(len(r.lines))] = line
	if r.more != nil {
		close(r.more)
		r.more = nil
	}
	return len(p), nil
}

// levelOf reads the level of a line, which zerolog writes first.
func levelOf(line []byte) zerolog.Level {
	rest, found := bytes.CutPrefix(line, []byte(`{"`+zerolog.LevelFieldName+`":"`))
	word, _, closed := bytes.Cut(rest, []byte(`"`))
	if !found || !closed {
		return zerolog.NoLevel
	}
	level, err := zerolog.ParseLevel(string(word))
	if err != nil {
		return zerolog.NoLevel
	}
	return level
}

// Last returns up to n lines of at least a level, oldest first.
func (r *Ring) Last(n int, least zerolog.Level) []Line {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Line
	for seq := r.last; seq >= r.oldest() && seq > 0 && len(out) < n; seq-- {
		if line := r.at(seq); line.Level >= least {
			out = append(out, line)
		}
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// at returns the line with a number that is in the ring. mu is held.
func (r *Ring) at(seq uint64) Line { return r.lines[seq%uint64(len(r.lines))] }

// oldest returns the number of the oldest line in the ring. mu is held.
func (r *Ring) oldest() uint64 {
	if n := uint64(len(r.lines)); r.last > n {
		return r.last - n + 1
	}
	return 1
}

// Newest returns the number of the newest line, 0 if there is none. A reader
// that wants only new lines begins there.
func (r *Ring) Newest() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// Next waits until there is a line after a number, or ctx ends, and returns up
// to n lines of at least a level. next is the number to continue from; missed
// is how many lines were overwritten before they could be read. lines may be
// empty when only lines of lower levels came.
func (r *Ring) Next(ctx context.Context, after uint64, n int, least zerolog.Level) (lines []Line, next, missed uint64, err error) {
	for {
		lines, next, missed, more := r.after(after, n, least)
		if next != after {
			return lines, next, missed, nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil, after, 0, ctx.Err()
		}
	}
}

// after returns the results of Next, or a channel that is closed when a line
// comes.
func (r *Ring) after(seq uint64, n int, least zerolog.Level) (lines []Line, next, missed uint64, more <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if seq >= r.last {
		if r.more == nil {
			r.more = make(chan struct{})
		}
		return nil, seq, 0, r.more
	}
	if first := r.oldest(); seq+1 < first {
		missed = first - seq - 1
		seq = first - 1
	}
	for seq < r.last && len(lines) < n {
		seq++
		if line := r.at(seq); line.Level >= least {
			lines = append(lines, line)
		}
	}
	return lines, seq, missed, nil
}
