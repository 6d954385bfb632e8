package api

import (
	"bytes"
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

	names [fields]string // of the fields; String takes longer

	asker advertise.Asker // the asker that gets the addresses
	at    int             // where the address of the last server begins in buf
	until int             // and ends
}

func newEncoder(buf []byte, list *Snapshot) *encoder {
	e := &encoder{buf: buf, keys: make(map[*master.Names][]string), list: list}
	for f := range fields {
		e.names[f] = f.String()
	}
	return e
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

// appendServer writes one server: all fields, with full the lists of players and
// teams too.
func (e *encoder) appendServer(r *Row, full bool) {
	t := e.text(r)
	e.buf = append(e.buf, t.json[:t.from]...)
	e.at = len(e.buf)
	if given := e.asker.Given(r.Public); given != r.Public {
		e.buf = r.appendAddress(e.buf, given)
	} else {
		e.buf = append(e.buf, t.json[t.from:t.to]...)
	}
	e.until = len(e.buf)
	e.buf = append(e.buf, t.json[t.to:t.seen]...)
	e.buf = r.Last.UTC().AppendFormat(e.buf, time.RFC3339)
	e.buf = append(e.buf, t.json[t.seen:]...)
	if full {
		e.buf = e.appendField(append(e.buf, ','), fieldPlayerList, r, r.Public)
		e.buf = e.appendField(append(e.buf, ','), fieldTeamList, r, r.Public)
	}
	e.buf = append(e.buf, '}')
}

// write writes the text of a server into the memory for work.
func (e *encoder) write(r *Row) (t written) {
	b := append(e.work[:0], '{')
	for f := range fieldPlayerList {
		if f == fieldHost || f == fieldPort || f == fieldJoin || r.lacks(f) { // the first three are written with the address
			continue
		}
		if f > 0 {
			b = append(b, ',')
		}
		switch f {
		case fieldAddress:
			t.from = len(b)
			b = r.appendAddress(b, r.Public)
			t.to = len(b)
		case fieldLastSeen:
			b = append(b, `"last_seen":"`...)
			t.seen = len(b)
			b = append(b, '"')
		default:
			b = e.appendField(b, f, r, r.Public)
		}
	}
	e.work, t.json = b, b
	return t
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
func (e *encoder) appendTable(b []byte, t master.Table) []byte {
	keys := e.keysOf(t.Names())
	b = append(b, '[')
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
	return append(b, ']')
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
