package federation

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/cacerts"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/played"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/web/api"
)

// Bounds of a peer's report of a server.
const (
	maxRules   = 200
	maxColumns = 24
	maxRows    = 128
	maxName    = 64
	maxValue   = 1024
)

const (
	maxRedirects = 3
	tlsTimeout   = 5 * time.Second
	maxHeader    = 64 << 10
)

var errRedirect = errors.New("it redirects elsewhere")

// peer reads another daemon.
type peer struct {
	master  *configs.OtherMaster
	self    string // identity of this daemon
	client  *api.Client
	http    *http.Transport
	follows bool // the changes are followed from the list that was read last

	counts  *played.Peer // how often games were played there; nil: not asked for
	counted time.Time    // when it was asked for that
}

// countEvery is how often a peer is asked how often games were played there.
const countEvery = time.Hour

func newPeer(m *configs.OtherMaster, d *dialer, self string, reports *played.Table) *peer {
	t := d.web(m)
	var counts *played.Peer
	if reports != nil {
		counts = reports.NewPeer()
	}
	return &peer{counts: counts, master: m, self: self, http: t, client: &api.Client{
		HTTP: &http.Client{Transport: t, CheckRedirect: sameSite},
		Base: m.Address, Game: m.Game, Full: m.Verified,
	}}
}

// web returns how pages of a master are reached.
func (d *dialer) web(m *configs.OtherMaster) *http.Transport {
	cacerts.Ready()
	t := &http.Transport{
		DialContext:            func(ctx context.Context, _, address string) (net.Conn, error) { return d.connect(ctx, m, address) }, // and no Proxy
		TLSHandshakeTimeout:    tlsTimeout,
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConns:           1,
		IdleConnTimeout:        time.Minute,
		ForceAttemptHTTP2:      true,
	}
	if m.IsFolder() {
		t.RegisterProtocol("file", http.NewFileTransportFS(os.DirFS(m.Address)))
	}
	return t
}

// sameSite refuses redirects to other hosts, and from https to http.
func sameSite(next *http.Request, before []*http.Request) error {
	first := before[0].URL
	if len(before) > maxRedirects || next.URL.Hostname() != first.Hostname() || first.Scheme == "https" && next.URL.Scheme != "https" {
		return errRedirect
	}
	return nil
}

// read reads the list. A list that has not changed costs one request.
func (p *peer) read(ctx context.Context, s *source, most int) (string, error) {
	result, err := p.list(ctx, s, most)
	if err == nil {
		p.note(ctx, s)
	}
	return result, err
}

// note implements fetcher: at times it reads how often games were played there.
func (p *peer) note(ctx context.Context, s *source) {
	if p.counts != nil && time.Since(p.counted) >= countEvery {
		p.counted = time.Now()
		p.count(ctx, s)
	}
}

// count reads how often games were played at the peer. An older peer does not say that, so an error
// is none of the reading.
func (p *peer) count(ctx context.Context, s *source) {
	var all []played.PeerCount
	err := p.client.PlayedGames(ctx, func(g *api.PlayedGame) {
		if p.master.Game != "" && g.Name != p.master.Game || len(all) > played.MaxPeerGames {
			return
		}
		rest := g.Played
		for _, e := range g.Editions {
			if e.Played.Times > 0 {
				all = append(all, played.PeerCount{Game: g.Name, Copies: e.Copies, Tally: games.Tally(e.Played)})
				rest.Times -= e.Played.Times
			}
		}
		if rest.Times > 0 {
			all = append(all, played.PeerCount{Game: g.Name, Tally: games.Tally(rest)})
		}
	})
	switch {
	case err == nil:
		for range p.counts.Set(all, time.Now()) {
			s.refuse(refusedCount)
		}
	case !errors.Is(err, api.ErrNotModified):
		s.log.Debug().Str("master", s.master.Name).Err(err).Msg("how often games were played there is not known")
	}
}

func (p *peer) list(ctx context.Context, s *source, most int) (string, error) {
	p.client.Max = most
	var list []found
	id, err := p.client.List(ctx, func(r *api.Remote) {
		f, why := p.found(r)
		if why != "" {
			s.refuse(why)
			return
		}
		list = append(list, f)
	})
	if errors.Is(err, api.ErrNotModified) {
		p.follows = true
		return resultUnchanged, nil
	}
	if err != nil { // the next list is of use even if it is the one before this
		p.client.Tag = ""
	}
	switch {
	case err != nil && !errors.Is(err, netclient.ErrTooLong):
		return resultRead, err
	case id != "" && id == p.self:
		p.client.Tag = ""
		return resultRead, errOwn
	}
	for _, f := range list {
		s.tell(f)
	}
	p.follows = err == nil
	return resultRead, err
}

// follow takes over changes as they happen. Changes missed between the list and the
// stream or because it broke, comes with the next reading.
func (p *peer) follow(ctx context.Context, s *source) {
	if !p.follows {
		return
	}
	p.follows = false
	_ = p.client.Events(ctx, func(e *api.RemoteEvent) {
		f, why := p.found(&e.Server)
		switch {
		case e.Kind == api.EventRemoved:
			s.table.lose(s, f.addr, time.Now())
		case why == "":
			if f.report != nil {
				f.report.partial = true
			}
			s.tell(f)
		}
	})
}

func (p *peer) close() {
	p.http.CloseIdleConnections()
	if p.counts != nil {
		p.counts.Close()
	}
}

// found returns the entry of a server, or the reason for which it is refused.
func (p *peer) found(r *api.Remote) (f found, refused string) {
	if r.Via != "" || r.Origin == master.Federated.Name {
		return f, refusedHearsay
	}
	f, refused = foundOf(r)
	if refused == "" && p.master.Verified {
		f.game, f.report = r.Game, reportOf(r)
	}
	return f, refused
}

// foundOf returns the entry of a server of another daemon, which is to be queried, or the reason
// for which it is refused.
func foundOf(r *api.Remote) (f found, refused string) {
	f.addr = netip.AddrPortFrom(r.Address.Addr().Unmap(), r.Address.Port())
	switch {
	case !f.addr.IsValid():
		return f, refusedAddress
	case !isGame(r.Game):
		return f, refusedGame
	}
	f.game = r.Game
	if slices.Contains(configs.StaticProtocols(), r.Query) {
		f.query = r.Query
	}
	switch f.query {
	case "zandronum", "quake3", "a2s": // the server names its game
		f.game = ""
	}
	return f, ""
}

// reportOf returns a peer's report of a server, within bounds.
func reportOf(r *api.Remote) *report {
	out := &report{players: grid(r.Players), teams: grid(r.Teams), lifetime: vouchedLifetime}
	if len(r.Country) == 2 {
		out.country, out.region = r.Country, r.Region
	}
	for _, name := range slices.Sorted(maps.Keys(r.Rules)) {
		if len(out.names) < maxRules && len(name) <= maxName && len(r.Rules[name]) <= maxValue {
			out.names, out.values = append(out.names, name), append(out.values, r.Rules[name])
		}
	}
	return out
}

// grid returns a table of the objects of players or teams.
func grid(objects []map[string]string) (g master.Grid) {
	if len(objects) == 0 {
		return g
	}
	for _, name := range slices.Sorted(maps.Keys(objects[0])) {
		if len(name) <= maxName && len(g.Columns) < maxColumns {
			g.Columns = append(g.Columns, name)
		}
	}
	for _, o := range objects[:min(len(objects), maxRows)] {
		row := make([]string, len(g.Columns))
		for i, name := range g.Columns {
			if row[i] = o[name]; len(row[i]) > maxValue {
				row[i] = ""
			}
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}
