package admin

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// Messages that games show at their start.
var (
	getMotds    = newGetter("motd", "messages of the day of games", operator.Operator.Motds)
	setMotd     = newEndpoint("PUT", "motd", "set the message of the day of a game at once: game, text, by", jsonBody, answering(done{1}, operator.Operator.SetMotd))
	clearMotd   = newEndpoint("DELETE", "motd", "remove the message of the day of a game: ?game=", gameParam, answering(removed{1}, operator.Operator.ClearMotd))
	getPatches  = newGetter("patches", "patches, and the versions of games that asked for them", operator.Operator.Patches)
	addPatch    = newEndpoint("PUT", "patches", "announce a patch at once: product, version, name, file, url, lockout, by", jsonBody, answering(done{1}, operator.Operator.AddPatch))
	removePatch = newEndpoint("DELETE", "patches", "withdraw a patch: ?product=, ?version=", patchID, answering(removed{1}, operator.Operator.RemovePatch))
)

func patchID(p *params, id *storage.PatchID) {
	number(p, "product", &id.Product)
	p.text("version", &id.Version)
}

func (c *client) Motds(ctx context.Context) ([]storage.Motd, error) {
	return getMotds.call(ctx, c, none{})
}

func (c *client) SetMotd(ctx context.Context, m storage.Motd) error { return setMotd.exec(ctx, c, m) }

func (c *client) ClearMotd(ctx context.Context, game string) error {
	return clearMotd.exec(ctx, c, game)
}

func (c *client) Patches(ctx context.Context) (operator.PatchList, error) {
	return getPatches.call(ctx, c, none{})
}

func (c *client) AddPatch(ctx context.Context, p storage.Patch) error {
	return addPatch.exec(ctx, c, p)
}

func (c *client) RemovePatch(ctx context.Context, id storage.PatchID) error {
	return removePatch.exec(ctx, c, id)
}

// newsView is the data of the page of news.
type newsView struct {
	Motds []storage.Motd
	operator.PatchList
}

func (s *Server) newsPage(r *http.Request) (view, error) {
	motds, err := s.opt.Operator.Motds(r.Context())
	if err != nil {
		return view{}, err
	}
	patches, err := s.opt.Operator.Patches(r.Context())
	patches.Versions = patches.Versions[:min(len(patches.Versions), pageRows)]
	return view{"news", "Messages of the day and patches", newsView{motds, patches}}, err
}

func (s *Server) motdSetForm(r *http.Request) (done, to string, err error) {
	m := storage.Motd{
		Game: strings.ToLower(strings.TrimSpace(r.PostFormValue("game"))), Text: strings.TrimSpace(r.PostFormValue("text")), By: pageBy(r),
	}
	return fmt.Sprintf("The message of the day of %s is set.", m.Game), "", s.opt.Operator.SetMotd(r.Context(), m)
}

func (s *Server) motdClearForm(r *http.Request) (done, to string, err error) {
	game := r.PostFormValue("game")
	return fmt.Sprintf("The message of the day of %s is removed.", game), "", s.opt.Operator.ClearMotd(r.Context(), game)
}

// formPatch reads the version that a patch is for.
func formPatch(r *http.Request) (id storage.PatchID, err error) {
	product, err := formNumber(r, "product", 1<<31-1)
	return storage.PatchID{Product: int(product), Version: r.PostFormValue("version")}, err
}

func (s *Server) patchAddForm(r *http.Request) (done, to string, err error) {
	p := storage.Patch{Name: strings.TrimSpace(r.PostFormValue("name")), URL: strings.TrimSpace(r.PostFormValue("url")), Lockout: r.PostFormValue("lockout") != "", By: pageBy(r)}
	if p.PatchID, err = formPatch(r); err != nil {
		return "", "", err
	}
	if r.PostFormValue("file") != "" {
		file, err := formNumber(r, "file", 1<<31-1)
		if err != nil {
			return "", "", err
		}
		p.File = int(file)
	}
	return fmt.Sprintf("%s is announced to games of version %s.", p.Name, p.Version), "", s.opt.Operator.AddPatch(r.Context(), p)
}

func (s *Server) patchRemoveForm(r *http.Request) (done, to string, err error) {
	id, err := formPatch(r)
	if err != nil {
		return "", "", err
	}
	return fmt.Sprintf("The patch for version %s is withdrawn.", id.Version), "", s.opt.Operator.RemovePatch(r.Context(), id)
}
