package web

import (
	"encoding/json"
	"html"
	"testing"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/web/webtest"
)

// TestWordsOfGames checks that the page and the API say of each copy of every built-in game what
// games.Outlook says, which commands print.
func TestWordsOfGames(t *testing.T) {
	f := newFixture(t)
	all, err := operator.ReadGames("")
	if err != nil {
		t.Fatal(err)
	}
	f.Catalog.Take(all)
	type details struct {
		State    games.Word `json:"state"`
		Editions []struct {
			State games.Word `json:"state"`
			Words string     `json:"words"`
		} `json:"editions"`
	}
	pages := 0
	for _, g := range all.All() {
		if len(g.Editions) == 0 || !g.Offered(webtest.Served) {
			continue
		}
		pages++
		page := html.UnescapeString(f.Page("/games/" + g.Name))
		var d details
		if err := json.Unmarshal(f.Get("/api/v1/games/"+g.Name).Body.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		if want := g.Outlook(webtest.Served, nil).Word; d.State != want {
			t.Errorf("%s: the API says %s, want %s", g.Name, d.State, want)
		}
		for i, o := range g.Outlooks(webtest.Served, nil) {
			if o.Word != games.NotKnown || len(g.Editions) > 1 {
				webtest.WantParts(t, g.Name, page, o.String())
			}
			if d.Editions[i].State != o.Word || d.Editions[i].Words != o.String() {
				t.Errorf("%s: the API says %+v of an edition, want %s", g.Name, d.Editions[i], o)
			}
		}
		if g.Platform() != "" {
			webtest.WantParts(t, g.Name, page, g.Platform().Sentence())
			webtest.WantNoParts(t, g.Name, page, "hosts file", "Script for Windows")
		}
	}
	webtest.WantParts(t, "settings", html.UnescapeString(f.Page("/games/ut2004?ip=192.0.2.7")), `MasterServerList=(Address="192.0.2.7",Port=28902)`)
	if pages < 200 {
		t.Errorf("%d pages", pages)
	}
}
