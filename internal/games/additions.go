package games

import "fmt"

// Addition is the part of an imported record that a catalogue lacks.
type Addition struct {
	// Record is for a higher layer. For a game of the catalogue it states only the added fields.
	Record Game
	// New reports that the catalogue does not have the game.
	New bool
	// Fields are the fields that are added, none if the record says nothing new.
	Fields []string
	// Differ are fields that stay as the catalogue has them.
	Differ []Difference
	// LeftOut are reasons why parts of the record are not added.
	LeftOut []string
}

// Addition returns the part of a record of an imported list that the catalogue lacks. Of a game
// that the catalogue lacks that is the whole record. For an
// existing game only new secrets are added, after the known ones, and an id or a
// title if none is known: such lists are older and shorten long secrets, so they
// must not determine the preferred secret. Secrets beyond MaxSecrets are left out.
func (c *Catalog) Addition(g Game) (a Addition) {
	known, ok := c.Lookup(g.Name)
	if !ok {
		return Addition{Record: g, New: true}
	}
	a.Record = Game{Name: known.Name, Source: g.Source}
	if known.Title == "" && g.Title != "" {
		a.Record.Title = g.Title
		a.Fields = append(a.Fields, "title")
	}
	if known.ID == 0 && g.ID != 0 {
		a.Record.ID = g.ID
		a.Fields = append(a.Fields, "id")
	}
	all := union(known.Secrets, g.Secrets)
	if n := len(all) - MaxSecrets; n > 0 {
		a.LeftOut = append(a.LeftOut, fmt.Sprintf("%s: a game has at most %d", counted(n, "secrets"), MaxSecrets))
		all = all[:MaxSecrets]
	}
	if len(all) > len(known.Secrets) {
		a.Record.Secrets = all
		a.Fields = append(a.Fields, "secrets")
	}
	g.Secrets = nil // a secret more is no difference
	a.Differ = known.overlay(a.Record).Differences(g)
	return a
}
