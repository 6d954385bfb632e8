package competition

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/fault"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/query"
	"github.com/respawnd/respawnd/webservices/soap"
)

// ladder is the page on which a game of EA reads the ratings of its player. Its entries are
// number, value, rank and rating, each with a comma behind.
type ladder struct {
	host, path, game string
	fixed            []int // numbers of entries that every player has
	entries          []entry
}

// entry is an entry with the rating on a board.
type entry struct {
	id, value int
	board     string
}

// ladders are the pages as kirov-server-emulator has them. What the fixed entries and the values mean is
// not known.
var ladders = []ladder{
	{
		"redalert3services.{d}", "/GetPlayerLadderRatings.aspx", "redalert3pc",
		[]int{72587, 72743, 75643, 75677, 75679, 75680, 75681, 75682, 75683, 75684, 75685, 75686},
		[]entry{{58938, 32034, "ranked-1v1"}, {58940, 1088, "ranked-1v1"}},
	},
	{"psweb.{d}", "/CC3Services/GetPlayerLadderRatings.aspx", "cc3tibwars", nil, []entry{{43738, 31146, "ranked-1v1"}, {43783, 33248, "ranked-2v2"}}},
	{"psweb.{d}", "/KWServices/KWGetPlayerLadderRatings.aspx", "cc3xp1", nil, []entry{{52177, 15359, "ranked-1v1"}, {52178, 6882, "ranked-2v2"}}},
}

// Pages returns the pages of ladders, of icons and of clans.
func (backend *Backend) Pages() (all []soap.Page) {
	for i := range ladders {
		l := &ladders[i]
		all = append(all, soap.Page{Name: "competition." + l.game, Hosts: []string{l.host}, Path: l.path, Serve: backend.ladderPage(l)})
	}
	return append(append(all, backend.iconPages()...), backend.clanPage())
}

// ladderPage returns the handler of a page. A request names its player by a login ticket;
// without a valid one the ratings are those of a player without matches.
func (backend *Backend) ladderPage(l *ladder) func(http.ResponseWriter, *http.Request, *soap.Request) {
	return func(w http.ResponseWriter, r *http.Request, _ *soap.Request) {
		var who storage.ProfileID
		if ticket, _ := query.Get(r.URL.RawQuery, "gp"); ticket != "" && backend.opt.Ticket != nil {
			who, _ = backend.opt.Ticket(ticket) // 0 for one that is not valid
		}
		var b strings.Builder
		for _, id := range l.fixed {
			fmt.Fprintf(&b, "%d,1,-1,-1,", id)
		}
		for _, e := range l.entries {
			rating := float64(firstRating)
			if who != 0 {
				s, err := backend.opt.Store.RankOf(r.Context(), storage.ScoreID{Game: l.game, Board: e.board, Profile: who})
				if err == nil {
					rating = s.Value
				} else if !errors.Is(err, storage.ErrNotFound) {
					fault.Log(backend.opt.Log, err).Err(err).Msg("a rating cannot be read")
					http.Error(w, http.StatusText(http.StatusServiceUnavailable), http.StatusServiceUnavailable)
					return
				}
			}
			fmt.Fprintf(&b, "%d,%d,-1,%d,", e.id, e.value, int(rating))
		}
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
		_, _ = w.Write([]byte(b.String())) // if it fails, the client is gone
	}
}
