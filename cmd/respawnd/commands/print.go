package commands

import (
	"fmt"
	"strconv"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
)

// rows returns the row of each element of a list.
func rows[T any](list []T, row func(T) []string) (out [][]string) {
	for _, v := range list {
		out = append(out, row(v))
	}
	return out
}

// dash stands for an empty cell.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return printable(s)
}

// printable makes untrusted text safe for a terminal.
func printable(s string) string { return clean.Printable(s) }

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// stamp returns a time of this machine's zone, "-" for none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.DateTime)
}

// until returns the end of something, "-" for the zero time.
func until(t time.Time) string {
	if t.IsZero() {
		return "further notice"
	}
	return stamp(t)
}

// counted returns a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// say prints a line on standard output.
func (p *program) say(format string, args ...any) error {
	_, err := fmt.Fprintf(p.out, format+"\n", args...)
	return err
}

// confirm prints a line on standard output, unless an operation failed: then it
// returns the error.
func (p *program) confirm(err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return p.say(format, args...)
}
