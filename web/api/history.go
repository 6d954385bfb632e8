package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/respawnd/respawnd/internal/history"
	"github.com/respawnd/respawnd/master"

	"github.com/respawnd/respawnd/web/front"
)

// sample writes the numbers of players into the history until ctx ends.
func (s *API) sample(ctx context.Context) {
	for {
		s.sampleNow(time.Now())
		wait := time.NewTimer(time.Until(time.Now().Truncate(history.Interval).Add(history.Interval)))
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
		}
	}
}

// sampleNow takes one sample of all servers.
func (s *API) sampleNow(now time.Time) {
	round := s.opt.History.Begin(now)
	for _, r := range s.lister.now().Rows {
		round.Add(r.HistoryKey(), r.Count)
	}
	if servers, refused := s.opt.History.Len(); refused > 0 {
		s.Log().Warn().Int("servers", servers).Int("without", refused).Msg("the history of players is full")
	}
}

// HistoryKey returns the name of the server in the history.
func (r *Row) HistoryKey() history.Key { return history.Key{Origin: r.Origin, Public: r.Public} }

// serveHistory answers /api/v1/servers/{id}/history.
func (s *API) serveHistory(w http.ResponseWriter, r *http.Request) {
	if _, err := parseParams(r.URL.RawQuery); err != nil {
		s.refuse(w, err)
		return
	}
	origin, public, ok := master.ParseID(r.PathValue("id"))
	if server, listed := s.findServer(r.PathValue("id"), s.Asker(r)); listed {
		public = server.Public
	}
	if !ok || s.opt.List.IsHidden(public) { // its history is hidden too
		noSuchServer(w)
		return
	}
	series, remembered := s.opt.History.Of(history.Key{Origin: origin, Public: public})
	if server, listed := s.opt.List.Find(public); !remembered && (!listed || server.Origin != origin) {
		noSuchServer(w)
		return
	}
	body := appendSeries(nil, string(master.AppendID(nil, origin, public)), series)
	if !front.NotModified(w, r, "W/"+front.ContentTag(body)) {
		s.Send(w, r, front.JSON, front.NewAnswer(body))
	}
}

// appendSeries writes a history. Samples of times at which the server was not
// listed are null.
func appendSeries(b []byte, id string, h history.Series) []byte {
	b = append(b, `{"id":"`...)
	b = append(b, id...)
	b = append(b, `","interval_seconds":`...)
	b = strconv.AppendInt(b, int64(history.Interval/time.Second), 10)
	b = append(b, `,"first":`...)
	if len(h.Players) == 0 {
		b = append(b, "null"...)
	} else {
		b = append(b, '"')
		b = h.First.AppendFormat(b, time.RFC3339)
		b = append(b, '"')
	}
	b = append(b, `,"players":[`...)
	for i, n := range h.Players {
		if i > 0 {
			b = append(b, ',')
		}
		if n == history.Away {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendInt(b, int64(n), 10)
		}
	}
	return append(b, "]}\n"...)
}
