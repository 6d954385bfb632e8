package games

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxProblems is the number of problems that an InvalidError or a Report keeps;
// further ones are only counted.
const MaxProblems = 100

// maxShownName is how much of a name from a file appears in a message.
const maxShownName = 64

// Origin is the kind of place a record comes from.
type Origin uint8

// The origins, from the lowest layer to the highest.
const (
	FromUnknown Origin = iota
	FromEmbedded
	FromFile
	FromStore
)

// String returns "unknown", "embedded", "file" or "store".
func (o Origin) String() string {
	switch o {
	case FromEmbedded:
		return "embedded"
	case FromFile:
		return "file"
	case FromStore:
		return "store"
	default:
		return "unknown"
	}
}

// Source is the origin of a record.
type Source struct {
	Origin Origin
	// File is the file's name as the caller gave it; may be empty.
	File string
	// Line is the line in the file, from 1; 0: unknown.
	Line int
}

// String returns "file:line", or as much of it as is known, or the origin.
func (s Source) String() string {
	where := s.File
	if where == "" {
		where = s.Origin.String()
	}
	if s.Line > 0 {
		where += ":" + strconv.Itoa(s.Line)
	}
	return where
}

// Problem is one reason why a record was refused. It never holds a secret.
type Problem struct {
	Source Source
	// Name is the game's name if it is known, cut to a length for messages.
	Name   string
	Reason string
}

// String returns the problem as one line: place, game, reason.
func (p Problem) String() string {
	if p.Name == "" {
		return fmt.Sprintf("%s: %s", p.Source, p.Reason)
	}
	return fmt.Sprintf("%s: game %q: %s", p.Source, p.Name, p.Reason)
}

// InvalidError lists everything that is wrong with a set of records.
type InvalidError struct {
	// Problems are the first MaxProblems problems.
	Problems []Problem
	// Total counts all problems.
	Total int
}

// Error returns one line for each problem.
func (e *InvalidError) Error() string {
	lines := make([]string, 0, len(e.Problems)+1)
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	if more := e.Total - len(e.Problems); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// problems collects problems; the zero value is ready for use.
type problems struct {
	list  []Problem
	total int
}

func (p *problems) add(src Source, name, format string, args ...any) {
	p.total++
	if len(p.list) < MaxProblems {
		p.list = append(p.list, Problem{Source: src, Name: shorten(name), Reason: fmt.Sprintf(format, args...)})
	}
}

// join adds the problems of an *InvalidError; other errors and nil add nothing.
func (p *problems) join(err error) {
	if invalid, ok := errors.AsType[*InvalidError](err); ok {
		p.total += invalid.Total
		p.list = append(p.list, invalid.Problems[:min(len(invalid.Problems), max(0, MaxProblems-len(p.list)))]...)
	}
}

// err returns nil if nothing is wrong.
func (p *problems) err() error {
	if p.total == 0 {
		return nil
	}
	return &InvalidError{Problems: p.list, Total: p.total}
}

func shorten(s string) string {
	if len(s) > maxShownName {
		return s[:maxShownName] + "..."
	}
	return s
}
