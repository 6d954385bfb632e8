package main

import (
	"io"
	"os"
	"time"

	"github.com/rs/zerolog"
	"github.com/rs/zerolog/diode"
	"golang.org/x/term"
)

// Forms of the log.
const (
	formatConsole = "console"
	formatJSON    = "json"
)

// newLogger returns a log that writes each line before it goes on. auto is
// console on a terminal, else JSON.
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
		return zerolog.ConsoleWriter{Out: w, TimeFormat: time.DateTime, NoColor: !isTerminal(w)}
	}
	return w
}

// Bounds of the log while the daemon serves.
const (
	logQueue     = 8192        // lines that wait for a slow reader of the log
	logFlushTime = time.Second // for what waits when the daemon stops
)

// newQueuedLogger returns a log that never makes a packet wait: lines go through
// a queue, and those that find it full are lost and counted in a line of their
// own. flush writes what waits and ends the log.
func newQueuedLogger(w io.Writer, level, format string) (log zerolog.Logger, flush func()) {
	out := writerOnly{formatted(w, format)}
	direct := logTo(out, level)
	queue := diode.NewWriter(out, logQueue, 0, func(lost int) {
		direct.Warn().Int("lines", lost).Msg("log lines lost: nobody reads them fast enough")
	})
	return logTo(queue, level), func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = queue.Close()
		}()
		select {
		case <-done:
		case <-time.After(logFlushTime): // a reader that is stuck must not keep the daemon
		}
	}
}

// writerOnly keeps the queue from closing what it writes to.
type writerOnly struct{ io.Writer }

func isConsole(w io.Writer, format string) bool {
	return format == formatConsole || (format != formatJSON && isTerminal(w))
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
