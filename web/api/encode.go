package api

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/master"
)

// encoder writes servers as JSON. It belongs to one answer: it remembers the
// names of rules and columns, which most servers of a game have in common, in
// the form in which they are written.
type encoder struct {
	buf  []byte
	keys map[*master.Names][]string // quoted, with the colon; "" for omitted ones
	list *Snapshot                  // that the servers are of; nil: none
	work []byte                     // memory of one text

	asker advertise.Asker // the asker that gets the addresses
	at    int             // where the address of the last server begins in buf
	until int             // and ends
}

func newEncoder(buf []byte, list *Snapshot) *encoder {
	return &encoder{buf: buf, keys: make(map[*master.Names][]string), list: list}
}

// maxTexts is the number of servers of a snapshot whose texts are cached, and
// maxText the maximum length of each in bytes: 64 MiB in total. Others are
// encoded for each answer, and so are those that just changed, because rarely
// requested lists are not worth caching.
const (
	maxTexts = 16_384
	maxText  = 4 << 10
)

// written is the output of appendServer, up to the lists of players and teams.
// All of it but last_seen stays the same as long as the record does.
type written struct {
	json     []byte // of an object that is still open
	seen     int    // where the time is missing
	from, to int    // where the address is, which may be given in another way
}

// text returns the text of a server. It may be valid only until the next call.
func (e *encoder) text(r *Row) written {
	if t := r.text.Load(); t != nil {
		return *t
	}
	t := e.write(r)
	if r.lasting && len(t.json) <= maxText && e.list.texts.Add(1) <= maxTexts {
		r.text.Store(&written{bytes.Clone(t.json), t.seen, t.from, t.to})
	}
	return t
}

// appendServer writes one server:
//
//	id               "qr2-192.0.2.1-6500": origin, address, query port
//	game, title      name in the catalogue, and what people call it
//	origin           how it came into the list: qr2, qr1, zandronum, ...
//	name             its rule hostname
//	address          host and query port, as the asker is given them; host and
//	                 port are its parts
//	game_port        its rule hostport, left out if it is no port
//	map, type        its rules mapname and gametype
//	players          its rule numplayers, or the length of its list of players
//	max_players      its rule maxplayers; 0 if unknown
//	password         whether its rule password says so
//	country, region  of its address; "" if unknown
//	reachable        whether players are to query and join it directly
//	reached          how players get to it: direct, perhaps, negotiated, no, unknown
//	nat_negotiation  whether it can be reached through NAT negotiation
//	first_seen       when it came into the list, RFC 3339, UTC
//	last_seen        when it was heard last
//	rules            names and values as strings
//	player_list      with full: one object of strings per player
//	team_list        with full: one object of strings per team
func (e *encoder) appendServer(r *Row, full bool) {
	t := e.text(r)
	e.buf = append(e.buf, t.json[:t.from]...)
	e.at = len(e.buf)
	if given := e.asker.Given(r.Public); given != r.Public {
		e.buf = appendAddress(e.buf, given)
	} else {
		e.buf = append(e.buf, t.json[t.from:t.to]...)
	}
	e.until = len(e.buf)
	e.buf = append(e.buf, t.json[t.to:t.seen]...)
	e.buf = r.Last.UTC().AppendFormat(e.buf, time.RFC3339)
	e.buf = append(e.buf, t.json[t.seen:]...)
	if full {
		e.buf = append(e.buf, `,"player_list":`...)
		e.appendTable(r.Players)
		e.buf = append(e.buf, `,"team_list":`...)
		e.appendTable(r.Teams)
	}
	e.buf = append(e.buf, '}')
}

// write writes the text of a server into the memory for work.
func (e *encoder) write(r *Row) written {
	b := append(e.work[:0], `{"id":"`...)
	b = master.AppendID(b, r.Origin, r.Public)
	b = append(b, `","game":`...)
	b = appendString(b, r.Game)
	b = append(b, `,"title":`...)
	b = appendString(b, r.Title)
	b = append(b, `,"origin":"`...)
	b = append(b, r.Origin.String()...)
	b = append(b, `","name":`...)
	b = appendString(b, r.Name)
	b = append(b, ',')
	from := len(b)
	b = appendAddress(b, r.Public)
	to := len(b)
	if port := r.GamePort; port != 0 {
		b = append(b, `,"game_port":`...)
		b = strconv.AppendUint(b, uint64(port), 10)
	}
	b = append(b, `,"map":`...)
	b = appendString(b, r.Map)
	b = append(b, `,"type":`...)
	b = appendString(b, r.Type)
	b = append(b, `,"players":`...)
	b = strconv.AppendInt(b, int64(r.Count), 10)
	b = append(b, `,"max_players":`...)
	b = strconv.AppendInt(b, int64(r.MaxPlayers), 10)
	b = append(b, `,"password":`...)
	b = strconv.AppendBool(b, r.Password)
	b = append(b, `,"country":`...)
	b = appendString(b, r.Country)
	b = append(b, `,"region":`...)
	b = appendString(b, r.Region)
	b = append(b, `,"reachable":`...)
	b = strconv.AppendBool(b, r.Direct())
	b = append(b, `,"reached":"`...)
	b = append(b, r.Findings.Reached.String()...)
	b = append(b, '"')
	b = append(b, `,"nat_negotiation":`...)
	b = strconv.AppendBool(b, r.NATNeg)
	b = append(b, `,"first_seen":"`...)
	b = r.First.UTC().AppendFormat(b, time.RFC3339)
	b = append(b, `","last_seen":"`...)
	seen := len(b)
	b = append(b, `","rules":`...)
	e.work = e.appendRules(b, r.Rules)
	return written{e.work, seen, from, to}
}

// appendRules writes an object of strings.
func (e *encoder) appendRules(b []byte, f master.Fields) []byte {
	keys := e.keysOf(f.Names())
	b = append(b, '{')
	first := true
	for i, key := range keys {
		if key == "" {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, key...)
		b = appendString(b, f.Value(i))
	}
	return append(b, '}')
}

// appendTable writes an array of objects of strings.
func (e *encoder) appendTable(t master.Table) {
	keys := e.keysOf(t.Names())
	b := append(e.buf, '[')
	for i := range t.Rows() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		first := true
		for k, key := range keys {
			if key == "" {
				continue
			}
			if !first {
				b = append(b, ',')
			}
			first = false
			b = append(b, key...)
			b = appendString(b, t.Value(i, k))
		}
		b = append(b, '}')
	}
	e.buf = append(b, ']')
}

// keysOf returns the keys for names. Names that are private, that nothing is
// left of, or that became equal to an earlier one have none.
func (e *encoder) keysOf(names *master.Names) []string {
	if keys, ok := e.keys[names]; ok {
		return keys
	}
	keys := make([]string, names.Len())
	seen := make(map[string]bool, len(keys))
	for i := range keys {
		name := clean.Text(names.Name(i))
		if name == "" || seen[name] || IsPrivateRule(name) {
			continue
		}
		seen[name] = true
		keys[i] = string(append(appendString(nil, name), ':'))
	}
	e.keys[names] = keys
	return keys
}

// IsPrivateRule reports whether a rule reveals the server's own network.
func IsPrivateRule(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "localip") || name == "localport" || name == "publicip" || name == "publicport"
}

// appendString appends s, cleaned, as a JSON string.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	if isSimple(s) {
		dst = append(dst, s...)
		return append(dst, '"')
	}
	start := len(dst)
	dst = clean.Append(dst, s)
	if text := dst[start:]; bytes.ContainsAny(text, `"\`) {
		dst = appendEscaped(dst[:start], string(text))
	}
	return append(dst, '"')
}

// isSimple reports whether s needs neither cleaning nor escapes.
func isSimple(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// appendEscaped appends text that was cleaned, so that only two characters have
// to be escaped.
func appendEscaped(dst []byte, s string) []byte {
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, s[i])
	}
	return dst
}
