package web

import (
	_ "embed"
	"net/http"
)

// openAPI describes the API for programs. It is written by hand; a test holds it
// against what the handlers do.
//
//go:embed assets/openapi.json
var openAPI []byte

// serveOpenAPI answers /api/v1/openapi.json.
func (s *Server) serveOpenAPI(w http.ResponseWriter, r *http.Request) {
	if _, err := parseParams(r.URL.RawQuery); err != nil {
		s.refuse(w, err)
		return
	}
	if !s.notModified(w, r, s.description.tag) {
		s.send(w, r, jsonType, s.description.answer)
	}
}

// fixed is an answer that stays the same for as long as the daemon runs.
type fixed struct {
	*answer
	tag string
}

func newFixed(body []byte) fixed { return fixed{&answer{body: body}, contentTag(body)} }
