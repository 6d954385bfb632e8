package web

import (
	"hash/maphash"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/advertise"
)

// headRoom is kept free in front of a list for what is known only behind it: at
// least the length of its first line with two numbers in it.
const headRoom = 96

// sampleRows is after how many rows the size of a list is estimated.
const sampleRows = 32

// serveServers answers /api/v1/servers.
func (s *Server) serveServers(w http.ResponseWriter, r *http.Request) {
	p, err := parseListParams(r.URL.RawQuery)
	if err != nil {
		s.refuse(w, err)
		return
	}
	p.asker = s.asker(r)
	serial := s.lister.gameSerial(p.game) // before the list is read: the list may be newer, never older
	list := s.lister.now()
	if s.notModified(w, r, s.etag(serial, list.titles, p)) {
		return
	}
	s.reply(w, r, jsonType, list, p, func() []byte { return encodeList(list, p, maxAnswer) })
}

// encodeList writes the answer to p. It stops behind the server with which it
// exceeds most bytes.
func encodeList(list *snapshot, p listParams, most int) []byte {
	rows := list.choose(p.game, p.query, p.order)
	total := len(rows)
	if p.cursor {
		i, found := slices.BinarySearchFunc(rows, p.after, func(r *row, to place) int { return comparePlaces(placeOf(p.order, r), to) })
		if found {
			i++
		}
		rows = rows[i:]
	}
	page := rows[:min(len(rows), p.limit)]

	e := newEncoder(make([]byte, headRoom, 4096), list)
	e.asker = p.asker
	n := 0
	for n < len(page) && len(e.buf) < most {
		if n > 0 {
			e.buf = append(e.buf, ',')
		}
		if n == sampleRows {
			perRow := (len(e.buf) - headRoom) / n
			e.buf = slices.Grow(e.buf, min(perRow*(len(page)-n)*9/8, most)+headRoom)
		}
		e.appendServer(page[n], p.full)
		n++
	}
	e.buf = append(e.buf, ']')
	if n > 0 && n < len(rows) {
		e.buf = append(e.buf, `,"next":"`...)
		e.buf = append(e.buf, placeOf(p.order, page[n-1]).cursor()...)
		e.buf = append(e.buf, '"')
	}
	e.buf = append(e.buf, "}\n"...)
	return prepend(e.buf, `{"count":`+strconv.Itoa(n)+`,"total":`+strconv.Itoa(total)+`,"servers":[`)
}

// prepend writes head into the end of the room that was left for it.
func prepend(buf []byte, head string) []byte {
	start := headRoom - len(head)
	copy(buf[start:], head)
	return buf[start:]
}

// serverQuestion is the question for one server.
type serverQuestion struct {
	id    string
	asker advertise.Asker
}

// serveServer answers /api/v1/servers/{id}.
func (s *Server) serveServer(w http.ResponseWriter, r *http.Request) {
	if _, err := parseParams(r.URL.RawQuery); err != nil {
		s.refuse(w, err)
		return
	}
	q := serverQuestion{r.PathValue("id"), s.asker(r)}
	server, ok := s.findServer(q.id, q.asker)
	if !ok {
		s.notFoundJSON(w)
		return
	}
	list := s.lister.now()
	i := slices.IndexFunc(list.rows, func(r *row) bool { return r.Public == server.Public })
	if i < 0 { // it left in between
		s.notFoundJSON(w)
		return
	}
	found := list.rows[i]
	if s.notModified(w, r, s.etag(found.Serial, list.titles, q)) {
		return
	}
	s.reply(w, r, jsonType, list, q, func() []byte {
		e := newEncoder(nil, list)
		e.asker = q.asker
		e.appendServer(found, true)
		return append(e.buf, '\n')
	})
}

// etag returns the weak tag of an answer: the list at a serial, seen through a
// question. Another run of the daemon gives other tags.
func (s *Server) etag(serial, titles uint64, question any) string {
	h := maphash.Comparable(s.lister.seed, tagged{serial, titles, question})
	return `W/"` + strconv.FormatUint(serial, 16) + "-" + strconv.FormatUint(h, 16) + `"`
}

type tagged struct {
	serial, titles uint64
	question       any
}

// notModified sets the tag of the answer and sends 304 if the client has it.
func (s *Server) notModified(w http.ResponseWriter, r *http.Request, tag string) bool {
	w.Header().Set("ETag", tag)
	if !tagMatches(r.Header.Values("If-None-Match"), tag) {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

// tagMatches compares the tags that a client has, as If-None-Match lists them,
// with ours; weak and strong forms of a tag are the same here.
func tagMatches(have []string, tag string) bool {
	tag = strings.TrimPrefix(tag, "W/")
	for _, line := range have {
		for one := range strings.SplitSeq(line, ",") {
			one = strings.TrimSpace(one)
			if one == "*" || strings.TrimPrefix(one, "W/") == tag {
				return true
			}
		}
	}
	return false
}
