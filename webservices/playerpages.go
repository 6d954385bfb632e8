package webservices

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/webservices/bfhq"
)

// checkPlayerPages asks for pages of a game's players as the game does, if a game of the
// catalogue has them: one that needs no player, and that of a player who does not exist.
func checkPlayerPages(ctx context.Context, t *service.Trial) error {
	ctx, cancel := context.WithTimeout(ctx, service.StepTimeout)
	defer cancel()
	info, there, err := playerPage(ctx, t, "getbackendinfo.aspx")
	if err != nil {
		return err
	}
	if !there {
		t.Remark("no game has pages of its players")
		return nil
	}
	if _, ok := info.Value("name"); info.Failed || !ok {
		return fmt.Errorf("the page of weapons is %.60q", info.AppendTo(nil))
	}
	rank, _, err := playerPage(ctx, t, "getrankinfo.aspx?pid=2147483647")
	if err != nil {
		return err
	}
	if !rank.Failed {
		return fmt.Errorf("a player who does not exist has the page %.60q", rank.AppendTo(nil))
	}
	return nil
}

// playerPage requests a page. there is false if no game has it.
func playerPage(ctx context.Context, t *service.Trial, file string) (a bfhq.Answer, there bool, err error) {
	answer, err := openPage(ctx, t.Address(name), "bf2web."+t.Domain, "/ASP/"+file)
	if err != nil {
		return a, false, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode == http.StatusNotFound {
		return a, false, nil
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 16<<10))
	if err != nil {
		return a, true, err
	}
	if a, err = bfhq.ParseAnswer(string(text)); err != nil {
		return a, true, fmt.Errorf("%s: status %d: %w: %.60q", file, answer.StatusCode, err, text)
	}
	return a, true, nil
}
