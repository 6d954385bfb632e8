package api

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/respawnd/respawnd/master"

	"github.com/respawnd/respawnd/web/front"
)

// statsJSON is the answer of /api/v1/stats.
type statsJSON struct {
	Version string         `json:"version"`
	Started time.Time      `json:"started"`
	Uptime  int64          `json:"uptime_seconds"`
	Servers int            `json:"servers"`
	Players int            `json:"players"`
	Streams int            `json:"event_streams"`
	Games   []gameTotals   `json:"games"`
	Origins []originTotals `json:"origins"`
}

type gameTotals struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Servers int    `json:"servers"`
	Players int    `json:"players"`
}

type originTotals struct {
	Origin  string `json:"origin"`
	Servers int    `json:"servers"`
	Players int    `json:"players"`
}

type statsQuestion struct{}

// serveStats answers /api/v1/stats.
func (s *API) serveStats(w http.ResponseWriter, r *http.Request, _ Params) error {
	list := s.lister.now()
	s.ReplyTagged(w, r, front.JSON, &list.Answers, statsQuestion{}, func() []byte { return encodeJSON(s.stats(list, time.Now())) })
	return nil
}

func (s *API) stats(list *Snapshot, now time.Time) statsJSON {
	out := statsJSON{
		Version: s.opt.Version, Started: s.opt.Started.UTC().Truncate(time.Second), Uptime: int64(now.Sub(s.opt.Started) / time.Second),
		Servers: len(list.Rows), Players: list.Players, Streams: s.feed.len(),
		Games: []gameTotals{}, Origins: []originTotals{},
	}
	for _, g := range list.Games {
		out.Games = append(out.Games, gameTotals{g.Name, g.Title, g.Servers(), g.Players})
	}
	totals := make(map[*master.Origin]originTotals)
	for _, r := range list.Rows {
		t := totals[r.Origin]
		totals[r.Origin] = originTotals{r.Origin.Name, t.Servers + 1, t.Players + r.Count}
	}
	for _, o := range slices.SortedFunc(maps.Keys(totals), func(a, b *master.Origin) int {
		return cmp.Or(cmp.Compare(a.Number-1, b.Number-1), cmp.Compare(a.Name, b.Name)) // those without a number last
	}) {
		out.Origins = append(out.Origins, totals[o])
	}
	return out
}
