package admin

import (
	"context"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// Matches of the competition service.
var (
	getMatches  = newEndpoint("GET", "games/{name}/matches", "matches that games reported, the newest first, at most 100: ?before=", matchQuery, operator.Operator.ListMatches)
	getMatch    = newEndpoint("GET", "matches/{id}", "a match with its reports (base64)", idParam, operator.Operator.Match)
	deleteMatch = newEndpoint("DELETE", "matches/{id}", "delete a match; scores stay", idParam, answering(removed{1}, operator.Operator.DeleteMatch))
)

func matchQuery(p *params, q *operator.MatchQuery) {
	nameParam(p, &q.Game)
	number(p, "before", &q.Before)
}

func (c *client) ListMatches(ctx context.Context, q operator.MatchQuery) ([]storage.Match, error) {
	return getMatches.call(ctx, c, q)
}

func (c *client) Match(ctx context.Context, id uint32) (storage.Match, error) {
	return getMatch.call(ctx, c, id)
}

func (c *client) DeleteMatch(ctx context.Context, id uint32) error {
	return deleteMatch.exec(ctx, c, id)
}
