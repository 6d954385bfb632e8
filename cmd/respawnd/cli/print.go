package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
)

// Rows returns the row of each element of a list.
func Rows[T any](list []T, row func(T) []string) (out [][]string) {
	for _, v := range list {
		out = append(out, row(v))
	}
	return out
}

// Dash stands for an empty cell.
func Dash(s string) string {
	if s == "" {
		return "-"
	}
	return Printable(s)
}

// Printable makes untrusted text safe for a terminal.
func Printable(s string) string { return clean.Printable(s) }

// YesNo returns "yes" or "no", for tables.
func YesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// Stamp returns a time of this machine's zone, "-" for none.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.DateTime)
}

// Until returns the end of something, "-" for the zero time.
func Until(t time.Time) string {
	if t.IsZero() {
		return "further notice"
	}
	return Stamp(t)
}

// Counted returns a number with its noun.
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Say prints a line on standard output.
func (con *Console) Say(format string, args ...any) error {
	_, err := fmt.Fprintf(con.Out, format+"\n", args...)
	return err
}

// Confirm prints a line on standard output, unless an operation failed: then it
// returns the error.
func (con *Console) Confirm(err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return con.Say(format, args...)
}
