package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// IsTerminal reports whether what is written to w is shown on a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// A Meter shows on a terminal how far a command is that takes longer than a moment: the bytes
// that are written to the Meter count. Its line is overwritten by what is printed next.
type Meter struct {
	out        io.Writer // nil: no terminal
	size, done int64
	began      time.Time
	said       time.Time
}

// meterEvery is the time before the line of a Meter, and between two of its states.
const meterEvery = time.Second

// Meter returns a Meter of a command that reads or writes so many bytes; 0: it is not known.
func (con *Console) Meter(size int64) *Meter {
	if !IsTerminal(con.Err) {
		return new(Meter)
	}
	return newMeter(con.Err, size)
}

// Reading returns what reads a file, and the Meter of it.
func (con *Console) Reading(f *os.File) (io.Reader, *Meter) {
	size := int64(0) // of a pipe
	if info, err := f.Stat(); err == nil {
		size = info.Size()
	}
	m := con.Meter(size)
	return io.TeeReader(f, m), m
}

func newMeter(out io.Writer, size int64) *Meter {
	now := time.Now() // twice it would differ, and End would remove a line that is not there
	return &Meter{out: out, size: size, began: now, said: now}
}

// Write counts bytes. It never fails.
func (m *Meter) Write(p []byte) (int, error) {
	m.Add(len(p))
	return len(p), nil
}

// Add counts bytes that are written elsewhere.
func (m *Meter) Add(n int) {
	m.done += int64(n)
	if now := time.Now(); m.out != nil && now.Sub(m.said) >= meterEvery {
		m.said = now
		_, _ = fmt.Fprintf(m.out, "\x1b[K%s\r", m.line(now.Sub(m.began)))
	}
}

// End removes the line.
func (m *Meter) End() {
	if m.out != nil && m.said != m.began {
		_, _ = fmt.Fprint(m.out, "\x1b[K")
	}
}

// line says how much is done after a time, and when the rest will be.
func (m *Meter) line(took time.Duration) string {
	const mega = 1 << 20
	if m.size <= 0 || m.done <= 0 {
		return fmt.Sprintf("%.1f MB", float64(m.done)/mega)
	}
	left := time.Duration(float64(took) * max(0, float64(m.size)/float64(m.done)-1))
	return fmt.Sprintf("%.1f of %.1f MB, about %s left", float64(m.done)/mega, float64(m.size)/mega, left.Round(time.Second))
}
