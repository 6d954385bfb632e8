package admin

import (
	"context"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// Records that games store.
var (
	getSakeTables  = newEndpoint("GET", "sake/tables", "tables of records that a game stored: ?game=", gameParam, operator.Operator.SakeTables)
	getSakeRecords = newEndpoint("GET", "sake/records", "records of a table, at most 100: ?game=, ?table=, ?owner=, ?after=, ?limit=", sakeQuery, operator.Operator.SakeRecords)
	deleteSake     = newEndpoint("DELETE", "sake/records", "delete a record, or without id the table: ?game=, ?table=, ?id=", sakeTarget,
		func(op operator.Operator, ctx context.Context, t operator.SakeTarget) (removed, error) {
			n, err := op.DeleteSake(ctx, t)
			return removed{n}, err
		})
)

func sakeQuery(p *params, q *operator.SakeQuery) {
	p.text("game", &q.Game)
	p.text("table", &q.Table)
	number(p, "owner", &q.Owner)
	number(p, "after", &q.After)
	number(p, "limit", &q.Limit)
}

func sakeTarget(p *params, t *operator.SakeTarget) {
	p.text("game", &t.Game)
	p.text("table", &t.Table)
	number(p, "id", &t.ID)
}

func (c *client) SakeTables(ctx context.Context, game string) ([]storage.SakeTable, error) {
	return getSakeTables.call(ctx, c, game)
}

func (c *client) SakeRecords(ctx context.Context, q operator.SakeQuery) ([]storage.SakeRecord, error) {
	return getSakeRecords.call(ctx, c, q)
}

func (c *client) DeleteSake(ctx context.Context, t operator.SakeTarget) (int, error) {
	out, err := deleteSake.callSlow(ctx, c, t)
	return out.Removed, err
}
