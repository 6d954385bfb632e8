package web

import (
	"net"
	"net/http"
	"net/netip"
	"strconv"

	"github.com/respawnd/respawnd/internal/qrsvg"
	"github.com/respawnd/respawnd/web/front"
)

// svgType is the content type of pictures.
const svgType = "image/svg+xml"

// qrQuestion is the question for the code of a text.
type qrQuestion struct{ text string }

// replyQR sends the QR code of a text, which is never one of the visitor's.
func (s *Server) replyQR(w http.ResponseWriter, r *http.Request, text string) {
	if text == "" || len(text) > qrsvg.MaxText {
		s.Fail(w, r, http.StatusNotFound, "there is no QR code of that")
		return
	}
	s.Reply(w, r, svgType, &s.api.Snapshot().Answers, qrQuestion{text}, func() []byte { return drawQR(text) })
}

// drawQR draws a code as SVG. It has a light ground of its own, because readers need one in dark pages too.
func drawQR(text string) []byte {
	path, side, err := qrsvg.Draw(text)
	if err != nil {
		panic(err) // MaxText bytes always fit
	}
	size := strconv.Itoa(side)
	b := append([]byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 `), size+" "+size+`" shape-rendering="crispEdges">`...)
	b = append(b, `<path fill="#fff" d="M0 0h`+size+"v"+size+"h-"+size+`z"/><path d="`...)
	return append(append(b, path...), "\"/></svg>\n"...)
}

// serveServerQR answers /servers/{id}/qr.svg: the code of the address to which players
// connect.
func (s *Server) serveServerQR(w http.ResponseWriter, r *http.Request) {
	asker := s.api.Asker(r)
	found, _, ok := s.api.Find(r.PathValue("id"), asker)
	if !ok {
		s.Fail(w, r, http.StatusNotFound, "this server is not in the list; it may have been stopped")
		return
	}
	s.replyQR(w, r, gameAddressOf(found.GamePort, asker.Given(found.Public)))
}

// gameAddressOf returns the address to which players connect: the one for questions,
// unless the server names another port.
func gameAddressOf(port uint16, given netip.AddrPort) string {
	if port != 0 {
		given = netip.AddrPortFrom(given.Addr(), port)
	}
	return given.String()
}

// serveSiteQR answers /connect/qr.svg: the code of the address of this site.
func (s *Server) serveSiteQR(w http.ResponseWriter, r *http.Request) { s.replyQR(w, r, s.siteURL(r)) }

// siteURL returns the address under which others find this site: the configured one,
// else the one that a visitor of the same private network reached; "" if neither is
// known. It never comes from the visitor's request.
func (s *Server) siteURL(r *http.Request) string {
	if origin := s.site.Origin(); origin != "" {
		return origin + s.site.Base() + "/"
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok || !front.IsNear(s.Visitor(r)) {
		return ""
	}
	at, err := netip.ParseAddrPort(local.String())
	if err != nil || at.Addr().IsLoopback() || at.Addr().Zone() != "" {
		return ""
	}
	return "http://" + netip.AddrPortFrom(at.Addr().Unmap(), at.Port()).String() + "/"
}
