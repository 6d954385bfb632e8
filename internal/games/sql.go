package games

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
)

// A dump of a database has the games in a table games and their rooms in a table
// grouplist, as OpenSpy (MySQL) and UniSpy (PostgreSQL) keep them:
//
//	games      id or gameid, gamename, secretkey, description, queryport,
//	           backendflags, disabledservices or disabled, keylist, keytypelist
//	grouplist  groupid, gameid, name or roomname, maxwaiting, other
//
// The columns of rows are those that INSERT or COPY names, or else those of
// CREATE TABLE. Other tables, columns and statements are ignored.

// maxSQLColumns is the maximum number of columns of a row.
const maxSQLColumns = 64

// errSQL is returned for text that ends inside a statement or a string.
var errSQL = errors.New("the SQL text ends in the middle of a statement")

// looksLikeSQL reports whether the text has statements that fill a table of games.
func looksLikeSQL(data []byte) bool {
	return sqlMentions(data, "insert into") || sqlMentions(data, "copy ") && bytes.Contains(data, []byte("FROM stdin"))
}

func sqlMentions(data []byte, word string) bool {
	for line := range bytes.Lines(data) {
		if len(line) >= len(word) && strings.EqualFold(string(line[:len(word)]), word) {
			return true
		}
	}
	return false
}

// parseSQL returns the valid games with their valid rooms, and the number of
// records of both.
func parseSQL(data []byte, source Source, probs *problems) (list []Game, read int, err error) {
	d := sqlDump{source: source, probs: probs, columns: make(map[string][]string), at: make(map[string]int)}
	l := sqlLexer{rest: data, line: 1}
	for err == nil && !d.full {
		var more bool
		if more, err = d.statement(&l); !more {
			break
		}
	}
	if err != nil {
		return nil, 0, err
	}
	if d.full {
		return nil, 0, fmt.Errorf("%w: at most %d are allowed", ErrTooManyRecords, MaxRecords)
	}
	return d.join(), d.read, nil
}

// sqlDump collects the content of a dump.
type sqlDump struct {
	source  Source
	probs   *problems
	columns map[string][]string // by table: those of CREATE TABLE
	games   []Game
	at      map[string]int // by id as written: into games
	rooms   []sqlRoom
	read    int
	full    bool
}

// sqlRoom is a room that has not been joined with its game.
type sqlRoom struct {
	game string // its id as written
	room Room
	at   Source
}

// statement reads one statement. more is false at the end.
func (d *sqlDump) statement(l *sqlLexer) (more bool, err error) {
	word, ok := l.next()
	if !ok {
		return false, l.err
	}
	switch {
	case word.is("create"):
		if word, _ = l.next(); word.is("table") {
			d.create(l)
		}
	case word.is("insert"):
		if word, _ = l.next(); word.is("into") {
			d.insert(l)
		}
	case word.is("copy"):
		d.copy(l)
		return true, l.err
	}
	l.skipStatement()
	return true, l.err
}

// create keeps the columns of a table.
func (d *sqlDump) create(l *sqlLexer) {
	table := l.table()
	if table != "games" && table != "grouplist" || !l.accept("(") {
		return
	}
	var columns []string
	for depth, first := 1, true; depth > 0; {
		t, ok := l.next()
		switch {
		case !ok || t.text == ";" && !t.quoted:
			return
		case t.punct("("):
			depth++
		case t.punct(")"):
			depth--
		case t.punct(",") && depth == 1:
			first = true
			continue
		case first && len(columns) < maxSQLColumns && !t.is("primary") && !t.is("key") && !t.is("unique") && !t.is("constraint"):
			columns = append(columns, strings.ToLower(t.text))
		}
		first = false
	}
	d.columns[table] = columns
}

// columnList reads (a, b, c), if it is there.
func (l *sqlLexer) columnList() (columns []string) {
	if !l.accept("(") {
		return nil
	}
	for {
		t, ok := l.next()
		if !ok || t.punct(")") || len(columns) >= maxSQLColumns {
			return columns
		}
		if !t.punct(",") {
			columns = append(columns, strings.ToLower(t.text))
		}
	}
}

// insert reads the rows of an INSERT.
func (d *sqlDump) insert(l *sqlLexer) {
	table := l.table()
	if table != "games" && table != "grouplist" {
		return
	}
	columns := l.columnList()
	if columns == nil {
		columns = d.columns[table]
	}
	if t, _ := l.next(); !t.is("values") {
		return
	}
	for l.accept("(") && !d.full {
		at := d.source
		at.Line = l.line
		d.row(table, columns, l.values(), at)
		if !l.accept(",") {
			return
		}
	}
}

// values reads a row up to its closing parenthesis.
func (l *sqlLexer) values() (row []string) {
	for len(row) < maxSQLColumns {
		t, ok := l.next()
		switch {
		case !ok || t.punct(")"):
			return row
		case t.punct(","):
			continue
		case t.is("null"):
			row = append(row, "")
		default:
			row = append(row, t.text)
		}
	}
	return row
}

// copy reads the rows of COPY table (columns) FROM stdin, which have tabs between
// the columns and end with a line \. of its own.
func (d *sqlDump) copy(l *sqlLexer) {
	table := l.table()
	columns := l.columnList()
	if columns == nil {
		columns = d.columns[table]
	}
	l.skipStatement()
	l.skipLine()
	for {
		at := d.source
		at.Line = l.line
		line, ok := l.rawLine()
		if !ok || line == `\.` || d.full {
			return
		}
		if table != "games" && table != "grouplist" {
			continue
		}
		row := strings.Split(line, "\t")
		for i, v := range row {
			if row[i] = copyEscapes.Replace(v); v == `\N` {
				row[i] = ""
			}
		}
		d.row(table, columns, row, at)
	}
}

var copyEscapes = strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n", `\r`, "\r")

// row takes a record.
func (d *sqlDump) row(table string, columns, row []string, at Source) {
	if d.read++; d.read > MaxRecords {
		d.full = true
		return
	}
	if len(columns) != len(row) {
		d.probs.add(at, "", "%s: %d values for %d columns", table, len(row), len(columns))
		return
	}
	value := func(names ...string) string {
		for _, name := range names {
			if i := slices.Index(columns, name); i >= 0 {
				return strings.TrimSpace(row[i])
			}
		}
		return ""
	}
	if table == "games" {
		d.game(value, at)
		return
	}
	d.room(value, at)
}

func (d *sqlDump) game(value func(...string) string, at Source) {
	g := Game{Name: ascii.ToLower(value("gamename")), Title: decodeText([]byte(value("description"))), Source: at}
	before := d.probs.total
	number := func(column string, bits int, names ...string) uint64 {
		text := value(names...)
		if text == "" {
			return 0
		}
		v, err := strconv.ParseUint(text, 10, bits)
		if err != nil {
			d.probs.add(at, g.Name, "%s must be a number from 0 to %d", column, uint64(1)<<bits-1)
		}
		return v
	}
	id := value("id", "gameid")
	g.ID = int(number("id", 31, "id", "gameid"))
	if g.QueryPort = uint16(number("queryport", 16, "queryport")); g.QueryPort == DefaultQueryPort {
		g.QueryPort = 0 // the database's default, which is no information about the game
	}
	g.BackendFlags = uint16(number("backendflags", 16, "backendflags"))
	g.DisabledServices = uint32(number("disabledservices", 32, "disabledservices"))
	if t := value("disabled"); t == "t" || strings.EqualFold(t, "true") {
		g.DisabledServices = Gone
	}
	if s := value("secretkey"); s != "" {
		g.Secrets = []string{s}
	}
	g.Keys = sqlKeys(value("keylist"), value("keytypelist"))
	if g.check(d.probs) && d.probs.total == before {
		d.at[id] = len(d.games)
		d.games = append(d.games, g)
	}
}

// sqlKeys returns the keys of a list \a\b and their types \0\1; nil if they are
// the usual ones.
func sqlKeys(names, types string) (keys []Key) {
	const usual = `\country\gamemode\gametype\gamever\hostname\mapname\maxplayers\numplayers\password`
	if names == "" || names == usual {
		return nil
	}
	kinds := strings.Split(strings.TrimPrefix(types, `\`), `\`)
	for i, name := range strings.Split(strings.TrimPrefix(names, `\`), `\`) {
		k := Key{Name: name}
		if i < len(kinds) && (kinds[i] == "1" || kinds[i] == "2") {
			k.Type = kinds[i][0] - '0'
		}
		if name != "" && !strings.Contains(name, " ") && len(keys) < MaxKeys {
			keys = append(keys, k)
		}
	}
	return keys
}

func (d *sqlDump) room(value func(...string) string, at Source) {
	id, err := strconv.ParseUint(value("groupid"), 10, 32)
	if err != nil {
		d.probs.add(at, "", "a room without a number: %q", shorten(value("groupid")))
		return
	}
	r := Room{ID: uint32(id), Name: decodeText([]byte(value("name", "roomname")))}
	if text := value("maxwaiting"); text != "" {
		if r.MaxWaiting, err = strconv.Atoi(text); err != nil {
			d.probs.add(at, "", "room %d: max_waiting must be a number", id)
			return
		}
	}
	pairs := strings.Split(strings.TrimPrefix(value("other"), `\`), `\`)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] != "" && !ownRoomKey(ascii.ToLower(pairs[i])) {
			r.Fields = append(r.Fields, Field{Key: pairs[i], Value: decodeText([]byte(pairs[i+1]))})
		}
	}
	d.rooms = append(d.rooms, sqlRoom{game: value("gameid"), room: r, at: at})
}

// join returns the games with their rooms. An invalid room, or one whose game
// is missing, is left out.
func (d *sqlDump) join() []Game {
	for _, r := range d.rooms {
		i, known := d.at[r.game]
		if !known {
			d.probs.add(r.at, "", "room %d: there is no game %q", r.room.ID, shorten(r.game))
			continue
		}
		before := d.probs.total
		checkRooms([]Room{r.room}, func(format string, args ...any) { d.probs.add(r.at, d.games[i].Name, format, args...) })
		if d.probs.total == before && len(d.games[i].Rooms) < MaxRooms {
			d.games[i].Rooms = append(d.games[i].Rooms, r.room)
			d.read-- // it is part of its game's record
		}
	}
	return d.games
}
