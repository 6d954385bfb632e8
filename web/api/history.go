package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/history"
	"github.com/respawnd/respawnd/master"

	"github.com/respawnd/respawnd/web/front"
)

// sample writes the numbers of players into the history until ctx ends.
func (s *API) sample(ctx context.Context) {
	for ok := true; ok; ok = clock.Pause(ctx, time.Until(time.Now().Truncate(history.Interval).Add(history.Interval))) {
		s.sampleNow(time.Now())
	}
}

// sampleNow takes one sample of all servers. It does not make a snapshot, which is large
// and not needed before a visitor comes.
func (s *API) sampleNow(now time.Time) {
	round := s.opt.History.Begin(now)
	for _, r := range s.lister.registry.All() {
		round.Add(history.Key{Origin: r.Origin.Name, Public: r.Public}, r.Game, r.Population())
	}
	round.End()
	if u := s.opt.History.Usage(); u.Refused > 0 {
		s.Log().Warn().Int("servers", u.Servers).Int("without", u.Refused).Msg("the history of players is full")
	}
}

// historyGauges registers the size of the history, and its bounds.
func historyGauges(f *front.Front, book *history.Book) {
	f.Gauge("respawnd_web_history_servers", "Servers whose numbers of players are remembered, at most 32,768.", func() int { return book.Usage().Servers })
	f.Gauge("respawnd_web_history_games", "Games whose numbers of players are remembered, at most 1,024.", func() int { return book.Usage().Games })
	f.Gauge("respawnd_web_history_refused_servers", "Listed servers that have no history because there is no room.", func() int { return book.Usage().Refused })
	f.Gauge("respawnd_web_history_evicted_servers", "Servers that were forgotten early to make room for others, since the start.", func() int { return int(book.Usage().Evicted) })
	f.Gauge("respawnd_web_history_memory_bytes", "Memory of the history of players, at most 48 MiB.", func() int { return int(book.Usage().Memory) })
	f.Gauge("respawnd_web_history_file_bytes", "Size of the file of the history of players, at most 48 MiB.", func() int { return int(book.Usage().File) })
}

// HistoryKey returns the name of the server in the history.
func (r *Row) HistoryKey() history.Key { return history.Key{Origin: r.Origin.Name, Public: r.Public} }

// GameHistory returns the history of the servers in the list of a game; of all
// servers, if game is empty.
func (s *API) GameHistory(game string, span history.Span) history.Series {
	if game == "" {
		return s.opt.History.All(span)
	}
	return s.opt.History.Games(span, append(slices.Clone(s.opt.Registry.Sharing(game)), game)...)
}

// span reads the parameter span; missing means a day.
func (p Params) span() (history.Span, error) {
	text, given := p["span"]
	if !given {
		return history.Day, nil
	}
	span, ok := history.ParseSpan(text)
	if !ok {
		return 0, badParam("span", "must be 24h, 7d or 30d")
	}
	return span, nil
}

// serveHistory answers /api/v1/servers/{id}/history.
func (s *API) serveHistory(w http.ResponseWriter, r *http.Request, p Params) error {
	span, err := p.span()
	if err != nil {
		return err
	}
	origin, public, ok := master.ParseID(r.PathValue("id"))
	if server, listed := s.findServer(r.PathValue("id"), s.Asker(r)); listed {
		public = server.Public
	}
	if !ok || s.opt.Registry.IsHidden(public) { // its history is hidden too
		return errNoServer
	}
	key := history.Key{Origin: origin, Public: public}
	_, remembered := s.opt.History.Of(key, history.Month)
	if server, listed := s.opt.Registry.Find(public); !remembered && (!listed || server.Origin.Name != origin) {
		return errNoServer
	}
	body := []byte(`{"id":"`)
	body = master.AppendID(body, origin, public)
	body = append(body, `",`...)
	s.sendHistory(w, r, body, span, false, func(of history.Span) history.Series {
		series, _ := s.opt.History.Of(key, of)
		return series
	})
	return nil
}

// serveTotals answers /api/v1/stats/history.
func (s *API) serveTotals(w http.ResponseWriter, r *http.Request, p Params) error {
	span, err := p.span()
	if err != nil {
		return err
	}
	game, err := p.Game()
	if err != nil {
		return err
	}
	body := append([]byte(`{"game":`), appendString(nil, game)...)
	s.sendHistory(w, r, append(body, ','), span, true, func(of history.Span) history.Series { return s.GameHistory(game, of) })
	return nil
}

// sendHistory sends a history behind the begin of an object. totals: it has numbers of
// servers too.
func (s *API) sendHistory(w http.ResponseWriter, r *http.Request, begin []byte, span history.Span, totals bool, of func(history.Span) history.Series) {
	var body []byte
	s.InTurn(func() { body = appendSeries(begin, span, totals, of) })
	if !front.NotModified(w, r, "W/"+front.ContentTag(body)) {
		s.Send(w, r, front.JSON, front.NewAnswer(body))
	}
}

// appendSeries writes the rest of a history: that of a span, and the stored spans.
func appendSeries(b []byte, span history.Span, totals bool, of func(history.Span) history.Series) []byte {
	series := of(span)
	b = append(b, `"span":"`+span.String()+`","interval_seconds":`...)
	b = strconv.AppendInt(b, int64(span.Step()/time.Second), 10)
	b = append(b, `,"first":`...)
	b = appendFirst(b, series)
	b = appendNumbers(append(b, `,"players":`...), series.Players)
	if totals {
		b = appendNumbers(append(b, `,"servers":`...), series.Servers)
	}
	b = append(b, `,"kept":[`...)
	for i, s := range history.Spans() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"span":"`+s.String()+`","interval_seconds":`...)
		b = strconv.AppendInt(b, int64(s.Step()/time.Second), 10)
		b = append(b, `,"since":`...)
		b = append(appendFirst(b, of(s)), '}')
	}
	return append(b, "]}\n"...)
}

// appendFirst writes the time of the first number of a history.
func appendFirst(b []byte, h history.Series) []byte {
	if len(h.Players) == 0 {
		return append(b, "null"...)
	}
	b = append(b, '"')
	b = h.First.AppendFormat(b, time.RFC3339)
	return append(b, '"')
}

// appendNumbers writes numbers. Those of times at which there was nothing to count
// are null.
func appendNumbers(b []byte, numbers []int) []byte {
	b = append(b, '[')
	for i, n := range numbers {
		if i > 0 {
			b = append(b, ',')
		}
		if n == history.Away {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendInt(b, int64(n), 10)
		}
	}
	return append(b, ']')
}
