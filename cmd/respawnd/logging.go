package main

import (
	"io"
	"os"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/term"
)

// Forms of the log.
const (
	formatConsole = "console"
	formatJSON    = "json"
)

// newLogger returns the daemon's log. auto is console on a terminal, else JSON.
func newLogger(w io.Writer, level, format string) zerolog.Logger {
	lv, err := zerolog.ParseLevel(level)
	if err != nil || level == "" {
		lv = zerolog.InfoLevel
	}
	if isConsole(w, format) {
		w = zerolog.ConsoleWriter{Out: w, TimeFormat: time.DateTime, NoColor: !isTerminal(w)}
	}
	return zerolog.New(zerolog.SyncWriter(w)).Level(lv).With().Timestamp().Logger()
}

func isConsole(w io.Writer, format string) bool {
	return format == formatConsole || (format != formatJSON && isTerminal(w))
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
