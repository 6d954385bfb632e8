package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// Statistics.
var (
	getGameStats   = newEndpoint("GET", "games/{name}/stats", "boards and last reports of a game: ?reports=", gameStatsQuery, operator.Operator.GameStats)
	getPlayerStats = newEndpoint("GET", "players/{id}/stats", "data and scores of a player, by profile", idParam, operator.Operator.PlayerStats)
	deleteStats    = newEndpoint("DELETE", "players/{id}/stats", "delete data and scores of a player: ?game=, ?kind=&index=", statsSelection,
		func(op operator.Operator, ctx context.Context, q operator.StatsSelection) (removed, error) {
			n, err := op.DeleteStats(ctx, q)
			return removed{n}, err
		})
	getStatBlock = newEndpoint("GET", "stats/block", "a block with its data: ?profile=, ?game=, ?kind=, ?index=", statBlockID, operator.Operator.StatBlock)
	setStatBlock = newEndpoint("PUT", "stats/block", "store a block: profile, game, kind, index, data (base64)", jsonBody, operator.Operator.SetStatBlock)
	importStats  = newEndpoint("POST", "stats/import", "store data and scores of players who have none", jsonBody,
		func(op operator.Operator, ctx context.Context, b statsBody) ([]operator.ImportedStats, error) {
			return op.ImportStats(ctx, b.Players)
		})
)

// statsBody is the body of an import of statistics.
type statsBody struct {
	Players []operator.StoredStats `json:"players"`
}

// statsExportPath is the path of the route whose answer is a stream.
const statsExportPath = "/api/v1/stats/export"

func gameStatsQuery(p *params, q *operator.GameStatsQuery) {
	nameParam(p, &q.Game)
	number(p, "reports", &q.Reports)
}

func statBlockID(p *params, id *storage.StatBlockID) {
	number(p, "profile", &id.Profile)
	p.text("game", &id.Game)
	if !blockParams(p, true, &id.Kind, &id.Index) {
		p.refuse(errKindAlone)
	}
}

func statsSelection(p *params, q *operator.StatsSelection) {
	idParam(p, &q.Profile)
	p.text("game", &q.Game)
	q.Block = blockParams(p, q.Block, &q.Kind, &q.Index)
}

// errKindAlone is the error for one of two parameters that belong together.
var errKindAlone = errors.New("kind and index are numbers that belong together")

// errNotIndex is the error for an index that no block can have.
var errNotIndex = fmt.Errorf("index is not a number from 0 to %d", math.MaxInt32)

// blockParams are the kind and the index of a block, if there is one. It reports whether
// a request has them.
func blockParams(p *params, write bool, kind *storage.StatKind, index *int32) (given bool) {
	if p.r == nil {
		if write {
			p.query.Set("kind", strconv.Itoa(int(*kind)))
			p.query.Set("index", strconv.Itoa(int(*index)))
		}
		return write
	}
	k, i := p.query.Get("kind"), p.query.Get("index")
	if k == "" && i == "" {
		return false
	}
	if k == "" || i == "" {
		p.refuse(errKindAlone)
		return false
	}
	n, err := strconv.ParseUint(k, 10, 8)
	if err != nil || n > uint64(storage.StatPublicWrite) {
		p.refuse(fmt.Errorf("kind is not a number from 0 to %d", storage.StatPublicWrite))
	}
	at, err := strconv.ParseUint(i, 10, 31)
	if err != nil {
		p.refuse(errNotIndex)
	}
	*kind, *index = storage.StatKind(n), int32(at)
	return true
}

// exportStats starts the answer before the export is known to succeed.
func (s *Server) exportStats(w http.ResponseWriter, r *http.Request) {
	out := &stream{w: w}
	w.Header().Set("Content-Type", linesType)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Trailer", leftOutTrailer)
	leftOut, err := s.opt.Operator.ExportStats(r.Context(), out)
	if err != nil {
		s.breakOff(out, r, "export of statistics broke off", err)
		return
	}
	w.Header().Set(leftOutTrailer, strconv.Itoa(leftOut))
}

func (c *client) GameStats(ctx context.Context, q operator.GameStatsQuery) (operator.GameStats, error) {
	return getGameStats.call(ctx, c, q)
}

func (c *client) PlayerStats(ctx context.Context, id storage.ProfileID) (operator.PlayerStats, error) {
	return getPlayerStats.call(ctx, c, id)
}

func (c *client) StatBlock(ctx context.Context, id storage.StatBlockID) (storage.StatBlock, error) {
	return getStatBlock.call(ctx, c, id)
}

func (c *client) SetStatBlock(ctx context.Context, b operator.NewStatBlock) (storage.StatBlock, error) {
	return setStatBlock.call(ctx, c, b)
}

func (c *client) DeleteStats(ctx context.Context, q operator.StatsSelection) (int, error) {
	out, err := deleteStats.call(ctx, c, q)
	return out.Removed, err
}

func (c *client) ExportStats(ctx context.Context, w io.Writer) (int, error) {
	return c.export(ctx, w, statsExportPath)
}

func (c *client) ImportStats(ctx context.Context, list []operator.StoredStats) (all []operator.ImportedStats, err error) {
	err = inParts(list, maxImport, func(part []operator.StoredStats) error {
		out, err := importStats.call(ctx, c, statsBody{part})
		if err == nil && len(out) != len(part) {
			err = fmt.Errorf("the daemon answered about %d players of %d", len(out), len(part))
		}
		all = append(all, out...)
		return err
	})
	return all, err
}
