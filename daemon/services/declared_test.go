package services

import (
	"slices"
	"testing"

	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/operator"
)

// A recording of a game has more than lengths, whichever service the game speaks to.
func TestServicesOfGamesDeclareTheirSecrets(t *testing.T) {
	for _, e := range daemon.List(&Config{}) {
		if len(e.Plays) > 0 && e.Dialogue.Blot == nil {
			t.Errorf("%s does not declare what is secret in its messages", e.Name)
		}
	}
}

// Built-in records are not checked when a catalogue is made: the services that they name exist.
func TestServicesOfGamesAreDeclared(t *testing.T) {
	layers, err := operator.BuiltIn().Layers()
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[games.Service]bool)
	for _, g := range slices.Concat(layers...) {
		for _, s := range slices.Concat(g.Needs, g.Uses) {
			seen[s] = true
		}
		for _, h := range g.Hosts {
			seen[h.Service] = h.Service != ""
		}
	}
	for s, named := range seen {
		if named && s.Words() == string(s) {
			t.Errorf("no package declares %s", s)
		}
	}
	if len(seen) < 20 {
		t.Errorf("games name %d services, want 20 or more", len(seen))
	}
}
