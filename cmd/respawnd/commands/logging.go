package commands

import (
	"bytes"
	"io"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
)

// Forms of the log.
const (
	formatConsole = "console"
	formatJSON    = "json"
)

// newLogger returns a log that writes each line before it returns. The format auto
// is console on a terminal, else JSON.
func newLogger(w io.Writer, level, format string) zerolog.Logger {
	return logTo(zerolog.SyncWriter(formatted(w, format)), level)
}

func logTo(w io.Writer, level string) zerolog.Logger {
	lv, err := zerolog.ParseLevel(level)
	if err != nil || level == "" {
		lv = zerolog.InfoLevel
	}
	return zerolog.New(w).Level(lv).With().Timestamp().Logger()
}

func formatted(w io.Writer, format string) io.Writer {
	if isConsole(w, format) {
		return zerolog.ConsoleWriter{Out: w, TimeFormat: time.DateTime, NoColor: !cli.IsTerminal(w)}
	}
	return w
}

// Bounds of the log while the daemon serves.
const (
	logQueue     = 8192        // lines that wait for a slow reader of the log
	logFlushTime = time.Second // for waiting lines when the daemon stops
)

// newQueuedLogger returns a log that does not block: lines go through a queue,
// and lines that do not fit are lost and counted in a line of their own. tail
// gets every line before w does; it must not block. flush writes the queue and
// ends the goroutine that newQueuedLogger starts.
func newQueuedLogger(w, tail io.Writer, level, format string) (log zerolog.Logger, flush func()) {
	out := io.MultiWriter(tail, formatted(w, format))
	q := &lineQueue{out: out, direct: logTo(out, level), lines: make(chan []byte, logQueue), stop: make(chan struct{}), ended: make(chan struct{})}
	go q.run()
	return logTo(q, level), q.close
}

// lineQueue carries lines to a writer that may be slow. It is used instead of
// zerolog's diode, which does not keep the contract of the log:
//   - its waiter broadcasts without its lock, so that a wake-up can get lost; then a
//     line such as "ready" is written only when the next one comes, which a flush at
//     the end does not help; its poller wakes an idle daemon 100 times a second;
//   - it reports collisions of writers to standard error as plain text, which may
//     hold JSON only;
//   - its Close waits for a writer that is stuck, and so would the daemon's end.
type lineQueue struct {
	out    io.Writer
	direct zerolog.Logger // writes to out; only run uses it
	lines  chan []byte
	lost   atomic.Int64
	stop   chan struct{}
	ended  chan struct{}
}

// Write queues a copy of a line, or counts it as lost.
func (q *lineQueue) Write(line []byte) (int, error) {
	select {
	case q.lines <- bytes.Clone(line):
	default:
		q.lost.Add(1)
	}
	return len(line), nil
}

// run writes lines until close was called and the queue is empty.
func (q *lineQueue) run() {
	defer close(q.ended)
	for {
		select {
		case line := <-q.lines:
			q.write(line)
		case <-q.stop:
			for {
				select {
				case line := <-q.lines:
					q.write(line)
				default:
					q.tellLost()
					return
				}
			}
		}
	}
}

func (q *lineQueue) write(line []byte) {
	q.tellLost()
	_, _ = q.out.Write(line) // there is no other place to report it
}

func (q *lineQueue) tellLost() {
	if n := q.lost.Swap(0); n > 0 {
		q.direct.Warn().Int64("lines", n).Msg("log lines lost: they are not read fast enough")
	}
}

// close waits for the queue to be written, but not for a reader that is stuck.
func (q *lineQueue) close() {
	close(q.stop)
	select {
	case <-q.ended:
	case <-time.After(logFlushTime):
	}
}

func isConsole(w io.Writer, format string) bool {
	return format == formatConsole || (format != formatJSON && cli.IsTerminal(w))
}
