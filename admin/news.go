package admin

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// newsView is the data of the page of news.
type newsView struct {
	Motds []storage.Motd
	operator.PatchList
}

func (s *Server) newsPage(r *http.Request) (view, error) {
	motds, err := operator.ListMotds.Call(r.Context(), s.opt.Operator, operator.None{})
	if err != nil {
		return view{}, err
	}
	patches, err := operator.ListPatches.Call(r.Context(), s.opt.Operator, operator.None{})
	patches.Versions = patches.Versions[:min(len(patches.Versions), pageRows)]
	return view{"news", "Messages of the day and patches", newsView{motds, patches}}, err
}

func (s *Server) motdSetForm(r *http.Request) (done, to string, err error) {
	m := operator.NewMotd{
		Game: strings.ToLower(strings.TrimSpace(r.PostFormValue("game"))), Text: strings.TrimSpace(r.PostFormValue("text")), By: pageBy(r),
	}
	return fmt.Sprintf("The message of the day of %s is set.", m.Game), "", operator.SetMotd.Exec(r.Context(), s.opt.Operator, m)
}

func (s *Server) motdClearForm(r *http.Request) (done, to string, err error) {
	game := r.PostFormValue("game")
	return fmt.Sprintf("The message of the day of %s is removed.", game), "", operator.ClearMotd.Exec(r.Context(), s.opt.Operator, operator.MotdRef{Game: game})
}

func formPatch(r *http.Request) (id storage.PatchID, err error) {
	product, err := formNumber(r, "product", 1<<31-1)
	return storage.PatchID{Product: int(product), Version: r.PostFormValue("version")}, err
}

func (s *Server) patchAddForm(r *http.Request) (done, to string, err error) {
	p := operator.NewPatch{Name: strings.TrimSpace(r.PostFormValue("name")), URL: strings.TrimSpace(r.PostFormValue("url")), Lockout: r.PostFormValue("lockout") != "", By: pageBy(r)}
	id, err := formPatch(r)
	if err != nil {
		return "", "", err
	}
	p.Product, p.Version = id.Product, id.Version
	if r.PostFormValue("file") != "" {
		file, err := formNumber(r, "file", 1<<31-1)
		if err != nil {
			return "", "", err
		}
		p.File = int(file)
	}
	return fmt.Sprintf("%s is announced to games of version %s.", p.Name, p.Version), "", operator.AddPatch.Exec(r.Context(), s.opt.Operator, p)
}

func (s *Server) patchRemoveForm(r *http.Request) (done, to string, err error) {
	id, err := formPatch(r)
	if err != nil {
		return "", "", err
	}
	return fmt.Sprintf("The patch for version %s is withdrawn.", id.Version), "", operator.RemovePatch.Exec(r.Context(), s.opt.Operator, operator.PatchRef(id))
}
