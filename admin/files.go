package admin

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// filesView is the data of the page of files.
type filesView struct {
	Game string
	Rows []storage.File
	Next string // link; empty: this is the last page
}

func (s *Server) filesPage(r *http.Request) (view, error) {
	q, err := operator.FromURL[operator.FileQuery](r)
	if err != nil {
		return view{}, err
	}
	q.Game = strings.ToLower(strings.TrimSpace(q.Game))
	v := filesView{Game: q.Game}
	if v.Rows, err = operator.ListFiles.Call(r.Context(), s.opt.Operator, q); err != nil {
		return view{}, err
	}
	if len(v.Rows) > pageRows {
		v.Rows = v.Rows[:pageRows]
		next := r.URL.Query()
		next.Set("after", strconv.FormatUint(uint64(v.Rows[pageRows-1].ID), 10))
		v.Next = "/files?" + next.Encode()
	}
	return view{"files", "Files of players", v}, nil
}

func (s *Server) contentPage(w http.ResponseWriter, r *http.Request, v *visit) {
	ref, err := operator.FromURL[operator.FileRef](r)
	if err == nil {
		err = operator.GetFile.Exec(r.Context(), s.opt.Operator, ref)
	}
	if err != nil {
		s.showError(w, r, err, v)
		return
	}
	s.send(w, r, &operator.ReadFile.Operation, ref)
}

func (s *Server) fileDeleteForm(r *http.Request) (done, to string, err error) {
	id, err := formNumber(r, "id", storage.MaxAccountID)
	if err != nil {
		return "", "", err
	}
	return "File " + strconv.FormatUint(id, 10) + " is deleted.", "", operator.DeleteFile.Exec(r.Context(), s.opt.Operator, operator.FileRef{ID: storage.FileID(id)})
}
