package web

import (
	"context"
	"strconv"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/web/api"
)

// matchRows is how many matches the page of a game shows.
const matchRows = 10

// matchView is a match on the page of a game.
type matchView struct {
	When, Outcome string
	Players       []matchPlayerView
}

// matchPlayerView is a player of a match. A guest has no link.
type matchPlayerView struct{ Nick, Link, Result string }

// matches returns the last matches of a game.
func (s *Server) matches(ctx context.Context, l *lang.Language, g games.Game) (out []matchView) {
	list, _, err := s.api.Matches(ctx, g.Name, 0, matchRows)
	if err != nil {
		s.Log().Error().Err(err).Str("game", g.Name).Msg("matches not read")
		return nil
	}
	for _, m := range list {
		v := matchView{When: m.Reported.Format("2006-01-02 15:04"), Outcome: l.T(m.Outcome)}
		for _, p := range m.Players {
			v.Players = append(v.Players, s.matchPlayer(l, p))
		}
		out = append(out, v)
	}
	return out
}

func (s *Server) matchPlayer(l *lang.Language, p api.MatchPlayer) matchPlayerView {
	v := matchPlayerView{Nick: clean.Line(p.Nick, maxNameText), Result: l.T(p.Result)}
	if v.Nick == "" {
		v.Nick = l.T("guest")
	}
	if p.Profile != 0 {
		v.Link = s.site.Base() + "/players/" + strconv.FormatUint(uint64(p.Profile), 10)
	}
	return v
}
