package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/storage"
)

// ownGame returns the operator's own record of a game, storage.ErrNotFound if
// there is none.
func (l *Local) ownGame(ctx context.Context, name string) (games.Game, error) {
	record, err := l.Store.GetGame(ctx, name)
	if err != nil {
		return games.Game{}, fmt.Errorf("game %s: %w", name, err)
	}
	list, err := games.ParseYAML(bytes.NewReader(record.Doc), games.Source{Origin: games.FromStore})
	if err == nil && len(list) != 1 {
		err = storage.ErrDamaged
	}
	if err != nil {
		return games.Game{}, fmt.Errorf("game %s in the store: %w", name, err)
	}
	return list[0], nil
}

// OwnGame implements Operator.
func (l *Local) OwnGame(ctx context.Context, name string) (games.Game, error) {
	return l.ownGame(ctx, name)
}

// SetMaintenance implements Operator.
func (l *Local) SetMaintenance(ctx context.Context, name string, on bool) error {
	known, ok := l.Catalogue.Catalog().Lookup(name)
	if !ok {
		return fmt.Errorf("game %.64q: %w", name, storage.ErrNotFound)
	}
	g, err := l.ownGame(ctx, known.Name)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		g = games.Game{Name: known.Name}
	case err != nil:
		return err
	}
	g.Maintenance = on
	g.Given |= games.FieldMaintenance
	return l.putGames(ctx, []games.Game{g}, actGameMaintenance, onOff(on))
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// OwnGame implements Operator.
func (c *Client) OwnGame(ctx context.Context, name string) (games.Game, error) {
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	resp, err := c.do(ctx, http.MethodGet, "/api/v1/games/"+url.PathEscape(name), nil)
	if err != nil {
		return games.Game{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	list, err := games.ParseYAML(resp.Body, games.Source{Origin: games.FromStore})
	if err != nil || len(list) != 1 {
		return games.Game{}, fmt.Errorf("answer about game %s: %w", name, err)
	}
	return list[0], nil
}

// switchBody is the body that switches something.
type switchBody struct {
	On bool `json:"on"`
}

// SetMaintenance implements Operator.
func (c *Client) SetMaintenance(ctx context.Context, name string, on bool) error {
	return c.call(ctx, http.MethodPut, "/api/v1/games/"+url.PathEscape(name)+"/maintenance", switchBody{on}, nil)
}

// getGame answers in the YAML form, like getGames.
func (s *Server) getGame(w http.ResponseWriter, r *http.Request) {
	g, err := s.opt.Operator.OwnGame(r.Context(), r.PathValue("name"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeGames(w, []games.Game{g})
}

func (s *Server) putMaintenance(w http.ResponseWriter, r *http.Request) {
	var v switchBody
	err := body(r, &v)
	if err == nil {
		err = s.opt.Operator.SetMaintenance(r.Context(), r.PathValue("name"), v.On)
	}
	answer(s, w, r, v, err)
}
