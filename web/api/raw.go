package api

import (
	"encoding/binary"
	"net/http"
	"strings"
)

// rawType is that of a list of entries of 6 bytes.
const rawType = "application/octet-stream"

// raw answers requests at fixed paths and in the forms of browsers that read a list over HTTP:
// Q2PRO, Q2RTX and FTE for Quake 2's family, ezQuake and FTE for QuakeWorld.
type raw struct{ *API }

// quake2 answers /v1/q2: the servers of Quake 2, or of another game, as text or entries. At the
// name that Q2PRO, Q2RTX and FTE ask, if it leads here, the first page is this list.
func (s raw) quake2(w http.ResponseWriter, r *http.Request, p Params) error {
	if p["game"] == "" {
		p["game"] = "quake2"
	}
	switch p["raw"] {
	case "1":
		return s.serveAddresses(w, r, p)
	case "2":
		return s.export(w, r, p, rawType, appendEntry)
	default:
		return badParam("raw", "1 for text, 2 for 6 bytes for each server")
	}
}

// appendEntry appends the IPv4 address and port of a server.
func appendEntry(e *encoder, row *Row) {
	if a := e.asker.Given(row.Public); a.Addr().Is4() {
		ip := a.Addr().As4()
		e.buf = binary.BigEndian.AppendUint16(append(e.buf, ip[:]...), a.Port())
	}
}

// file answers /raw/GAME.txt: the addresses of a game's servers, one in a line.
func (s raw) file(w http.ResponseWriter, r *http.Request, _ Params) error {
	game, ok := strings.CutSuffix(r.PathValue("file"), ".txt")
	if !ok || game == "" {
		return notFound("not GAME.txt")
	}
	return s.serveAddresses(w, r, Params{"game": game})
}
