package api

import (
	_ "embed"
	"net/http"

	"github.com/respawnd/respawnd/web/front"
)

// openAPI describes the API for programs. It is written by hand; a test
// compares it with the handlers.
//
//go:embed openapi.json
var openAPI []byte

// serveOpenAPI answers /api/v1/openapi.json.
func (s *API) serveOpenAPI(w http.ResponseWriter, r *http.Request) {
	if _, err := parseParams(r.URL.RawQuery); err != nil {
		s.refuse(w, err)
		return
	}
	if !front.NotModified(w, r, s.description.tag) {
		s.Send(w, r, front.JSON, s.description.Answer)
	}
}

// fixed is an answer that stays the same for as long as the daemon runs.
type fixed struct {
	*front.Answer
	tag string
}

func newFixed(body []byte) fixed { return fixed{front.NewAnswer(body), front.ContentTag(body)} }
