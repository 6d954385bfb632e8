package web

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/web/api"
)

// Bounds of the tables of records on the page of a game.
const (
	maxTables    = 20
	tableRecords = 10
	tableColumns = 8
)

// recordsView is a public table of records on the page of a game.
type recordsView struct {
	Name, JSON string
	Columns    []string
	Rows       []recordView
}

// recordView is a record. Link is empty if the page of its owner may not exist.
type recordView struct {
	ID         uint32
	Nick, Link string
	Cells      []string // in the order of the columns
}

// records returns the public tables of a game that have records, with the first of them.
func (s *Server) records(ctx context.Context, l *lang.Language, g games.Game) (out []recordsView) {
	for _, t := range s.api.PublicTables(g) {
		table, err := s.api.Table(ctx, g.Name, t, 0, tableRecords)
		if err != nil {
			s.Log().Error().Err(err).Str("game", g.Name).Str("table", t.Name).Msg("table not read")
			return out
		}
		if len(table.Records) == 0 {
			continue
		}
		if out = append(out, s.recordsView(l, &table)); len(out) == maxTables {
			break
		}
	}
	return out
}

func (s *Server) recordsView(l *lang.Language, t *api.Table) recordsView {
	v := recordsView{Name: clean.Line(t.Table, maxGameText), JSON: s.site.Base() + "/api/v1/games/" + t.Game + "/tables/" + url.PathEscape(t.Table)}
	columns := t.Columns[:min(len(t.Columns), tableColumns)]
	for _, c := range columns {
		v.Columns = append(v.Columns, clean.Line(c.Name, maxNameText))
	}
	for i := range t.Records {
		r := &t.Records[i]
		row := recordView{ID: r.ID, Nick: clean.Line(r.Nick, maxNameText)}
		if !s.private() { // a player without scores has no page then
			row.Link = s.site.Base() + "/players/" + strconv.FormatUint(uint64(r.Profile), 10)
		}
		for _, c := range columns {
			row.Cells = append(row.Cells, recordCell(l, r, c.Name))
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}

// recordCell returns the value of a field as shown on a page, "" if the record has none.
func recordCell(l *lang.Language, r *api.TableRecord, field string) string {
	for _, v := range r.Values {
		switch {
		case !strings.EqualFold(v.Name, field):
		case v.Type == storage.SakeBinary.String():
			return l.N(v.Bytes, "%1 byte|%1 bytes")
		default:
			return clean.Line(v.Value, maxNameText)
		}
	}
	return ""
}
