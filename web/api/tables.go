package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/storage"
)

// Bounds of a part of a table. A part ends early when its records have maxTableBytes
// in their stored form.
const (
	defaultRecords = 20
	maxRecords     = 100
	maxTableBytes  = 1 << 20
)

// Table is the answer of /api/v1/games/{name}/tables/{table}: records that players store
// in a public table of a game.
type Table struct {
	Game    string        `json:"game"`
	Table   string        `json:"table"`
	Columns []TableColumn `json:"columns"`
	From    int           `json:"from"`
	Records []TableRecord `json:"records"`
	Next    int           `json:"next,omitzero"` // from of the next part; missing: this is the last
}

// TableColumn is a field that records of a table can have. Type is that of the last
// record if the operator did not declare one, as on the wire.
type TableColumn struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// TableRecord is a record of a table.
type TableRecord struct {
	ID        uint32            `json:"id"`
	Profile   storage.ProfileID `json:"profile"` // of the owner
	Nick      string            `json:"nick"`
	Created   time.Time         `json:"created"`
	Changed   time.Time         `json:"changed"`
	Ratings   int               `json:"ratings"`
	RatingSum int64             `json:"rating_sum"`
	Values    []TableValue      `json:"values"`
}

// TableValue is the value of a field of a record. Binary data is not shown, Bytes is its
// size.
type TableValue struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Value string `json:"value"`
	Bytes int    `json:"bytes,omitzero"`
}

// serveTable answers /api/v1/games/{name}/tables/{table}.
func (s *API) serveTable(w http.ResponseWriter, r *http.Request, p Params) error {
	from, errFrom := p.between("from", 0, 0, storage.MaxSakeID)
	limit, errLimit := p.between("limit", defaultRecords, 1, maxRecords)
	if err := errors.Join(errFrom, errLimit); err != nil {
		return err
	}
	g, err := s.named(r)
	if err != nil {
		return err
	}
	t, ok := g.Table(r.PathValue("table"))
	if !ok || !t.Public || s.opt.Stats == nil {
		return notFound("the game has no such public table")
	}
	out, err := s.Table(r.Context(), g.Name, t, uint32(from), limit)
	if err != nil {
		return s.broken(fmt.Errorf("table %s: %w", t.Name, err), "table", g.Name)
	}
	s.sendJSON(w, r, out)
	return nil
}

// PublicTables returns the tables of a game that everyone may see, none if there is no
// store.
func (s *scores) PublicTables(g games.Game) (list []games.Table) {
	if s.stats == nil {
		return nil
	}
	for _, t := range g.Tables {
		if t.Public {
			list = append(list, t)
		}
	}
	return list
}

// Table returns up to n records of a table in the order of their ids, from an id on.
// Records of players who were deleted meanwhile are left out. The caller checks that
// the table is public.
func (s *scores) Table(ctx context.Context, game string, t games.Table, from uint32, n int) (Table, error) {
	id := storage.SakeTableID{Game: game, Name: t.Name}
	out := Table{Game: game, Table: t.Name, Columns: []TableColumn{}, From: int(from), Records: []TableRecord{}}
	for _, f := range t.Fields {
		out.Columns = append(out.Columns, TableColumn{f.Name, f.Wire()})
	}
	stored, err := s.stats.GetSakeTable(ctx, id)
	if errors.Is(err, storage.ErrNoTable) {
		return out, nil
	}
	if err != nil {
		return Table{}, err
	}
	if len(t.Fields) == 0 {
		for _, c := range stored.Columns {
			out.Columns = append(out.Columns, TableColumn{c.Name, c.Type.String()})
		}
	}
	var ids []uint32
	size := 0
	err = s.stats.ScanSake(ctx, id, storage.SakeScan{First: from}, func(r *storage.SakeRow) bool {
		if len(ids) == n || size > maxTableBytes {
			out.Next = int(r.ID)
			return false
		}
		ids, size = append(ids, r.ID), size+r.Rest()
		return true
	})
	var records []storage.SakeRecord
	if err == nil {
		records, err = s.stats.SakeRecords(ctx, id, ids)
	}
	if err != nil && !errors.Is(err, storage.ErrNoTable) { // deleted meanwhile
		return Table{}, err
	}
	out.Records, err = s.tableRecords(ctx, t, records)
	return out, err
}

// tableRecords adds the nicks of their owners to records.
func (s *scores) tableRecords(ctx context.Context, t games.Table, records []storage.SakeRecord) ([]TableRecord, error) {
	list := make([]TableRecord, 0, len(records))
	nicks := make(map[storage.ProfileID]string)
	for i := range records {
		r := &records[i]
		nick, known := nicks[r.Owner]
		if !known {
			p, err := s.stats.GetProfile(ctx, r.Owner)
			if errors.Is(err, storage.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("profile %d: %w", r.Owner, err)
			}
			nick = clean.Text(p.Nick)
			nicks[r.Owner] = nick
		}
		list = append(list, TableRecord{
			ID: r.ID, Profile: r.Owner, Nick: nick, Created: r.Created.UTC(), Changed: r.Changed.UTC(),
			Ratings: r.Ratings, RatingSum: r.RatingSum, Values: tableValues(t, r),
		})
	}
	return list, nil
}

// tableValues returns the values of a record, only those of declared fields if the table
// declares any.
func tableValues(t games.Table, r *storage.SakeRecord) []TableValue {
	list := make([]TableValue, 0, len(r.Fields))
	for _, f := range r.Fields {
		if _, declared := t.Field(f.Name); !declared && len(t.Fields) > 0 {
			continue
		}
		v := TableValue{Name: f.Name, Type: f.Value.Type.String()}
		if f.Value.Type == storage.SakeBinary {
			v.Bytes = len(f.Value.Text)
		} else {
			v.Value = clean.Text(f.Value.String())
		}
		list = append(list, v)
	}
	return list
}
