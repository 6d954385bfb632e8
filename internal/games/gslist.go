package games

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
)

// A line of gslist.cfg has columns of fixed width, padded with spaces:
//
//	column
//	     0  title
//	    54  name
//	    73  secret; blank if unknown
//
// The list is Latin-1 and its lines have 79 characters, so that it cuts secrets of
// seven characters to six. A line that an editor stripped of the padding, or a
// seventh character of the secret, is accepted. Counted are characters: a copy that
// was saved as UTF-8 keeps its columns.
const (
	gslistName   = 54
	gslistSecret = 73
)

// looksLikeGSList reports whether the line has a game's name in its column.
func looksLikeGSList(line []byte) bool {
	_, name, _, ok := splitGSList(line)
	return ok && ValidName(name)
}

// splitGSList returns the columns of a line without padding, the name in lower
// case. ok is false if the line is too short to have a name.
func splitGSList(line []byte) (title, name, secret string, ok bool) {
	chars := []rune(strings.TrimRight(decodeText(line), " \r\n"))
	if len(chars) <= gslistName {
		return "", "", "", false
	}
	end := min(len(chars), gslistSecret)
	title = strings.TrimSpace(string(chars[:gslistName]))
	name = ascii.ToLower(strings.TrimRight(string(chars[gslistName:end]), " "))
	return title, name, string(chars[end:]), true
}

// parseGSList returns the valid lines, and the number of lines that are not
// blank.
func parseGSList(data []byte, source Source, probs *problems) (list []Game, read int, err error) {
	at := source
	for line := range bytes.Lines(data) {
		at.Line++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if read++; read > MaxRecords {
			return nil, 0, fmt.Errorf("%w: at most %d are allowed", ErrTooManyRecords, MaxRecords)
		}
		title, name, secret, ok := splitGSList(line)
		if !ok {
			probs.add(at, "", "the line ends before the name at column %d", gslistName)
			continue
		}
		g := Game{Name: name, Title: title, Source: at}
		if secret != "" {
			g.Secrets = []string{secret}
		}
		if g.check(probs) {
			list = append(list, g)
		}
	}
	return list, read, nil
}
