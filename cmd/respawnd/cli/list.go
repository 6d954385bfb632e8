package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode"

	"github.com/spf13/cobra"
)

// JSONHelp is the help of --json. All commands print the same shape, so that a
// program needs to know only one.
const JSONHelp = "print JSON, one object per line"

// JSONFlag adds --json to a command.
func (con *Console) JSONFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&con.JSON, "json", false, JSONHelp)
	return cmd
}

// Show prints a list: as a table with a row for each entry, see table, or with
// --json an object for each.
func Show[T any](con *Console, header string, list []T, row func(T) []string) error {
	if con.JSON {
		return PrintJSON(con, list)
	}
	return con.Table(header, Rows(list, row))
}

// ShowNodes is show with a column for the node of a cluster, if there is one.
func ShowNodes[T any](con *Console, header string, list []T, row func(T) (cells []string, node string)) error {
	clustered := slices.ContainsFunc(list, func(v T) bool { _, node := row(v); return node != "" })
	if clustered {
		header += "\tnode"
	}
	return Show(con, header, list, func(v T) []string {
		cells, node := row(v)
		if clustered {
			cells = append(cells, Dash(node))
		}
		return cells
	})
}

// PrintJSON prints each entry of a list as an object on a line of its own.
func PrintJSON[T any](con *Console, list []T) error {
	for i := range list {
		if err := con.PrintObject(list[i]); err != nil {
			return err
		}
	}
	return nil
}

// PrintObject prints v as a JSON object on one line. Characters that a terminal
// would act on are escaped.
func (con *Console) PrintObject(v any) error {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	if err := out.Encode(v); err != nil {
		return err
	}
	_, err := con.Out.Write(escapeControls(b.Bytes()))
	return err
}

// escapeControls escapes control characters above ASCII and those that change
// the direction of text. JSON has them only in strings.
func escapeControls(line []byte) []byte {
	if !bytes.ContainsFunc(line, mustEscape) {
		return line
	}
	escaped := make([]byte, 0, len(line)+64)
	for _, r := range string(line) {
		if mustEscape(r) {
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		} else {
			escaped = fmt.Appendf(escaped, "%c", r)
		}
	}
	return escaped
}

func mustEscape(r rune) bool {
	return r >= 0x7F && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}
