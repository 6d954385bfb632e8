package games

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"
)

// ErrUnknownFormat is returned for a file in none of the known formats.
var ErrUnknownFormat = errors.New("not a known list of games: want YAML, game_list.tsv or gslist.cfg")

var errSQL = errors.New("a dump of a database is not read: make a game_list.tsv of it, as docs/operators/games.md shows")

// Format is the form of a list of games.
type Format string

// The formats of Import.
const (
	FormatYAML   Format = "yaml"   // see ParseYAML
	FormatTSV    Format = "tsv"    // game_list.tsv: columns between tabs
	FormatGSList Format = "gslist" // gslist.cfg: columns of fixed width
)

// Report is the result of an import: Read is the number of games returned plus
// Merged plus Refused.
type Report struct {
	Format Format
	// Read is the number of records in the file.
	Read int
	// Merged counts records of a game that an earlier record had named already.
	Merged int
	// WithoutSecret counts the returned games that have no secret.
	WithoutSecret int
	// Refused counts records that were left out.
	Refused int
	// Problems are the first MaxProblems reasons for refusing, with their lines, of
	// TotalProblems.
	Problems      []Problem
	TotalProblems int
}

// Import reads a list of games. Its form is recognised by the content or, if that leaves
// it open, by the extension of name, which is otherwise only used in messages.
//
// A bad record is left out and reported. Records of the same game are merged:
// values of the first have priority, and the secrets of later ones follow those
// of the first. Games come in the order of the file.
//
// The error is ErrUnknownFormat, ErrTooLarge, ErrTooManyRecords, an error of r,
// or the error of a YAML file that is not a list of games; no games are
// returned then.
func Import(r io.Reader, name string) ([]Game, Report, error) {
	source := Source{Origin: FromFile, File: name}
	list, report, err := importFrom(r, source)
	if err != nil {
		return nil, Report{}, fmt.Errorf("%s: %w", source, err)
	}
	return list, report, nil
}

func importFrom(r io.Reader, source Source) ([]Game, Report, error) {
	data, err := readAll(r)
	if err != nil {
		return nil, Report{}, err
	}
	rep := Report{Format: detect(data, source.File)}
	var probs problems
	var list []Game
	switch rep.Format {
	case FormatYAML:
		list, rep.Read, err = parseYAML(data, source, &probs)
	case FormatTSV:
		list, rep.Read, err = parseTSV(data, source, &probs)
	case FormatGSList:
		list, rep.Read, err = parseGSList(data, source, &probs)
	default:
		if err = ErrUnknownFormat; extension(source.File) == ".sql" {
			err = errSQL
		}
	}
	if err != nil {
		return nil, Report{}, err
	}
	if rep.Read == 0 && probs.total > 0 {
		return nil, Report{}, probs.err()
	}
	good := len(list)
	list = mergeDuplicates(list, &probs)
	rep.Merged = good - len(list)
	rep.Refused = rep.Read - good
	rep.Problems, rep.TotalProblems = probs.list, probs.total
	for _, g := range list {
		if !g.Usable() {
			rep.WithoutSecret++
		}
	}
	return list, rep, nil
}

// mergeDuplicates joins the records of each game.
func mergeDuplicates(list []Game, probs *problems) []Game {
	at := make(map[string]int, len(list))
	out := list[:0:0]
	for _, g := range list {
		i, known := at[g.Name]
		if !known {
			at[g.Name] = len(out)
			out = append(out, g)
			continue
		}
		first := out[i]
		secrets := union(first.Secrets, g.Secrets)
		if len(secrets) > MaxSecrets {
			probs.add(g.Source, g.Name, "more than %d secrets for one game, the rest is left out", MaxSecrets)
			secrets = secrets[:MaxSecrets]
		}
		out[i] = g.overlay(first)
		if out[i].Secrets = secrets; len(secrets) > 0 {
			out[i].Given &^= FieldsOf("secrets")
		}
	}
	return out
}

// detect determines the format by the first significant line, then by the name.
func detect(data []byte, name string) Format {
	for line := range bytes.Lines(data) {
		line = bytes.TrimRight(line, "\r\n")
		text := bytes.TrimSpace(line)
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		switch {
		case bytes.HasPrefix(text, []byte("games:")) || bytes.HasPrefix(text, []byte("---")) || text[0] == '{':
			return FormatYAML
		case looksLikeTSV(line):
			return FormatTSV
		case looksLikeGSList(line):
			return FormatGSList
		}
		break
	}
	switch extension(name) {
	case ".yaml", ".yml":
		return FormatYAML
	case ".tsv":
		return FormatTSV
	case ".cfg":
		return FormatGSList
	}
	return ""
}

// extension returns that of a file's name, in lower case.
func extension(name string) string {
	return strings.ToLower(path.Ext(strings.ReplaceAll(name, `\`, "/")))
}

// decodeText returns b as text: UTF-8 if it is that, else Latin-1, in which the
// places that Latin-1 leaves to control characters are read as Windows does.
func decodeText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	for _, c := range b {
		if c >= 0x80 && c < 0xA0 {
			s.WriteRune(windowsRune(c))
			continue
		}
		s.WriteRune(rune(c))
	}
	return s.String()
}

// windowsRune returns the character of code page 1252 at 0x80 to 0x9F, U+FFFD
// if it has none.
func windowsRune(c byte) rune {
	const page = "€\uFFFD‚ƒ„…†‡ˆ‰Š‹Œ\uFFFDŽ\uFFFD\uFFFD‘’“”•–—˜™š›œ\uFFFDžŸ"
	i := 0
	for _, r := range page {
		if i == int(c)-0x80 {
			return r
		}
		i++
	}
	return utf8.RuneError
}
