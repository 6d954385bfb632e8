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

// Addition returns the part of a record, usually an imported one, that the catalogue lacks. A
// game that the catalogue lacks is added, without rooms whose ids are taken. For an
// existing game only new secrets are added, after the known ones, and an id or a
// title if none is known: such lists are older and shorten long secrets, so they
// must not determine the preferred secret. Secrets beyond MaxSecrets are left out.
func (c *Catalog) Addition(g Game) (a Addition) {
	known, ok := c.Lookup(g.Name)
	if !ok {
		a.Record, a.New = g.clone(), true
		a.Record.Rooms = nil
		for _, r := range g.Rooms {
			if _, other, taken := c.Room(r.ID); taken {
				a.LeftOut = append(a.LeftOut, fmt.Sprintf("room %d: the id belongs to a room of game %q", r.ID, other.Name))
				continue
			}
			a.Record.Rooms = append(a.Record.Rooms, r)
		}
		return a
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
		a.LeftOut = append(a.LeftOut, fmt.Sprintf("%s: a game has at most %d", counted(n, "secret"), MaxSecrets))
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
