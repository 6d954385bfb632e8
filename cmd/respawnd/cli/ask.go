package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxAnswerLine is the maximum number of bytes read for an answer of yes or no.
const maxAnswerLine = 64

var errNotConfirmed = errors.New("nothing was changed: answer y, or use --yes")

// Ask asks a question, to which only yes is no error.
func (con *Console) Ask(format string, args ...any) error {
	if _, err := fmt.Fprintf(con.Err, format+" [y/N] ", args...); err != nil {
		return err
	}
	line, err := bufio.NewReader(io.LimitReader(con.In, maxAnswerLine)).ReadString('\n')
	if err != nil {
		_, _ = fmt.Fprintln(con.Err) // the question has no line end
	}
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		return errNotConfirmed
	}
	return nil
}
