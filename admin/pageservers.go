package admin

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// serversView is the data of the page of servers.
type serversView struct {
	Game, Query string
	Rows        []serverRow
	Found       int
	Next        string // link; empty: this is the last page
	Kept        operator.Kept
	Protocols   []string
}

// State returns the state of an added server: whether it answers, and why it is
// not in the list.
func (v serversView) State(address string) string {
	a, known := v.Kept.Of(address)
	switch {
	case !known:
		return ""
	case a.Why != "":
		return show(a.Why)
	case a.Answers:
		return "yes"
	default:
		return "no"
	}
}

// serverRow is a server of the list, or one kept out of it.
type serverRow struct {
	operator.Listed
	Concealed bool // the operator hid it
}

func (s *Server) serversPage(r *http.Request) (view, error) {
	q := r.URL.Query()
	v := serversView{Game: strings.TrimSpace(q.Get("game")), Query: strings.TrimSpace(q.Get("q")), Protocols: s.opt.Protocols}
	list, err := operator.ListServers.Call(r.Context(), s.opt.Operator, operator.ServerQuery{Game: v.Game})
	if err != nil {
		return view{}, err
	}
	if v.Kept, err = operator.ListKept.Call(r.Context(), s.opt.Operator, operator.None{}); err != nil {
		return view{}, err
	}
	if v.Query != "" {
		part := storage.Fold(v.Query)
		list = slices.DeleteFunc(list, func(l operator.Listed) bool {
			return !strings.Contains(storage.Fold(l.Name), part) && !strings.Contains(l.Address.String(), part) && !strings.Contains(l.Source.String(), part)
		})
	}
	hidden := make(map[netip.AddrPort]bool, len(v.Kept.Hidden))
	for _, h := range v.Kept.Hidden {
		hidden[h.Address] = true
	}
	v.Found = len(list)
	if list, v.Next, err = onePage(r, list); err != nil {
		return view{}, err
	}
	for _, l := range list {
		v.Rows = append(v.Rows, serverRow{l, hidden[l.Address]})
	}
	return view{"servers", "Servers", v}, nil
}

// formAddress reads the public address of a server.
func formAddress(r *http.Request) (netip.AddrPort, error) {
	a, err := netip.ParseAddrPort(strings.TrimSpace(r.PostFormValue("address")))
	if err != nil || a.Port() == 0 {
		return a, fmt.Errorf("%w: the address is not one such as 192.0.2.1:27015", operator.ErrBadRequest)
	}
	return a, nil
}

func (s *Server) serverAddForm(r *http.Request) (done, to string, err error) {
	a := operator.NewServer{
		Address: strings.TrimSpace(r.PostFormValue("address")), Protocol: r.PostFormValue("protocol"),
		Game: strings.ToLower(strings.TrimSpace(r.PostFormValue("game"))), By: pageBy(r), Added: time.Now(),
	}
	return fmt.Sprintf("%s is asked from now on, and listed as soon as it answers.", a.Address), "", operator.AddServer.Exec(r.Context(), s.opt.Operator, a)
}

func (s *Server) serverRemoveForm(r *http.Request) (done, to string, err error) {
	address := strings.TrimSpace(r.PostFormValue("address"))
	what, err := operator.RemoveServer.Call(r.Context(), s.opt.Operator, operator.ServerRef{Address: address})
	done = address + " is off the list. If it reports by itself, it comes back with its next report."
	if what.Forgotten {
		done = address + " is forgotten."
	}
	return done, "", err
}

func (s *Server) serverHideForm(r *http.Request) (done, to string, err error) {
	a, err := formAddress(r)
	if err != nil {
		return "", "", err
	}
	h := storage.HiddenServer{Address: a, Reason: strings.TrimSpace(r.PostFormValue("reason")), By: pageBy(r), Added: time.Now()}
	return fmt.Sprintf("%s is hidden.", a), "", operator.HideServer.Exec(r.Context(), s.opt.Operator, operator.NewHidden(h))
}

func (s *Server) serverUnhideForm(r *http.Request) (done, to string, err error) {
	a, err := formAddress(r)
	if err != nil {
		return "", "", err
	}
	return fmt.Sprintf("%s is no longer hidden.", a), "", operator.UnhideServer.Exec(r.Context(), s.opt.Operator, operator.HiddenRef{Address: a})
}

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
