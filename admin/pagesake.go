package admin

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// errTableNotConfirmed reports that the deletion of a table was not confirmed.
var errTableNotConfirmed = errors.New("type the name of the table to delete it")

// tableDeleteForm deletes a table of records of a game once its name was typed, or one of
// its records.
func (s *Server) tableDeleteForm(r *http.Request) (done, to string, err error) {
	t := operator.SakeTarget{Game: strings.ToLower(r.PathValue("name")), Table: r.PostFormValue("table")}
	if r.PostForm.Has("id") {
		id, err := formNumber(r, "id", storage.MaxSakeID)
		if err != nil {
			return "", "", err
		}
		t.ID = uint32(id)
	} else if t.Table == "" || !strings.EqualFold(strings.TrimSpace(r.PostFormValue("confirm")), t.Table) {
		return "", "", fmt.Errorf("%w: %w", operator.ErrBadRequest, errTableNotConfirmed)
	}
	n, err := operator.DeleteSake.Call(r.Context(), s.opt.Operator, t)
	return fmt.Sprintf("Deleted from table %s: %s.", t.Table, many(n.Removed, "record", "records")), pageOfGame(t.Game), err
}
