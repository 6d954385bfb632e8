package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// gamesView is the data of the page of games.
type gamesView struct {
	Query string
	Rows  []gameRow
	Found int
	All   int
}

type gameRow struct {
	games.Game
	Own bool // the operator's catalogue has a record of it
}

// shownGames returns the games that the services here are for, those with servers, and
// those that the operator changed.
func (s *Server) shownGames(ctx context.Context) ([]games.Game, error) {
	list, err := operator.ListGames.Call(ctx, s.opt.Operator, operator.None{})
	if err != nil || s.opt.Served == nil {
		return list, err
	}
	status, err := operator.GetStatus.Call(ctx, s.opt.Operator, operator.None{})
	if errors.Is(err, operator.ErrNotRunning) {
		err = nil
	}
	return slices.DeleteFunc(slices.Clone(list), func(g games.Game) bool {
		return !g.Offered(s.opt.Served) && status.Servers[g.Name] == 0 && g.Source.Origin == games.FromEmbedded && !g.Maintenance
	}), err
}

func (s *Server) gamesPage(r *http.Request) (view, error) {
	list, err := s.shownGames(r.Context())
	if err != nil {
		return view{}, err
	}
	v := gamesView{Query: strings.TrimSpace(r.URL.Query().Get("q")), All: len(list)}
	for _, g := range games.Search(list, v.Query) {
		v.Found++
		v.Rows = append(v.Rows, gameRow{g, g.Source.Origin == games.FromStore})
	}
	slices.SortStableFunc(v.Rows, func(a, b gameRow) int { return rank(a) - rank(b) }) // games with a record of the operator come first
	v.Rows = v.Rows[:min(len(v.Rows), pageRows)]
	return view{"games", "Games", v}, nil
}

func rank(g gameRow) int {
	if g.Own || g.Maintenance {
		return 0
	}
	return 1
}

// gameView is the data of the page of a game.
type gameView struct {
	Game   games.Game
	Whole  string // the complete record in force, as YAML
	Record string // the operator's own record, as YAML; "" if there is none
	Stats  operator.GameStats
	Tables []storage.SakeTable // of records, at most pageRows
}

func (s *Server) gamePage(r *http.Request) (view, error) {
	name := strings.ToLower(r.PathValue("name"))
	list, err := s.shownGames(r.Context())
	if err != nil {
		return view{}, err
	}
	i := slices.IndexFunc(list, func(g games.Game) bool { return g.Name == name })
	if i < 0 {
		return view{}, fmt.Errorf("game %q: %w", name, storage.ErrNotFound)
	}
	v := gameView{Game: list[i], Whole: string(games.AppendYAML(nil, list[i:i+1]))}
	own, err := operator.GetGame.Call(r.Context(), s.opt.Operator, operator.GameRef{Game: name})
	switch {
	case err == nil:
		v.Record = string(games.AppendYAML(nil, own))
	case !errors.Is(err, storage.ErrNotFound):
		return view{}, err
	}
	if v.Tables, err = operator.ListSakeTables.Call(r.Context(), s.opt.Operator, operator.SakeGame{Game: name}); err != nil {
		return view{}, err
	}
	v.Tables = v.Tables[:min(len(v.Tables), pageRows)]
	v.Stats, err = operator.GetGameStats.Call(r.Context(), s.opt.Operator, operator.GameStatsQuery{Game: name})
	return view{"game", "Game " + list[i].Name, v}, err
}

func pageOfGame(name string) string { return "/games/" + url.PathEscape(name) }

func (s *Server) gameAddForm(r *http.Request) (done, to string, err error) {
	text := func(name string) string { return strings.TrimSpace(r.PostFormValue(name)) }
	g := games.Game{Name: strings.ToLower(text("name"))}
	for _, key := range []string{"title", "secret", "id", "port"} {
		if err := g.Set(key, text(key)); err != nil {
			return "", "", fmt.Errorf("%w: %w", operator.ErrBadRequest, err)
		}
	}
	if operator.GetGame.Exec(r.Context(), s.opt.Operator, operator.GameRef{Game: g.Name}) == nil {
		return "", "", fmt.Errorf("%w: there is a record of yours of %s already; change it on its page", operator.ErrBadRequest, g.Name)
	}
	return fmt.Sprintf("Your record of %s is stored.", g.Name), pageOfGame(g.Name), operator.PutGames.Exec(r.Context(), s.opt.Operator, operator.GameList{g})
}

func (s *Server) gameUploadForm(r *http.Request) (done, to string, err error) {
	f, head, err := r.FormFile("file")
	if err != nil {
		return "", "", fmt.Errorf("%w: choose a file first", operator.ErrBadRequest)
	}
	defer func() { _ = f.Close() }()
	list, report, err := games.Import(io.LimitReader(f, maxUpload), head.Filename)
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", operator.ErrBadRequest, err)
	}
	result, err := operator.ImportGames(r.Context(), s.opt.Operator, list, report)
	done = fmt.Sprintf("Read %s, stored %d that add something: %d new, %d changed.",
		many(result.Games, "game", "games"), result.Stored, result.New, result.Changed)
	if n := result.Differing(); n > 0 {
		done += fmt.Sprintf(" %s; the first: %s of %s, %q here, %q in the list.", many(n, "value differs", "values differ"),
			result.Differ[0].Field, result.Differ[0].Game, result.Differ[0].Here, result.Differ[0].Imported)
	}
	if result.LeftOutOf > 0 {
		done += fmt.Sprintf(" %s left out; the first: %s", many(result.LeftOutOf, "record was", "records were"), result.LeftOut[0])
	}
	return done, "", err
}

func (s *Server) gameRecordForm(r *http.Request) (done, to string, err error) {
	name := strings.ToLower(r.PathValue("name"))
	list, err := games.ParseYAML(bytes.NewReader([]byte(r.PostFormValue("record"))), games.Source{Origin: games.FromStore})
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", operator.ErrBadRequest, err)
	}
	if len(list) != 1 || list[0].Name != name {
		return "", "", fmt.Errorf("%w: this must be one record, of %s", operator.ErrBadRequest, strconv.Quote(name))
	}
	return fmt.Sprintf("Your record of %s is stored.", name), pageOfGame(name), operator.PutGames.Exec(r.Context(), s.opt.Operator, list)
}

func (s *Server) gameRemoveForm(r *http.Request) (done, to string, err error) {
	name := strings.ToLower(r.PathValue("name"))
	return fmt.Sprintf("Your record of %s is gone.", name), "", operator.DeleteGame.Exec(r.Context(), s.opt.Operator, operator.GameRef{Game: name})
}

func (s *Server) maintenanceForm(r *http.Request) (done, to string, err error) {
	name := strings.ToLower(r.PathValue("name"))
	on, state := r.PostFormValue("on") == "yes", "off"
	if on {
		state = "on"
	}
	return fmt.Sprintf("Maintenance of %s is %s.", name, state), pageOfGame(name), operator.SetMaintenance.Exec(r.Context(), s.opt.Operator, operator.Maintenance{Game: name, On: on})
}
