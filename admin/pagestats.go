package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// maxBlocksShown is how many blocks of a profile its page has.
const maxBlocksShown = 200

// playerStats returns the stored data of the profiles of an account, those without
// anything left out.
func (s *Server) playerStats(ctx context.Context, a *accounts.Account) (list []operator.PlayerStats, err error) {
	for _, p := range a.Profiles {
		of, err := operator.GetPlayerStats.Call(ctx, s.opt.Operator, operator.ProfileRef{ID: p.Profile.ID})
		switch {
		case errors.Is(err, storage.ErrNotFound): // deleted meanwhile
		case err != nil:
			return nil, err
		case len(of.Blocks)+len(of.Scores) > 0:
			of.Blocks = of.Blocks[:min(len(of.Blocks), maxBlocksShown)]
			list = append(list, of)
		}
	}
	return list, nil
}

// statsDeleteForm deletes a block, or all statistics, of a profile of an account.
func (s *Server) statsDeleteForm(r *http.Request) (done, to string, err error) {
	v, err := s.readAccount(r)
	if err != nil {
		return "", "", err
	}
	q, err := statsOfForm(r, &v.Account)
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", operator.ErrBadRequest, err)
	}
	n, err := operator.DeleteStats.Call(r.Context(), s.opt.Operator, q)
	return fmt.Sprintf("Deleted from profile %d: %d of its data and scores.", q.Profile, n.Removed), pageOfAccount(v.Account.ID), err
}

// errNotOfAccount reports that a form names a profile of another account.
var errNotOfAccount = errors.New("the profile is not one of this account")

// statsOfForm returns the statistics that a form selects.
func statsOfForm(r *http.Request, a *accounts.Account) (q operator.StatsSelection, err error) {
	number := func(name string, bits int) (n int64) {
		text := strings.TrimSpace(r.PostFormValue(name))
		if err == nil {
			if n, err = strconv.ParseInt(text, 10, bits); err != nil {
				err = fmt.Errorf("%s is not a number", name)
			}
		}
		return n
	}
	q.Profile = storage.ProfileID(number("profile", 32))
	if q.Game = r.PostFormValue("game"); q.Game != "" {
		kind, index := storage.StatKind(number("kind", 8)), int32(number("index", 32))
		if err == nil && index < 0 {
			err = errors.New("index is not a number from 0 to 2147483647")
		}
		q.Kind, q.Index = &kind, &index
	}
	for i := range a.Profiles {
		if a.Profiles[i].Profile.ID == q.Profile {
			return q, err
		}
	}
	return q, errors.Join(err, errNotOfAccount)
}

// kindWords returns a kind of block in words.
func kindWords(k storage.StatKind) string {
	words := "public"
	if k.Private() {
		words = "private"
	}
	if k.ReadOnly() {
		words += ", read-only"
	}
	return words
}

// serverWords returns the address of the server of a report.
func serverWords(a netip.AddrPort) string {
	if !a.IsValid() {
		return "unknown"
	}
	return a.String()
}

// scoreText returns a score without exponent.
func scoreText(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

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
