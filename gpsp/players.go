package gpsp

import (
	"context"

	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

const (
	// MaxMatches is the maximum number of players in the reply to pmatch.
	MaxMatches = 200
	// MaxSuggestions is the maximum number of suggested unique nicks.
	MaxSuggestions = 5
)

// match lists the players that play a product now.
func (s *Server) match(ctx context.Context, r *request, w *reply) error {
	asker, err := s.optionalAsker(ctx, r)
	if err != nil {
		return err
	}
	product, err := r.number("productid")
	if err != nil {
		return err
	}
	var players []presence.Present
	if product > 0 {
		players = s.opt.Hub.Match(ctx, product, MaxMatches)
	}
	for i := range players {
		err := s.writeMatch(ctx, w, asker, &players[i])
		if err != nil && !passOver(err) {
			return err
		}
	}
	w.mark("psrdone")
	return nil
}

// writeMatch writes the row of a player, unless there is a block between the
// two.
func (s *Server) writeMatch(ctx context.Context, w *reply, asker storage.ProfileID, m *presence.Present) error {
	if asker != 0 && asker != m.Profile {
		rel, err := s.opt.Store.Relation(ctx, asker, m.Profile)
		if err != nil || rel.Blocked() {
			return err
		}
	}
	p, err := s.opt.Store.GetProfile(ctx, m.Profile)
	if err != nil {
		return err
	}
	text := m.Status.Text
	if m.Status.Rich != nil {
		text = m.Status.Rich.Text
	}
	w.number("psr", int64(m.Profile))
	w.text("status", text)
	w.text("nick", p.Nick)
	w.number("statuscode", int64(m.Status.State))
	return nil
}

// suggest lists unique nicks that are free and similar to a requested one.
func (s *Server) suggest(ctx context.Context, r *request, w *reply) error {
	namespace, err := r.count("namespaceid")
	if err != nil {
		return err
	}
	list, err := s.opt.Accounts.Profiles.Suggest(ctx, namespace, r.get("preferrednick"), MaxSuggestions)
	if err != nil {
		return err
	}
	w.number("us", int64(len(list)))
	for _, nick := range list {
		w.text("nick", nick)
	}
	w.mark("usdone")
	return nil
}
