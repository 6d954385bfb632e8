package api

import (
	"net/http"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/web/front"
)

// Types of exports.
const (
	textType  = "text/plain; charset=utf-8"
	linesType = "application/jsonl; charset=utf-8"
)

// exportPart is the size in bytes from which a part of an export is sent.
const exportPart = 64 << 10

// export identifies an export of a list for its tag.
type export struct {
	kind, game string
	asker      advertise.Asker
}

// serveAddresses answers /api/v1/servers.gslist: the addresses of a list, one in a line.
func (s *API) serveAddresses(w http.ResponseWriter, r *http.Request, p Params) error {
	return s.export(w, r, p, textType, appendLine)
}

func appendLine(e *encoder, row *Row) {
	e.buf = append(e.asker.Given(row.Public).AppendTo(e.buf), '\n')
}

// encodeLines writes the addresses of a list as an asker is given them.
func encodeLines(list *Snapshot, game string, asker advertise.Asker) []byte {
	e := newEncoder(nil, list)
	e.asker = asker
	for _, row := range list.Choose(game, "", ByGame) {
		appendLine(e, row)
	}
	return e.buf
}

// serveLines answers /api/v1/servers.jsonl: the servers of a list, one object in a line.
func (s *API) serveLines(w http.ResponseWriter, r *http.Request, p Params) error {
	return s.export(w, r, p, linesType, func(e *encoder, row *Row) {
		e.appendServer(row, false)
		e.buf = append(e.buf, '\n')
	})
}

// export sends a whole list part by part, in the order of the list. Only a part is held
// in memory; writing to a client that does not read ends with the write deadline.
func (s *API) export(w http.ResponseWriter, r *http.Request, p Params, kind string, write func(*encoder, *Row)) error {
	game, err := p.Game()
	if err != nil {
		return err
	}
	q := export{kind, game, s.Asker(r)}
	l := s.lister.of(q.asker)
	list := l.now()
	serial := l.gameSerial(list, game)
	if front.NotModified(w, r, l.etag(serial, list.titles, q)) {
		return nil
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	e := newEncoder(make([]byte, 0, exportPart+4096), list)
	e.asker = q.asker
	for _, row := range list.Choose(game, "", ByGame) {
		write(e, row)
		if len(e.buf) < exportPart {
			continue
		}
		if _, err := w.Write(e.buf); err != nil {
			return nil
		}
		e.buf = e.buf[:0]
	}
	_, _ = w.Write(e.buf) // a client that left needs nothing
	return nil
}
