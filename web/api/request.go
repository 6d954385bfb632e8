package api

import (
	"errors"
	"net/http"
	"strings"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/web/front"
)

// failure is an answer in place of the one that was asked for. Its text is for the
// client.
type failure struct {
	status int
	text   string
}

// Error implements error.
func (e *failure) Error() string { return e.text }

// notFound is the failure of something that does not exist.
func notFound(text string) error { return &failure{http.StatusNotFound, text} }

// broken logs that the store does not return something of a game now, and returns that
// failure.
func (s *API) broken(cause error, what, game string) error {
	s.Log().Error().Err(cause).Str("game", game).Msg(what + " not read")
	return &failure{http.StatusInternalServerError, "the " + what + " cannot be read now"}
}

// with returns a handler for requests that may have the known parameters and no
// others. An error of serve is answered: a failure as it says, any other as a bad
// parameter. serve has written nothing then.
func (s *API) with(serve func(http.ResponseWriter, *http.Request, Params) error, known ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p, err := parseParams(r.URL.RawQuery, known...)
		if err == nil {
			err = serve(w, r, p)
		}
		if err != nil {
			refuse(s.Front, w, err)
		}
	}
}

func refuse(f *front.Front, w http.ResponseWriter, err error) {
	if told, ok := errors.AsType[*failure](err); ok {
		front.FailJSON(w, told.status, told.text)
		return
	}
	f.Drop(front.DropParam)
	front.FailJSON(w, http.StatusBadRequest, clean.Cut(err.Error(), clean.MaxEcho))
}

// named returns the game that a path names, or a failure.
func (s *API) named(r *http.Request) (games.Game, error) {
	g, ok := s.Game(strings.ToLower(r.PathValue("name")))
	if !ok {
		return g, notFound("no such game")
	}
	return g, nil
}

// sendJSON sends a value whose tag comes from its text.
func (s *API) sendJSON(w http.ResponseWriter, r *http.Request, v any) {
	body := encodeJSON(v)
	if !front.NotModified(w, r, "W/"+front.ContentTag(body)) {
		s.Send(w, r, front.JSON, front.NewAnswer(body))
	}
}
