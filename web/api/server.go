package api

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/history"
	"github.com/respawnd/respawnd/internal/meeting"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/played"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/web/front"
)

// Options are the dependencies of an API. Registry, Games, Served, Nouns, History and Started
// are required.
type Options struct {
	part.Self
	part.Listing
	part.Catalogue

	// History gets a sample of all numbers of players every history.Interval while
	// Run runs.
	History *history.Book
	// Chat counts the members of chat rooms; nil: there is no chat.
	Chat Chat
	// Stats are the scores and data of players; nil: there are none.
	Stats Stats
	// Verdicts are those on game servers, Players those on players; nil: none are known.
	Verdicts *verdicts.Log
	Players  *verdicts.Log
	// Played has what players reported of games; nil: nothing.
	Played *played.Table
	// Meetings has the kinds of routers of players; nil: none are known.
	Meetings *meeting.Recorder
	// Picture returns the address of the picture of a game on this site, empty: it has none; nil: no game has one.
	Picture func(game string) string
}

// API answers requests under /api/v1. All methods may be called concurrently.
type API struct {
	*front.Front
	catalogue
	scores
	*weeks
	opt         Options
	feed        *feed
	lobby       *lobby
	streams     *netserve.Gate // event streams by visitor
	description func() fixed   // of the API, for programs; made when it is first asked for
}

// New returns an API.
func New(f *front.Front, opt Options) *API {
	list := newLister(opt.Registry, opt.Games)
	list.trials, list.master = newLister(opt.Registry.Trials(), opt.Games), opt.Master
	s := &API{
		Front: f, catalogue: catalogue{list, opt.Domains, opt.Served, opt.Played, opt.Picture}, scores: scores{opt.Stats, opt.Games}, weeks: &weeks{history: opt.History, list: list}, opt: opt, feed: newFeed(list),
		lobby: newLobby(opt.Chat, opt.Games), streams: netserve.NewGate(netserve.ConnOptions{}),
	}
	s.description = sync.OnceValue(func() fixed { return newFixed(describe(opt.Nouns)) })
	f.Gauge("respawnd_web_event_streams", "Event streams that are open.", s.feed.len)
	f.Gauge("respawnd_web_event_bytes", "Bytes of events that are kept for the streams.", s.feed.heldBytes)
	historyGauges(f, opt.History)
	return s
}

// SetStreams bounds the open event streams in total and of one address. Open
// streams stay, unless evicted for other addresses.
func (s *API) SetStreams(most, perAddr int) {
	s.streams.SetLimits(netserve.ConnOptions{MaxConns: most, MaxPerAddr: perAddr, Rate: -1, Exempt: s.Trusted})
}

// Run sends events and writes the history until ctx ends.
func (s *API) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { s.feed.run(ctx) })
	running.Go(func() { s.lobby.run(ctx, s.feed.len) })
	running.Go(func() { s.sample(ctx) })
	running.Go(func() { s.lister.latest.Run(ctx) })
	running.Wait()
}

// Routes returns every path that is served.
func (s *API) Routes() []front.Route {
	return front.Existing([]front.Route{
		{Pattern: "/api/v1/servers", Serve: s.serveServers},
		{Pattern: "/api/v1/servers.gslist", Serve: s.with(s.serveAddresses, "game")},
		{Pattern: "/api/v1/servers.jsonl", Serve: s.with(s.serveLines, "game")},
		{Pattern: "/api/v1/servers/{id}", Serve: s.with(s.serveServer)},
		{Pattern: "/api/v1/servers/{id}/history", Serve: s.with(s.serveHistory, "span")},
		{Pattern: "/api/v1/connection", Serve: s.serveConnection},
		{Pattern: "/api/v1/games", Serve: s.with(s.serveGames, "active", "state")},
		{Pattern: "/api/v1/games/{name}", Serve: s.with(s.serveGame)},
		{Pattern: "/api/v1/games/{name}/ranking", Serve: s.with(s.serveRanking, "board", "from", "limit"), Of: noun.Stats},
		{Pattern: "/api/v1/games/{name}/matches", Serve: s.with(s.serveMatches, "before", "limit"), Of: noun.Stats},
		{Pattern: "/api/v1/games/{name}/tables/{table}", Serve: s.with(s.serveTable, "from", "limit"), Of: noun.Stats},
		{Pattern: "/api/v1/stats", Serve: s.with(s.serveStats)},
		{Pattern: "/api/v1/stats/history", Serve: s.with(s.serveTotals, "span", "game")},
		{Pattern: front.EventsPath, Serve: s.with(s.serveEvents, "game")},
		{Pattern: "/api/v1/openapi.json", Serve: s.with(s.serveOpenAPI)},
		{Pattern: "/v1/servers/{gamedir}", Serve: s.with(xash{s}.serve)},
		{Pattern: "/v1/gamedirs", Serve: s.with(xash{s}.serve)},
		{Pattern: "/v1/q2", Serve: s.with(raw{s}.quake2, "raw", "game")},
		{Pattern: "q2servers.com/{$}", Serve: s.with(raw{s}.quake2, "raw", "game")},
		{Pattern: "/raw/{file}", Serve: s.with(raw{s}.file)},
		{Pattern: "/json/{game}", Serve: networks{s}.list},
		{Pattern: "/json/{game}/{server}", Serve: networks{s}.server},
	}, s.opt.Nouns)
}

// Snapshot returns the list with every change made before the call.
func (s *API) Snapshot() *Snapshot { return s.lister.now() }

// Shown returns the snapshot that was served last, nil if none is kept.
func (s *API) Shown() *Snapshot { return s.lister.latest.Last() }

// Title returns the display name of a game.
func (s *API) Title(game string) string { return s.lister.title(game) }

// Server returns the listed server with an id, without reading the list. The address
// in the id may be the one that the asker was given.
func (s *API) Server(id string, asker advertise.Asker) (*master.Server, bool) {
	return s.findServer(id, asker)
}

// Find returns the listed server with an id, and the list that has it. The address
// in the id may be the one that the asker was given.
func (s *API) Find(id string, asker advertise.Asker) (*Row, *Snapshot, bool) {
	server, ok := s.findServer(id, asker)
	if !ok {
		return nil, nil, false
	}
	list := s.lister.now()
	i := slices.IndexFunc(list.Rows, func(r *Row) bool { return r.Public == server.Public })
	if i < 0 { // it left in between
		return nil, nil, false
	}
	return list.Rows[i], list, true
}

// Asker returns the network position of a visitor, if addresses of servers
// depend on it: equal visitors share answers.
func (s *API) Asker(r *http.Request) advertise.Asker {
	a := s.Visitor(r)
	if !s.opt.Registry.AnyPrivate() && !master.IsTrial(a) {
		return advertise.Asker{}
	}
	return s.opt.Addresses.Asker(a)
}
