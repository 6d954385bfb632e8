package lan

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/internal/a2s"
	"github.com/respawnd/respawnd/internal/foreign"
	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

const serviceName = "lan"

// ZandronumPort is the UDP port on which servers of Zandronum announce
// themselves.
const ZandronumPort = 15101

// Bounds of a round.
const (
	// DefaultEvery is the interval between rounds.
	DefaultEvery = 30 * time.Second

	span       = 3                    // ports per game: its own and the next ones
	maxPorts   = 512                  // in all
	sendGap    = 5 * time.Millisecond // between two packets: 200 a second
	maxAnswers = 256                  // incomplete text answers
	maxPlain   = 4096                 // servers known to need no challenge
	maxPacket  = 4096
	answerRate = 20 // packets per second accepted from one address
	answerBuf  = 60
	rounds     = 3 // without an answer, until a server leaves the list
)

// instance marks the records of found servers, so that a report of the server
// itself, which has another instance, replaces the whole record.
const instance = 0x4C414E00

// Options configure a Finder. Registry and Games are required.
type Options struct {
	part.Self
	part.Peers
	part.Listing

	Every    time.Duration             // 0: DefaultEvery
	Networks func() ([]Network, error) // nil: those of this machine

	// Found is called with the address of each A2S answer, and reports whether
	// the server is going to be queried; nil: no A2S queries are sent. It must
	// not block.
	Found func(netip.AddrPort) bool
	// FoundZandronum, if not nil, is called with the address of a Zandronum
	// server that announced itself or answered; nil: they are not queried. It
	// must not block.
	FoundZandronum func(netip.AddrPort)
}

// Finder looks for servers. It implements netserve.PacketHandler.
type Finder struct {
	opt     Options
	limit   *netserve.Limiter
	metrics *metrics
	unread  *foreign.Notes // of answers

	mu       sync.Mutex // guards the fields below
	networks []Network
	ports    []uint16 // sorted
	keys     [2]uint32
	answers  map[netip.AddrPort]*query.Assembly
	plain    map[netip.AddrPort]struct{} // servers that answered the binary query of this round

	zandronum zandronumSearch
}

// New returns a Finder. It sends nothing until Serve runs.
func New(opt Options) *Finder {
	if opt.Every <= 0 {
		opt.Every = DefaultEvery
	}
	if opt.Networks == nil {
		opt.Networks = Networks
	}
	return &Finder{
		opt:     opt,
		limit:   netserve.NewLimiter(netserve.LimiterOptions{Rate: answerRate, Burst: answerBuf, Slots: 4096}),
		metrics: newMetrics(opt.Registerer),
		unread:  foreign.NewNotes(opt.Verdicts, serviceName),
		answers: make(map[netip.AddrPort]*query.Assembly), plain: make(map[netip.AddrPort]struct{}),
		zandronum: zandronumSearch{waiting: make(map[netip.AddrPort]time.Time)},
	}
}

// Serve sends queries and receives answers over conn until ctx ends. zandronum
// is a socket on ZandronumPort; nil: announcements are not received. If conn is
// bound to an address, only the network of that address is searched. The
// sockets stay open and belong to the caller.
func (f *Finder) Serve(ctx context.Context, conn, zandronum *netserve.PacketConn) error {
	g, ctx := errgroup.WithContext(ctx)
	opt := netserve.PacketOptions{Log: f.opt.Log, Metrics: f.opt.Metrics}
	g.Go(func() error { return netserve.ServePackets(ctx, conn, f, opt) })
	if zandronum != nil {
		g.Go(func() error { return netserve.ServePackets(ctx, zandronum, announcements{f}, opt) })
	}
	g.Go(func() error { f.search(ctx, conn, conn.LocalAddr().Addr()); return nil })
	return g.Wait()
}

// search sends round after round until ctx ends.
func (f *Finder) search(ctx context.Context, w netserve.PacketWriter, local netip.Addr) {
	gap := time.NewTicker(sendGap)
	defer gap.Stop()
	for {
		next := time.After(f.opt.Every)
		for _, q := range f.round(local) {
			select {
			case <-ctx.Done():
				return
			case <-gap.C:
				f.send(w, q)
			}
		}
		if !f.rest(ctx, next) {
			return
		}
	}
}

// rest waits for the next round and meanwhile forwards the servers of Zandronum
// that answered. It returns false if ctx has ended.
func (f *Finder) rest(ctx context.Context, next <-chan time.Time) bool {
	rested := time.NewTicker(zandronumRest)
	defer rested.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-rested.C:
			f.handOnRested()
		case <-next:
			f.handOnRested()
			return true
		}
	}
}

// question is a query and its destination.
type question struct {
	to   netip.AddrPort
	data []byte
}

func (f *Finder) send(w netserve.PacketWriter, q question) {
	f.metrics.sent.Inc()
	if err := w.WritePacket(q.data, netip.Addr{}, q.to); err != nil {
		f.opt.Log.Debug().Stringer("peer", q.to).Err(err).Msg("question not sent")
	}
}

func (f *Finder) round(local netip.Addr) (out []question) {
	networks, err := f.opt.Networks()
	if err != nil {
		f.opt.Log.Warn().Err(err).Msg("the networks of this machine cannot be listed")
		return nil
	}
	if local.IsValid() && !local.IsUnspecified() {
		networks = slices.DeleteFunc(slices.Clone(networks), func(n Network) bool { return !n.Prefix.Contains(local) })
	}
	networks = networks[:min(len(networks), maxNetworks)]
	ports := f.catalogPorts()
	var key [4]byte
	_, _ = rand.Read(key[:]) // never returns an error
	f.mu.Lock()
	f.networks, f.ports = networks, slices.Sorted(slices.Values(ports))
	f.keys = [2]uint32{binary.BigEndian.Uint32(key[:]), f.keys[0]}
	clear(f.answers)
	clear(f.plain)
	binaryQuery := query.AppendQuery(nil, f.keys[0], 0, false)
	challengeQuery := query.AppendChallengeQuery(nil, f.keys[0])
	if f.opt.FoundZandronum != nil {
		out = f.zandronum.questions(networks, time.Now())
	}
	f.mu.Unlock()
	text := query.NewExchange(query.Text, 0).Question()
	info := a2s.AppendRequest(nil, a2s.Request{Kind: a2s.InfoRequest, Challenge: a2s.NoChallenge})
	for _, n := range networks {
		for _, port := range f.a2sPorts() {
			out = append(out, question{netip.AddrPortFrom(n.Broadcast, port), info})
		}
		for _, port := range ports {
			to := netip.AddrPortFrom(n.Broadcast, port)
			out = append(out, question{to, text}, question{to, binaryQuery}, question{to, challengeQuery})
		}
	}
	return out
}

// a2sPorts returns the ports on which servers usually answer A2S, sorted: those
// on which Steam searches local networks, and that of Arma. None without
// Options.Found.
func (f *Finder) a2sPorts() []uint16 {
	if f.opt.Found == nil {
		return nil
	}
	return []uint16{
		2303, 4242, 26900, 26901, 26902, 26903, 26904, 26905, 27015, 27016, 27017, 27018, 27019, 27020, 27215,
	}
}

// catalogPorts returns the ports on which servers of known games answer, those
// of most games first, so that the usual ones are queried early.
func (f *Finder) catalogPorts() []uint16 {
	count := make(map[uint16]int) // of games
	for _, g := range f.opt.Games.All() {
		first := g.LANPorts
		if len(first) == 0 {
			first = []uint16{g.QueryPort}
		}
		for _, at := range first {
			for i := range span {
				if p := int(at) + i; p > 0 && p <= 65535 {
					count[uint16(p)]++
				}
			}
		}
	}
	ports := slices.SortedFunc(maps.Keys(count), func(a, b uint16) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	if left := len(ports) - maxPorts; left > 0 {
		f.opt.Log.Warn().Int("ports", left).Msg("the games have more ports than are searched; those of the fewest games are left out")
		ports = ports[:maxPorts]
	}
	return ports
}

// The reasons for which packets are dropped.
var (
	reasons metric.Labels

	dropStranger = reasons.Add("stranger") // from an address or port that was not queried
	dropOwn      = reasons.Add("own")
	dropBanned   = reasons.Add("banned")
	dropLimited  = reasons.Add("limited")
	dropUseless  = reasons.Add("useless")
	dropNoGame   = reasons.Add("unknown_game")
	dropFull     = reasons.Add("list_full")
)

// ServePacket takes a packet of an answer. It sends the next question to a server
// that wants its challenge back.
func (f *Finder) ServePacket(w netserve.PacketWriter, p netserve.Packet) {
	next, reason := f.take(p, time.Now())
	if reason != "" {
		f.opt.Metrics.Drop(reason)
	}
	if _, listed := f.opt.Registry.At(p.From); reason == dropUseless && !listed {
		f.unread.Note(p.From, verdicts.NotUnderstood)
	}
	if next != nil {
		f.send(w, question{p.From, next})
	}
}

// take returns the next query to the server that sent a packet, nil if there is
// none, and the reason if the packet was dropped, else "".
func (f *Finder) take(p netserve.Packet, now time.Time) (next []byte, dropped string) {
	if reason, ok := f.takeZandronum(p, now); ok {
		return nil, reason
	}
	if query.IsChallenge(p.Data) {
		return f.takeChallenge(p, now)
	}
	return nil, f.takeAnswer(p, now)
}

// takeChallenge returns the query with the challenge of a server, unless the
// server answers without one.
func (f *Finder) takeChallenge(p netserve.Packet, now time.Time) (next []byte, dropped string) {
	f.mu.Lock()
	ports := f.ports
	f.mu.Unlock()
	if reason := f.refuse(p.From, now, false, ports); reason != "" {
		return nil, reason
	}
	key, challenge, ok := query.ParseChallenge(p.Data)
	f.mu.Lock()
	defer f.mu.Unlock()
	if !ok || key == 0 || !slices.Contains(f.keys[:], key) {
		return nil, dropUseless
	}
	if _, answers := f.plain[p.From]; answers {
		return nil, ""
	}
	return query.AppendQuery(nil, key, challenge, false), ""
}

// takeAnswer returns the reason if a packet was dropped, else "".
func (f *Finder) takeAnswer(p netserve.Packet, now time.Time) string {
	if m, err := a2s.ParseMessage(p.Data); err == nil {
		return f.takeA2S(p.From, m.Kind, now)
	}
	f.mu.Lock()
	ports := f.ports
	f.mu.Unlock()
	if reason := f.refuse(p.From, now, false, ports); reason != "" {
		return reason
	}
	if len(p.Data) > maxPacket {
		return dropUseless
	}
	st, whole, err := f.read(p)
	switch {
	case err != nil:
		return dropUseless
	case !whole:
		return ""
	}
	return f.found(p, &st, now)
}

// takeA2S forwards a server that answered the A2S query. The answer is not
// read: Found queries the server again, and only answers to that count. Many
// answer with a challenge anyway.
func (f *Finder) takeA2S(from netip.AddrPort, kind a2s.Kind, now time.Time) string {
	ports := f.a2sPorts()
	if ports == nil {
		return dropStranger
	}
	if reason := f.refuse(from, now, false, ports); reason != "" {
		return reason
	}
	if kind != a2s.KindInfo && kind != a2s.KindOldInfo && kind != a2s.KindChallenge {
		return dropUseless
	}
	f.metrics.answered.Inc()
	if old, known := f.opt.Registry.At(from); known && old.Origin != master.Found {
		return "" // already queried
	}
	if !f.opt.Found(from) {
		f.opt.Verdicts.Note(serviceName, from, "", verdicts.ListFull)
		return dropFull
	}
	return ""
}

// refuse returns the reason to drop packets from an address, "" to accept them.
// Its port must be one of ports, which are sorted, unless any is true.
func (f *Finder) refuse(a netip.AddrPort, now time.Time, anyPort bool, ports []uint16) string {
	f.mu.Lock()
	near := slices.ContainsFunc(f.networks, func(n Network) bool { return n.Prefix.Contains(a.Addr()) && n.Broadcast != a.Addr() })
	f.mu.Unlock()
	if _, ok := slices.BinarySearch(ports, a.Port()); !anyPort && !ok {
		near = false
	}
	switch {
	case !near || !query.Askable(a):
		return dropStranger
	case f.opt.Own.Has(a):
		return dropOwn
	case !f.limit.Allow(a.Addr(), now):
		return dropLimited
	case f.opt.Banned.Has(a.Addr()):
		return dropBanned
	default:
		return ""
	}
}

func (f *Finder) read(p netserve.Packet) (st query.Status, whole bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if query.IsText(p.Data) {
		a := f.answers[p.From]
		if a == nil {
			if len(f.answers) >= maxAnswers {
				return st, false, query.ErrTooMuch
			}
			a = new(query.Assembly)
			f.answers[p.From] = a
		}
		if whole, err = a.Add(p.Data); whole {
			delete(f.answers, p.From)
			st, err = a.Status()
		}
		return st, whole, err
	}
	_, key, body, ok := query.CutAnswer(p.Data) // a challenge is not an answer: see take
	if !ok || key == 0 || !slices.Contains(f.keys[:], key) {
		return st, false, query.ErrForeign
	}
	if len(f.plain) < maxPlain {
		f.plain[p.From] = struct{}{}
	}
	st, err = query.ParseAnswer(body)
	return st, true, err
}

// found lists a server that answered, or refreshes its record.
func (f *Finder) found(p netserve.Packet, st *query.Status, now time.Time) string {
	name, _ := st.Get("gamename")
	g, ok := f.opt.Games.Lookup(name)
	if !ok {
		return dropNoGame
	}
	f.metrics.answered.Inc()
	old, known := f.opt.Registry.At(p.From) // a hidden one too
	if known && old.Origin != master.Found {
		return "" // it reports by itself
	}
	srv := master.Server{
		Key: master.Key{Source: p.From, Instance: instance}, Game: g.Name, Origin: master.Found, Public: p.From, Via: p.To,
		Findings: master.Findings{Reached: master.ReachedDirect}, Lifetime: rounds*f.opt.Every + f.opt.Every/2, Seen: now,
	}
	var report master.Report
	names, values := st.Columns()
	report.Fill(f.opt.Registry, names, values, master.Grid(st.Players), master.Grid(st.Teams))
	same := known && old.Key == srv.Key && old.Game == g.Name && !old.Restored
	if same && report.Same(old) {
		f.opt.Registry.Touch(srv.Key, master.Found, now)
		return ""
	}
	if err := report.Into(&srv); err != nil {
		return dropUseless
	}
	if same {
		f.opt.Registry.Update(&srv) // unless it reported by itself meanwhile
		return ""
	}
	if err := f.opt.Registry.Put(srv); err != nil {
		f.opt.Verdicts.Note(serviceName, p.From, g.Name, verdicts.ListFull)
		return dropFull
	}
	f.metrics.found.Inc()
	f.opt.Verdicts.Note(serviceName, p.From, g.Name, verdicts.Listed)
	return ""
}

// announcements receives announcements of Zandronum servers.
type announcements struct{ f *Finder }

// ServePacket forwards the address that announced itself.
func (h announcements) ServePacket(_ netserve.PacketWriter, p netserve.Packet) {
	if reason := h.f.refuse(p.From, time.Now(), true, nil); reason != "" {
		h.f.opt.Metrics.Drop(reason)
		return
	}
	h.f.metrics.announced.Inc()
	h.f.forward(p.From)
}
