package admin

import (
	"net/http"
	"time"

	"github.com/respawnd/respawnd/operator"
)

// masterRow is another master that is read.
type masterRow struct {
	operator.OtherMaster
	Wait string // time to the next reading; empty: none
}

func (s *Server) mastersPage(r *http.Request) (view, error) {
	list, err := operator.ListMasters.Call(r.Context(), s.opt.Operator, operator.None{})
	rows := make([]masterRow, len(list))
	for i, m := range list {
		rows[i].OtherMaster = m
		if wait := time.Until(m.Next); !m.Next.IsZero() && wait > 0 {
			rows[i].Wait = "in " + wait.Round(time.Second).String()
		}
	}
	return view{"federation", "Other masters", rows}, err
}
