package api

import (
	"hash/maphash"
	"net/http"
	"slices"
	"strconv"

	"github.com/respawnd/respawnd/internal/advertise"

	"github.com/respawnd/respawnd/web/front"
)

// maxAnswer is the size in bytes after which an answer stops and the rest of the
// list is left to the next one.
const maxAnswer = 16 << 20

// headRoom is reserved before a list for the head, which is known only after
// it: at least the length of its first line with two numbers.
const headRoom = 96

// sampleRows is the number of rows after which the size of a list is estimated.
const sampleRows = 32

// serveServers answers /api/v1/servers.
func (s *API) serveServers(w http.ResponseWriter, r *http.Request) {
	p, err := parseListParams(r.URL.RawQuery)
	if err != nil {
		refuse(s.Front, w, err)
		return
	}
	p.asker = s.Asker(r)
	l := s.lister.of(p.asker)
	list := l.now()
	serial := l.gameSerial(list, p.game)
	if front.NotModified(w, r, l.etag(serial, list.titles, p)) {
		return
	}
	s.Reply(w, r, front.JSON, &list.Answers, p, func() []byte { return encodeList(list, p, maxAnswer) })
}

// encodeList writes the answer to p. It stops after the server with which it
// exceeds most bytes.
func encodeList(list *Snapshot, p listParams, most int) []byte {
	rows := p.filter.apply(list.Choose(p.game, p.query, p.order), p.asker)
	total := len(rows)
	if p.cursor {
		i, found := slices.BinarySearchFunc(rows, p.after, func(r *Row, to position) int { return comparePositions(positionOf(p.order, r), to) })
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
		if p.fields != 0 {
			e.appendChosen(page[n], p.fields)
		} else {
			e.appendServer(page[n], p.full)
		}
		n++
	}
	e.buf = append(e.buf, ']')
	if n > 0 && n < len(rows) {
		e.buf = append(e.buf, `,"next":"`...)
		e.buf = append(e.buf, positionOf(p.order, page[n-1]).cursor()...)
		e.buf = append(e.buf, '"')
	}
	e.buf = append(e.buf, "}\n"...)
	head := `{`
	if list.Master != "" {
		head = `{"master":"` + list.Master + `",`
	}
	return prepend(e.buf, head+`"count":`+strconv.Itoa(n)+`,"total":`+strconv.Itoa(total)+`,"servers":[`)
}

// prepend writes head into the end of the room that was left for it.
func prepend(buf []byte, head string) []byte {
	start := headRoom - len(head)
	copy(buf[start:], head)
	return buf[start:]
}

type serverQuestion struct {
	id      string
	asker   advertise.Asker
	history uint64 // its version
}

// serveServer answers /api/v1/servers/{id}.
func (s *API) serveServer(w http.ResponseWriter, r *http.Request, _ Params) error {
	q := serverQuestion{r.PathValue("id"), s.Asker(r), s.opt.History.Version()}
	found, list, ok := s.Find(q.id, q.asker)
	if !ok {
		return errNoServer
	}
	if front.NotModified(w, r, s.lister.etag(found.Serial, list.titles, q)) {
		return nil
	}
	s.Reply(w, r, front.JSON, &list.Answers, q, func() []byte {
		e := newEncoder(nil, list)
		e.asker = q.asker
		e.appendServer(found, true)
		return append(s.appendWeek(e.buf, found), '\n')
	})
	return nil
}

// etag returns the weak tag of an answer: the list at a serial, seen through a
// question. Another run of the daemon gives other tags.
func (s *lister) etag(serial, titles uint64, question any) string {
	h := maphash.Comparable(s.seed, tagged{serial, titles, question})
	return `W/"` + strconv.FormatUint(serial, 16) + "-" + strconv.FormatUint(h, 16) + `"`
}

type tagged struct {
	serial, titles uint64
	question       any
}

// errNoServer is the failure of a server that is not listed.
var errNoServer = notFound("no such server")
