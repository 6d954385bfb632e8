package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"

	"github.com/respawnd/respawnd/web/front"
)

// gameJSON is a game as /api/v1/games shows it. It has no other fields of the
// catalogue on purpose: those are for the operator, and some are secret.
type gameJSON struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	ID          int    `json:"id"`
	QueryPort   uint16 `json:"query_port"`
	Servers     int    `json:"servers"`
	Players     int    `json:"players"`
	Maintenance bool   `json:"maintenance"`
}

// Host is a name that clients of a game look up.
type Host struct {
	Name    string `json:"name"`
	Domain  string `json:"domain"`
	Service string `json:"service"`
}

// gameDetails is a game as /api/v1/games/{name} shows it.
type gameDetails struct {
	gameJSON
	Hosts []Host `json:"hosts"`
}

// gamesQuestion is the question for the catalogue, gameQuestion that for a game.
type (
	gamesQuestion struct{ active bool }
	gameQuestion  struct{ name string }
)

// serveGames answers /api/v1/games.
func (s *API) serveGames(w http.ResponseWriter, r *http.Request) {
	p, err := parseParams(r.URL.RawQuery, "active")
	if err != nil {
		s.refuse(w, err)
		return
	}
	active, err := p.Flag("active")
	if err != nil {
		s.refuse(w, err)
		return
	}
	list := s.lister.now()
	s.ReplyTagged(w, r, front.JSON, &list.Answers, gamesQuestion{active}, func() []byte { return s.encodeGames(list, active) })
}

// encodeGames writes the catalogue, sorted by name.
func (s *API) encodeGames(list *Snapshot, active bool) []byte {
	out := []gameJSON{}
	for _, g := range s.lister.catalog.All() {
		if v := viewGame(list, g); !active || v.Servers > 0 {
			out = append(out, v)
		}
	}
	return encodeJSON(out)
}

func viewGame(list *Snapshot, g games.Game) gameJSON {
	listed := list.Game(g.Name)
	title := clean.Text(g.Title)
	if title == "" {
		title = g.Name
	}
	return gameJSON{
		Name: g.Name, Title: title, ID: g.ID, QueryPort: g.QueryPort,
		Servers: listed.Servers(), Players: listed.Players, Maintenance: g.Maintenance,
	}
}

// serveGame answers /api/v1/games/{name}.
func (s *API) serveGame(w http.ResponseWriter, r *http.Request) {
	if _, err := parseParams(r.URL.RawQuery); err != nil {
		s.refuse(w, err)
		return
	}
	g, ok := s.lister.catalog.Lookup(strings.ToLower(r.PathValue("name")))
	if !ok {
		front.FailJSON(w, http.StatusNotFound, "no such game")
		return
	}
	list := s.lister.now()
	s.ReplyTagged(w, r, front.JSON, &list.Answers, gameQuestion{g.Name}, func() []byte {
		return encodeJSON(gameDetails{viewGame(list, g), s.Hosts(g.Name)})
	})
}

// Hosts returns the names that clients of a game look up, under every domain.
func (s *API) Hosts(game string) []Host {
	out := []Host{}
	seen := make(map[string]bool)
	for _, domain := range s.opt.Domains {
		names, err := games.HostNames(game, domain)
		if err != nil { // no name could be made of it, so no client looks it up
			continue
		}
		for _, n := range names {
			if !seen[n.Name] {
				seen[n.Name] = true
				out = append(out, Host{n.Name, domain, string(n.Service)})
			}
		}
	}
	return out
}

// encodeJSON writes a value that always has a JSON form.
func encodeJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // the type is JSON, and nosniff; names stay readable
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return b.Bytes()
}
