package ssq

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/advertise"
	wire "github.com/respawnd/respawnd/internal/ssq"
)

// plan is a query with its resolved names.
type plan struct {
	asked []string  // columns as the client named them
	there []bool    // tables that the rows have
	cols  []*column // of the rows
	tests []test
	from  tableName // empty: no column is there
	query *wire.Query
	asker advertise.Asker // the asker that gets the addresses
}

// ownProcedure returns the columns of a procedure of our own; nil for others.
func ownProcedure(name string) []string {
	switch name {
	case "x-servers":
		return []string{"hostip", "game", "hostname", "map", "numplayers", "maxplayers"}
	case "x-online":
		return []string{"hostip", "playername", "ping", "frags", "deaths"}
	case "x-settings":
		return []string{"hostip", "rulename", "rulevalue"}
	case "x-teams":
		return []string{"hostip", "x-teamname", "x-teamscore"}
	case "x-games":
		return []string{"x-gamename", "x-gametitle", "x-gameservers", "x-gameplayers"}
	default:
		return nil
	}
}

var (
	errTwoTables = errors.New("columns of these two tables do not go together")
	errProcedure = errors.New("no such procedure")
)

// newPlan finds the columns of a query. trusted: the client may see private
// ones. The error is for the client.
func (s *Server) newPlan(q *wire.Query, snap *snapshot, trusted bool, now time.Time) (*plan, error) {
	p := &plan{asked: q.Fields, query: q}
	if q.Verb == wire.Procedure {
		if p.asked = wire.ProcedureFields(q.Name); p.asked == nil {
			p.asked = ownProcedure(q.Name)
		}
		if p.asked == nil {
			return nil, errProcedure
		}
	}
	p.there = make([]bool, len(p.asked))
	p.cols = make([]*column, 0, len(p.asked))
	p.tests = make([]test, 0, len(q.Where))
	for i, name := range p.asked {
		col, ok := s.column(name, snap, trusted)
		if !ok {
			continue
		}
		if err := p.join(col); err != nil {
			return nil, err
		}
		p.there[i] = true
		p.cols = append(p.cols, col)
	}
	if len(p.cols) == 0 {
		return p, nil // there is nothing to choose from
	}
	for _, c := range q.Where {
		col, ok := s.column(c.Column, snap, trusted)
		if !ok {
			return nil, fmt.Errorf("no column %.40q to compare", c.Column)
		}
		if err := p.join(col); err != nil {
			return nil, err
		}
		t, err := newTest(c, col, now)
		if err != nil {
			return nil, err
		}
		p.tests = append(p.tests, t)
	}
	return p, nil
}

// column finds a column that the client may see. Names are in lower case.
func (s *Server) column(name string, snap *snapshot, trusted bool) (*column, bool) {
	if i, ok := s.fixed[alias(name)]; ok {
		col := &s.columns[i]
		return col, trusted || !col.private
	}
	col, ok := reportedColumn(name)
	return &col, ok && (trusted || !col.private) && snap.has(&col)
}

// join adds the table of a column to those of the rows.
func (p *plan) join(col *column) error {
	switch {
	case p.from == "", p.from == col.table, p.from == infoTable && col.table != gamesTable:
		p.from = col.table
	case col.table == infoTable && p.from != gamesTable:
	default:
		return errTwoTables
	}
	return nil
}

func (p *plan) uses(name string) bool {
	return slices.ContainsFunc(p.cols, func(c *column) bool { return c.name == name }) ||
		slices.ContainsFunc(p.tests, func(t test) bool { return t.col.name == name })
}

// searchWork is the cost of reading and searching a list, in bytes of an
// answer: 7,500 for 10,000 servers without a comparison. A search that finds
// nothing has it as well.
func searchWork(servers, comparisons int) int { return servers * (comparisons + 3) / 4 }

// moreWork is the additional cost of the plan, because servers have several
// players or rules.
func (p *plan) moreWork(snap *snapshot) int {
	if p.from == infoTable || p.from == gamesTable {
		return 0
	}
	return searchWork(len(snap.rows), len(p.tests)) * (rowsPerServer - 1)
}

// rowsPerServer is the approximate number of players or rules of a server.
const rowsPerServer = 8
