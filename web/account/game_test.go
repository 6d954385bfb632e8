package account

import (
	"net/http"
	"testing"

	"github.com/respawnd/respawnd/internal/games"
)

func TestRegister_game(t *testing.T) {
	f := newFixture(t, func(o *Options) {
		o.Games, _ = games.NewCatalog([]games.Game{{Name: "battlefield2", Facts: games.Facts{Namespace: 12}}})
	})
	b := f.browser(near)
	b.get("/account/register")
	w := b.send("/account/register", "email", "a@example.org", "nick", "A", "uniquenick", "soldier", "game", "BattleField2", "new", "secret", "repeat", "secret")
	if w.Code != http.StatusSeeOther {
		t.Fatalf("registering: got %d: %s", w.Code, problemIn(b.page))
	}
	if _, _, err := f.service.Profiles.ByUniqueNick(t.Context(), 12, "soldier"); err != nil {
		t.Errorf("the unique nick in the game's namespace: %v", err)
	}
}
