package cli

import (
	"bufio"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
	"golang.org/x/text/width"
)

const (
	// cellWidth is the maximum width of a cell of text where the output is not a
	// terminal.
	cellWidth = 60
	// minCellWidth is the width to which a cell of text is cut at most, so that a
	// narrow terminal still shows the beginning of a name.
	minCellWidth = 12
	// columnGap is the space between two columns.
	columnGap = 2
	// marksPerColumn bounds the characters without a width of their own, such as
	// accents, that a cell may have for each of its columns on the screen.
	marksPerColumn = 3

	// Ellipsis stands for the end of a text that does not fit.
	Ellipsis = "…"
)

type column struct {
	title string
	text  bool // its cells may be cut
	width int
}

// Table prints rows in columns. The titles in header are separated by tabs; an
// ellipsis behind one marks a column of text, whose cells may be cut.
func (con *Console) Table(header string, rows [][]string) error {
	return writeTable(con.Out, terminalWidth(con.Out), header, rows)
}

// terminalWidth returns the number of columns of a terminal, 0 for other writers.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return max(columns, 0)
}

// writeTable prints a table for a screen with so many columns, 0 if there is none.
// Cells of text are cut to fit it, the widest first. The others, such as
// addresses, are whole.
func writeTable(w io.Writer, screen int, header string, rows [][]string) error {
	columns := parseHeader(header)
	clean := make([][]string, len(rows))
	for i, row := range rows {
		clean[i] = make([]string, len(row))
		for j, cell := range row {
			clean[i][j] = Printable(cell)
			if columns[j].text && screen == 0 {
				clean[i][j] = cutCell(clean[i][j], cellWidth)
			}
			columns[j].width = max(columns[j].width, displayWidth(clean[i][j]))
		}
	}
	fitColumns(columns, screen)
	out := bufio.NewWriter(w)
	titles := make([]string, len(columns))
	for j, c := range columns {
		titles[j] = strings.ToUpper(c.title)
	}
	writeRow(out, columns, titles)
	for _, row := range clean {
		writeRow(out, columns, row)
	}
	return out.Flush()
}

func parseHeader(header string) (columns []column) {
	for title := range strings.SplitSeq(header, "\t") {
		title, text := strings.CutSuffix(title, Ellipsis)
		title = Printable(title) // of a server's answer to a query
		columns = append(columns, column{title: title, text: text, width: displayWidth(title)})
	}
	return columns
}

// fitColumns makes columns of text narrower until all fit on the screen, or none
// may be narrower.
func fitColumns(columns []column, screen int) {
	if screen == 0 {
		return
	}
	total := columnGap * (len(columns) - 1)
	for _, c := range columns {
		total += c.width
	}
	for ; total > screen; total-- {
		widest := -1
		for j, c := range columns {
			if c.text && c.width > max(minCellWidth, displayWidth(c.title)) && (widest < 0 || c.width > columns[widest].width) {
				widest = j
			}
		}
		if widest < 0 {
			return
		}
		columns[widest].width--
	}
}

func writeRow(out *bufio.Writer, columns []column, row []string) {
	for j, cell := range row {
		if columns[j].text {
			cell = cutCell(cell, columns[j].width)
		}
		_, _ = out.WriteString(cell) // Flush returns the error
		if j < len(row)-1 {
			_, _ = out.WriteString(strings.Repeat(" ", columns[j].width-displayWidth(cell)+columnGap))
		}
	}
	_ = out.WriteByte('\n')
}

// cutCell cuts a cell to a width on the screen. A cell that is cut ends with an
// ellipsis.
func cutCell(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := 0 // of the text that fits with an ellipsis behind it
	columns, marks := 0, 0
	for i, r := range s {
		w := runeWidth(r)
		if w == 0 {
			marks++
		}
		if columns+w > limit || marks > marksPerColumn*limit {
			return s[:end] + Ellipsis
		}
		if columns += w; columns < limit {
			end = i + len(string(r))
		}
	}
	return s
}

// displayWidth returns how many columns of a terminal s takes.
func displayWidth(s string) (n int) {
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// runeWidth returns how many columns of a terminal a character takes: ideographs
// and most emoji two, accents and invisible characters none.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		if r == 0xAD { // soft hyphen
			return 0
		}
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}
