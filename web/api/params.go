package api

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
)

// Bounds of the parameters of a list.
const (
	// DefaultLimit and MaxLimit are the default and the maximum number of
	// servers in an answer.
	DefaultLimit = 1000
	MaxLimit     = 10_000
	// MaxQuery is the length in bytes of the longest text to search for.
	MaxQuery = 128
	// maxCursor is the length of the longest cursor that can be one.
	maxCursor = 256
)

// listParams are the parameters of /api/v1/servers. They are comparable: equal
// ones ask for the same answer.
type listParams struct {
	game   string
	query  string
	filter filter
	order  Order
	limit  int
	after  position // the zero position: from the start
	full   bool
	fields fieldSet // of servers; 0: all
	cursor bool     // after is set, in the same order
	asker  advertise.Asker
}

// paramError names the invalid parameter and the allowed values. It may be
// shown to the client.
type paramError struct {
	name, text string
}

func (e *paramError) Error() string { return e.name + ": " + e.text }

func badParam(name, format string, args ...any) error {
	return &paramError{name, fmt.Sprintf(format, args...)}
}

// Params are the parameters of a request, each present at most once.
type Params map[string]string

// State returns the word that games are to have; all: any will do.
func (p Params) State() (state games.Word, all bool, err error) {
	if p["state"] == "" {
		return "", true, nil
	}
	if state, err = games.ParseWord(p["state"]); err != nil {
		return "", false, badParam("state", "%v", err)
	}
	return state, false, nil
}

// parseParams reads a query that may have the known parameters and no others.
func parseParams(query string, known ...string) (Params, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, badParam("query", "not a list of parameters")
	}
	p := make(Params, len(values))
	for name, v := range values {
		switch {
		case !slices.Contains(known, name):
			return nil, badParam(clean.Line(name, 40), "unknown parameter; known are: %s", orNone(known))
		case len(v) > 1:
			return nil, badParam(name, "more than once")
		}
		p[name] = v[0]
	}
	return p, nil
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// Flag reads a parameter that is 0 or 1; missing means 0.
func (p Params) Flag(name string) (bool, error) {
	switch v, ok := p[name]; {
	case !ok || v == "0":
		return false, nil
	case v == "1":
		return true, nil
	}
	return false, badParam(name, "must be 0 or 1")
}

// Game reads the name of a game; missing or empty means all.
func (p Params) Game() (string, error) {
	name := strings.ToLower(p["game"])
	if name != "" && !games.ValidName(name) {
		return "", badParam("game", "not the name of a game")
	}
	return name, nil
}

// Query reads a text to search for, in lower case.
func (p Params) Query() (string, error) { return p.text("q") }

// text reads a text to search for, in lower case.
func (p Params) text(name string) (string, error) {
	text := p[name]
	switch {
	case len(text) > MaxQuery:
		return "", badParam(name, "longer than %d bytes", MaxQuery)
	case !utf8.ValidString(text):
		return "", badParam(name, "not UTF-8")
	}
	return strings.ToLower(text), nil
}

// order reads the parameter sort.
func (p Params) order() (Order, error) {
	o, ok := parseOrder(p["sort"])
	if !ok {
		return 0, badParam("sort", "must be one of: %s", strings.Join(orderNames(), ", "))
	}
	return o, nil
}

// Number reads a number from 1 to most; missing means none.
func (p Params) Number(name string, none, most int) (int, error) {
	return p.between(name, none, 1, most)
}

// between reads a number from least to most; missing means none.
func (p Params) between(name string, none, least, most int) (int, error) {
	v, ok := p[name]
	if !ok {
		return none, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most {
		return 0, badParam(name, "must be a number from %d to %d", least, most)
	}
	return n, nil
}

// listParamNames are the parameters of /api/v1/servers.
func listParamNames() []string {
	return []string{"game", "q", "players", "player", "country", "address", "joinable", "peopled", "open", "sort", "limit", "cursor", "full", "fields"}
}

// parseListParams reads the parameters of /api/v1/servers.
func parseListParams(query string) (l listParams, err error) {
	p, err := parseParams(query, listParamNames()...)
	if err != nil {
		return l, err
	}
	var errs [7]error
	l.game, errs[0] = p.Game()
	l.query, errs[1] = p.Query()
	l.filter, errs[2] = p.filter()
	l.limit, errs[3] = p.Number("limit", DefaultLimit, MaxLimit)
	l.full, errs[4] = p.Flag("full")
	l.fields, errs[5] = p.fields()
	l.order, errs[6] = p.order()
	if err := errors.Join(errs[:]...); err != nil {
		return l, err
	}
	if text, ok := p["cursor"]; ok {
		if l.after, ok = parseCursor(text); !ok || l.after.order != l.order {
			return l, badParam("cursor", "not one that an answer with this sort had")
		}
		l.cursor = true
	}
	return l, nil
}
