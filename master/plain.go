package master

import "math"

// Grid is a table of players or teams as plain values: each row has one value
// per column.
type Grid struct {
	Columns []string
	Rows    [][]string
}

// maxGridRows is the maximum number of rows of a Grid that a record holds.
const maxGridRows = 256

// Fill replaces the content of the report. Names are shared through reg. Rules
// beyond MaxNames are left out, and so are rules and rows for which a record
// has no room after the earlier ones. The first of equal names counts. names
// and values, of equal length, are overwritten.
func (r *Report) Fill(reg *Registry, names, values []string, players, teams Grid) {
	r.Reset()
	n, room := 0, math.MaxUint16
	for i, value := range values[:min(len(values), MaxNames)] {
		if len(value) <= room {
			room -= len(value)
			names[n], values[n] = names[i], value
			n++
		}
	}
	shared := reg.Names(names[:n])
	for i, value := range values[:n] {
		if _, slot := shared.ReportedName(i); slot >= 0 {
			r.Rule([]byte(value))
		}
	}
	r.SetRules(shared)
	r.SetPlayers(players.fill(reg, r.Player))
	r.SetTeams(teams.fill(reg, r.Team))
}

// fill adds the values of the rows that fit and returns their columns and number.
func (g Grid) fill(reg *Registry, add func([]byte)) (names *Names, rows int) {
	if names = reg.Names(g.Columns); names.Len() == 0 {
		return nil, 0
	}
	room := math.MaxUint16
	for n, row := range g.Rows {
		for _, value := range row {
			room -= len(value)
		}
		if room < 0 || n == maxGridRows {
			return names, n
		}
		for i, value := range row {
			if _, slot := names.ReportedName(i); slot >= 0 {
				add([]byte(value))
			}
		}
	}
	return names, len(g.Rows)
}
