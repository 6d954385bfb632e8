package games

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
)

// A row of game_list.tsv has no header above it and six columns: title, name, id,
// secret, statistics version, statistics key. All but the first two may be empty,
// and older lists end a row after the secret. Titles are quoted as in CSV. The two
// statistics columns are not used here.
const (
	tsvMinColumns = 2
	tsvMaxColumns = 6
)

// looksLikeTSV reports whether the line has as many tabs as the rows that circulate.
func looksLikeTSV(line []byte) bool {
	tabs := bytes.Count(line, []byte{'\t'})
	return tabs >= 3 && tabs < tsvMaxColumns
}

// parseTSV returns the valid rows, and the number of all rows.
func parseTSV(data []byte, source Source, probs *problems) (list []Game, read int, err error) {
	rows := csv.NewReader(bytes.NewReader(data))
	rows.Comma = '\t'
	rows.FieldsPerRecord = -1
	rows.ReuseRecord = true
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return list, read, nil
		}
		if read++; read > MaxRecords {
			return nil, 0, fmt.Errorf("%w: at most %d are allowed", ErrTooManyRecords, MaxRecords)
		}
		at := source
		if bad, ok := errors.AsType[*csv.ParseError](err); ok {
			at.Line = bad.StartLine
			probs.add(at, "", "%v", bad.Err)
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		at.Line, _ = rows.FieldPos(0)
		if g, ok := gameFromRow(row, at, probs); ok {
			list = append(list, g)
		}
	}
}

func gameFromRow(row []string, at Source, probs *problems) (Game, bool) {
	if len(row) < tsvMinColumns || len(row) > tsvMaxColumns {
		probs.add(at, "", "%d columns, want %d", len(row), tsvMaxColumns)
		return Game{}, false
	}
	column := func(i int) string {
		if i >= len(row) {
			return ""
		}
		return strings.TrimSpace(decodeText([]byte(row[i])))
	}
	g := Game{Name: ascii.ToLower(column(1)), Title: column(0), Source: at}
	if id := column(2); id != "" {
		if err := g.Set("id", id); err != nil {
			probs.add(at, g.Name, "%v, not %q", err, shorten(id))
			return Game{}, false
		}
	}
	if s := column(3); s != "" {
		g.Secrets = []string{s}
	}
	return g, g.check(probs)
}
