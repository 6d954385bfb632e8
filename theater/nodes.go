package theater

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/fesl/lobby"
	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/storage"
)

// Bounds of what nodes have for each other.
const (
	maxFar   = 10_000          // games of another node
	maxID31  = 1<<31 - 1       // the highest number of a game: clients read it with a sign
	callTime = 3 * time.Second // for the answer of another node
)

// nodes make the lists of a cluster one. A game belongs to the node where its host is connected; the others list
// copies. What a player asks about a game of another node is asked there, on behalf of a session that stands for the
// player; what that one is sent comes back here.
type nodes struct {
	bus    cluster.Bus
	shared *cluster.Map[int, shared] // games that players may see, by their numbers
	asks   *cluster.Call[farRequest, []byte]
	sent   cluster.Notes[toGuest]
	left   cluster.Notes[departure]
}

// shared is a game as other nodes list it.
type shared struct {
	Host    lobby.Player
	At      netip.AddrPort // where players elsewhere reach it
	Values  []byte         // as a text
	Players []guest
	Queue   int
}

// guest is a player in a shared game.
type guest struct{ UID, Name string }

// farRequest is what a player of another node asks about a game of this one.
type farRequest struct {
	Node   string // of the player
	Token  uint64 // of the player's part in the game, on that node
	Word   string
	Text   []byte
	Player lobby.Player
	Peer   netip.AddrPort
	Port   uint16 // see session.port
}

// toGuest is a message to a player of another node.
type toGuest struct {
	Node  string // of the game
	Token uint64
	Frame []byte
	Seat  bool // the player has a place in the game, or waits for one
	State seatState
}

// departure reports that a player of another node has left a game of this one, or was banned.
type departure struct {
	Node     string
	Game     int
	Token    uint64
	Expelled bool
}

// visitor names a player of another node, for as long as that one runs. The zero value names none.
type visitor struct {
	node        string
	incarnation uint64
	token       uint64
}

// away is the part of a player in a game of another node.
type away struct {
	visitor // the node is that of the game
	who     *session
	game    int
	tid     string    // of the request to join
	waits   bool      // for an answer
	by      time.Time // until which it must come; zero: the player is queued
}

func newNodes(s *Server) nodes {
	bus := s.opt.Cluster
	return nodes{
		bus: bus,
		shared: cluster.NewMap(cluster.MapOptions[int, shared]{
			Name: "theater", Bus: bus, Codec: cluster.JSON[int, shared](1), Max: maxFar, Changed: s.changed,
			Log: s.opt.Log, Registerer: s.opt.Registerer,
		}),
		asks: cluster.NewCall(bus, "theater.ask", s.answerFar),
		sent: cluster.NewNotes[toGuest](bus, "theater.sent"),
		left: cluster.NewNotes[departure](bus, "theater.left"),
	}
}

// follow shares the games with the other nodes until ctx ends.
func (s *Server) follow(ctx context.Context) error {
	n := &s.nodes
	defer n.asks.Serve()()
	defer n.sent.Listen(s.heard)()
	defer n.left.Listen(s.departed)()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { n.shared.Run(ctx); return nil })
	for n.bus != nil && ctx.Err() == nil {
		changed := n.bus.Changed()
		s.compare()
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return g.Wait()
}

// compare ends what players have at nodes that are gone, and what players of those have here.
func (s *Server) compare() {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone := func(v visitor) bool { return v.node != "" && s.nodes.bus.Incarnation(v.node) != v.incarnation }
	for _, x := range s.abroad {
		if gone(x.away.visitor) {
			x.away.deserted()
		}
	}
	for _, g := range s.games {
		for _, at := range g.all() {
			if at.who != nil && gone(at.who.visitor) {
				at.who.abandon()
			}
		}
	}
}

// newID returns a number for a game. Alone, a node counts; the nodes of a cluster would count alike.
func (s *Server) newID() int {
	if s.nodes.bus == nil {
		s.last++
		return s.last
	}
	for {
		id := 1 + rand.IntN(maxID31) //nolint:gosec // no secret
		if _, taken := s.place(id); !taken {
			return id
		}
	}
}

// share shows the other nodes the present state of a game.
func (s *Server) share(g *game) {
	if s.nodes.bus == nil {
		return
	}
	if !s.shows(g, false) {
		s.nodes.shared.Delete(g.id)
		return
	}
	f := shared{Host: g.host.player, At: s.abroadAt(g.at()), Values: g.values.Append(nil, wire.ServerEnd), Queue: len(g.queue)}
	for _, at := range g.players() {
		f.Players = append(f.Players, guest{at.uid, at.name})
	}
	s.nodes.shared.Put(g.id, f)
}

// abroadAt returns an address as machines elsewhere reach it.
func (s *Server) abroadAt(a netip.AddrPort) netip.AddrPort {
	if a.Addr().IsLoopback() {
		return s.opt.Addresses.Outside().Given(a)
	}
	return a
}

// changed lists a game of another node as it is now.
func (s *Server) changed(c cluster.Change[int, shared]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, known := s.place(c.Key)
	if known && s.games[i].node != c.Node {
		return // a game of this node or of a third one has the number
	}
	if known {
		s.games = slices.Delete(s.games, i, i+1)
	}
	if c.Removed {
		return
	}
	values, err := wire.ParseText(c.Value.Values, maxKeys)
	if err != nil || !c.Value.At.IsValid() || len(c.Value.Players) > maxSeats {
		s.nodes.bus.Unread(c.Node, "theater")
		return
	}
	f := &c.Value
	g := &game{id: c.Key, node: c.Node, open: true, source: f.At, seats: make(map[int]*seat), queue: make([]*seat, min(max(f.Queue, 0), maxSeats))}
	g.host = &session{server: s, peer: f.At, port: f.At.Port(), player: f.Host}
	g.values.Text = values
	for i, p := range f.Players {
		g.seats[i+1] = &seat{game: g, pid: i + 1, uid: p.UID, name: p.Name, state: entered}
	}
	s.games = slices.Insert(s.games, i, g)
}

// elsewhere returns the game of another node with a player whom a request of a client names, nil if there is none.
func (s *Server) elsewhere(client string, r *request) *game {
	uid, name := r.Get("UID"), storage.Fold(r.Get("USER"))
	if number(uid) <= 0 && name == "" {
		return nil
	}
	is := func(id, nick string) bool {
		return number(uid) > 0 && id == uid || number(uid) <= 0 && storage.Fold(nick) == name
	}
	for _, g := range s.games {
		if g.node == "" || g.host.player.Client != client {
			continue
		}
		if is(g.host.uid(), g.host.player.Name) || slices.ContainsFunc(g.players(), func(at *seat) bool { return is(at.uid, at.name) }) {
			return g
		}
	}
	return nil
}

// ask asks the node of a game about it for a player, once the server is not locked, and calls done with the answer.
func (s *Server) ask(x *session, r *request, g *game, token uint64, done func(answer []byte, err error)) {
	text := slices.DeleteFunc(slices.Clone(r.Text), func(f wire.Field) bool { return f.Key == "GID" })
	text.Add("GID", strconv.Itoa(g.id))
	q := farRequest{
		Token: token, Word: r.Service, Text: text.Append(nil, wire.ClientEnd), Player: x.player,
		Peer: s.abroadAt(x.peer), Port: x.port,
	}
	x.then = func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		q.Node = s.nodes.bus.Self()
		done(s.nodes.asks.Ask(ctx, g.node, q))
	}
}

// dataFar describes a game of another node.
func (x *session) dataFar(r *request, g *game) {
	x.server.ask(x, r, g, 0, func(answer []byte, err error) {
		if err != nil {
			x.refuse(r.Service, r.id(), noGame)
			return
		}
		x.queue(answer)
	})
}

// joinFar asks to be let into a game of another node.
func (x *session) joinFar(r *request, g *game) {
	s := x.server
	if x.hosts != nil {
		s.metrics.joins.WithLabelValues(joinRefused).Inc()
		x.reply("EGAM", r.id(), append(g.ids(), "ALLOWED", "0", "REASON", refusedReason)...)
		return
	}
	x.abandon()
	s.token++
	a := &away{
		visitor: visitor{g.node, s.nodes.bus.Incarnation(g.node), s.token}, who: x, game: g.id, tid: r.id(), waits: true, by: r.now.Add(answerTime + 2*callTime),
	}
	x.away, s.abroad[a.token] = a, x
	s.ask(x, r, g, a.token, func(_ []byte, err error) {
		if err == nil {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if x.away == a {
			a.deserted()
		}
	})
}

// errFar reports a request that no node makes.
var errFar = errors.New("a request that is not asked of other nodes")

// answerFar answers a player of another node.
func (s *Server) answerFar(_ context.Context, q farRequest) (answer []byte, err error) {
	text, err := wire.ParseText(q.Text, wire.MaxLines)
	if err != nil {
		return nil, err
	}
	if !q.Peer.IsValid() || q.Word != "GDAT" && q.Word != "EGAM" {
		return nil, errFar
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &session{server: s, peer: q.Peer, port: q.Port, player: q.Player, visitor: visitor{q.Node, s.nodes.bus.Incarnation(q.Node), q.Token}}
	r := &request{wire.Header{Service: q.Word}, text, time.Now()}
	if g := s.game(number(r.Get("GID"))); g != nil && g.node != "" {
		return nil, cluster.ErrGone // it is that of a third node
	}
	if q.Word == "GDAT" {
		x.queue = func(b []byte) { answer = append(answer, b...) }
		x.data(r)
		return answer, nil
	}
	x.queue = func(b []byte) {
		m := toGuest{Node: s.nodes.bus.Self(), Token: q.Token, Frame: b}
		if x.seat != nil {
			m.Seat, m.State = true, x.seat.state
		}
		s.nodes.sent.Send(q.Node, m)
	}
	x.join(r)
	return nil, nil
}

// heard passes a message of another node to its player.
func (s *Server) heard(m toGuest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.abroad[m.Token]
	if x == nil || x.away.node != m.Node {
		return
	}
	x.queue(m.Frame)
	a := x.away
	if a.waits = m.Seat && m.State <= asked; a.waits && m.State == queued {
		a.by = time.Time{}
	}
	if !m.Seat {
		a.end()
	}
}

// departed ends the part of a player of another node in a game.
func (s *Server) departed(m departure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.game(m.Game)
	if g == nil {
		return
	}
	for _, at := range g.all() {
		if who := at.who; who != nil && who.visitor.node == m.Node && who.visitor.token == m.Token {
			if m.Expelled {
				who.expel()
			}
			who.abandon()
		}
	}
}

// end ends the part of the player. The other node knows it, or must be sent a departure.
func (a *away) end() {
	delete(a.who.server.abroad, a.token)
	a.who.away = nil
}

// leave ends it, and tells the other node. a may be nil.
func (a *away) leave(expelled bool) {
	if a != nil {
		n := &a.who.server.nodes
		n.left.Send(a.node, departure{n.bus.Self(), a.game, a.token, expelled})
		a.end()
	}
}

// deserted ends it because the other node is not heard. A player who waits for an answer gets an error.
func (a *away) deserted() {
	a.leave(false)
	if a.waits {
		a.who.refuse("EGAM", a.tid, noGame)
	}
}

// overdue reports whether the client has waited for another node for too long.
func (a *away) overdue(now time.Time) bool { return a.waits && !a.by.IsZero() && !now.Before(a.by) }
