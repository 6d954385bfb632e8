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
	list, err := s.opt.Operator.Games(ctx)
	if err != nil || s.opt.Served == nil {
		return list, err
	}
	status, err := s.opt.Operator.Status(ctx)
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
	part := storage.Fold(v.Query)
	for _, g := range list {
		if !strings.Contains(g.Name, part) && !strings.Contains(storage.Fold(g.Title), part) {
			continue
		}
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
	own, err := s.opt.Operator.OwnGame(r.Context(), name)
	switch {
	case err == nil:
		v.Record = string(games.AppendYAML(nil, []games.Game{own}))
	case !errors.Is(err, storage.ErrNotFound):
		return view{}, err
	}
	if v.Tables, err = s.opt.Operator.SakeTables(r.Context(), name); err != nil {
		return view{}, err
	}
	v.Tables = v.Tables[:min(len(v.Tables), pageRows)]
	v.Stats, err = s.opt.Operator.GameStats(r.Context(), operator.GameStatsQuery{Game: name})
	return view{"game", "Game " + list[i].Name, v}, err
}

// pageOfGame is the path of the page of a game.
func pageOfGame(name string) string { return "/games/" + url.PathEscape(name) }

func (s *Server) gameAddForm(r *http.Request) (done, to string, err error) {
	text := func(name string) string { return strings.TrimSpace(r.PostFormValue(name)) }
	g := games.Game{Name: strings.ToLower(text("name"))}
	for _, key := range []string{"title", "secret", "id", "port"} {
		if err := g.Set(key, text(key)); err != nil {
			return "", "", fmt.Errorf("%w: %w", operator.ErrBadRequest, err)
		}
	}
	if _, err := s.opt.Operator.OwnGame(r.Context(), g.Name); err == nil {
		return "", "", fmt.Errorf("%w: there is a record of yours of %s already; change it on its page", operator.ErrBadRequest, g.Name)
	}
	return fmt.Sprintf("Your record of %s is stored.", g.Name), pageOfGame(g.Name), s.opt.Operator.PutGames(r.Context(), []games.Game{g})
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
	return fmt.Sprintf("Your record of %s is stored.", name), pageOfGame(name), s.opt.Operator.PutGames(r.Context(), list)
}

func (s *Server) gameRemoveForm(r *http.Request) (done, to string, err error) {
	name := strings.ToLower(r.PathValue("name"))
	return fmt.Sprintf("Your record of %s is gone.", name), "", s.opt.Operator.DeleteGame(r.Context(), name)
}

func (s *Server) maintenanceForm(r *http.Request) (done, to string, err error) {
	name := strings.ToLower(r.PathValue("name"))
	on, state := r.PostFormValue("on") == "yes", "off"
	if on {
		state = "on"
	}
	return fmt.Sprintf("Maintenance of %s is %s.", name, state), pageOfGame(name), s.opt.Operator.SetMaintenance(r.Context(), name, on)
}
