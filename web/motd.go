package web

import (
	"encoding/json"
	"html"
	"net/http"
	"strings"

	"github.com/respawnd/respawnd/web/front"
)

// serveMotd answers /json/GAME/motd, the message of the day as browsers of 333networks read it.
func (s *Server) serveMotd(w http.ResponseWriter, r *http.Request) {
	type text struct {
		Motd string `json:"motd"`
	}
	type count struct {
		Total   int `json:"total"`
		Players int `json:"players"`
	}
	list := s.api.Snapshot()
	n := count{len(list.Rows), list.Players}
	if game := strings.ToLower(r.PathValue("game")); game != "all" {
		n.Total, n.Players = list.Population(game)
	}
	words := html.EscapeString(s.site.Look().Message)
	body, err := json.Marshal([2]any{text{"<h1>" + html.EscapeString(s.site.Name()) + "</h1><p>" + strings.ReplaceAll(words, "\n", "<br>") + "</p>"}, n})
	if err != nil {
		panic(err) // texts and numbers
	}
	s.Send(w, r, front.JSON, front.NewAnswer(body))
}
