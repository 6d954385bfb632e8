package theater

import (
	"context"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/fesl/lobby"
	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

// session is the state of one connection. It knows no socket: handle takes a message, and what it
// sends goes to queue. Server.mu guards it; the first four fields never change.
type session struct {
	server      *Server
	peer, local netip.AddrPort
	queue       func([]byte)       // takes output, and never blocks
	kick        func(reason error) // ends the session, from any goroutine

	greeted bool // CONN came
	heard   time.Time
	pinged  time.Time
	since   time.Time
	player  lobby.Player // without a Profile: not signed in. It is set once
	detach  func()
	told    int                   // messages of the server so far
	port    uint16                // from which its datagrams come; 0: none came
	hosts   *game                 // nil: none
	visitor visitor               // of another node, for which the session stands there; it has no connection
	seat    *seat                 // in the game that it plays or joins; nil: none
	away    *away                 // in a game of another node; nil: in none
	then    func(context.Context) // what is to be done after the message, without the lock; nil: nothing
	bracket bracket
}

var _ presence.Attached = (*session)(nil)

// Profile implements presence.Attached.
func (x *session) Profile() storage.ProfileID { return x.player.Profile }

// User implements presence.Attached.
func (x *session) User() storage.UserID { return x.player.User }

// Client implements presence.Attached.
func (x *session) Client() presence.Client {
	return presence.Client{Peer: x.peer, Game: x.player.Game, Since: x.since}
}

// Kick implements presence.Attached.
func (x *session) Kick(reason error) { x.kick(reason) }

// uid returns the number of the player as text.
func (x *session) uid() string { return strconv.FormatUint(uint64(x.player.Profile), 10) }

// signedIn reports whether the client is a player.
func (x *session) signedIn() bool { return x.player.Profile != 0 }

// at returns the address of the player's game, whose port is the stated one unless another was
// seen.
func (x *session) at(stated string) netip.AddrPort {
	port := x.port
	if port == 0 {
		port = portOf(stated)
	}
	return netip.AddrPortFrom(x.peer.Addr(), port)
}

// given returns an address as the client gets it.
func (x *session) given(a netip.AddrPort) netip.AddrPort {
	return x.server.opt.Addresses.Asker(x.peer.Addr()).Given(a)
}

// lines returns a text of keys and values in turn.
func lines(pairs ...string) (t wire.Text) {
	for i := 0; i+1 < len(pairs); i += 2 {
		t.Add(pairs[i], pairs[i+1])
	}
	return t
}

// encode returns the bytes of a message.
func encode(h wire.Header, t wire.Text) []byte {
	return (&wire.Frame{Header: h, Payload: t.Append(nil, wire.ServerEnd)}).Append(nil)
}

// send sends a message.
func (x *session) send(h wire.Header, t wire.Text) { x.queue(encode(h, t)) }

// answer returns the answer to the request with a number, with keys and values in turn.
func answer(word, tid string, pairs ...string) []byte {
	return encode(wire.Header{Service: word, Kind: wire.TheaterReply}, lines(append([]string{"TID", tid}, pairs...)...))
}

// reply sends an answer.
func (x *session) reply(word, tid string, pairs ...string) { x.queue(answer(word, tid, pairs...)) }

// refuse answers a request with an error.
func (x *session) refuse(word, tid, why string) {
	x.server.metrics.errors.WithLabelValues(why).Inc()
	x.send(wire.Failure(word, why), lines("TID", tid))
}

// tell sends a message that answers nothing.
func (x *session) tell(word string, pairs ...string) {
	x.told++
	x.send(wire.Header{Service: word, Kind: wire.TheaterReply}, lines(append(pairs, "TID", strconv.Itoa(x.told))...))
}

// request is a message of a client.
type request struct {
	wire.Header
	wire.Text
	now time.Time
}

// id returns the number of the request.
func (r *request) id() string { return r.Get("TID") }

// handle executes a message. The error is the reason to close the connection. Server.mu is held.
func (x *session) handle(f wire.Frame, now time.Time) error {
	if f.Kind != wire.TheaterRequest && f.Kind != wire.TheaterReply {
		return endedMalformed
	}
	t, err := wire.ParseText(f.Payload, wire.MaxLines)
	if err != nil {
		return endedMalformed
	}
	x.heard = now
	r := &request{f.Header, t, now}
	r.Service = strings.ToUpper(r.Service)
	c, known := commands[r.Service]
	label := r.Service
	if !known {
		label = unknownRequest
	}
	x.server.metrics.requests.WithLabelValues(label).Inc()
	x.bracket.messages++
	switch {
	case c.early:
	case !x.signedIn():
		return endedEarly
	case !known:
		x.server.opt.Metrics.Drop(droppedUnknown.Error())
		x.server.opt.Log.Debug().Str("client", x.player.Client).Str("request", r.Service).Msg("an unknown request was answered with its number alone")
		x.reply(r.Service, r.id())
		return nil
	}
	return c.run(x, r)
}

// command is what a client can request. The error of run is the reason to close the connection.
type command struct {
	early bool // also by one that is not a player yet
	run   func(x *session, r *request) error
}

// commands are all, by their words.
var commands = map[string]command{
	"CONN": {true, (*session).conn},
	"USER": {true, (*session).user},
	"PING": {true, always(func(*session, *request) {})}, // the answer to that of the server: it was heard
	"LLST": {false, always((*session).lobbies)},
	"GLST": {false, always((*session).list)},
	"GDAT": {false, always((*session).data)},
	"PCNT": {false, always((*session).count)},
	"CGAM": {false, always((*session).create)},
	"UBRA": {false, always((*session).bracketed)},
	"UGAM": {false, hosted((*session).update)},
	"UGDE": {false, hosted((*session).updateDetails)},
	"RGAM": {false, hosted((*session).remove)},
	"EGRS": {false, seated((*session).decide)},
	"PENT": {false, seated((*session).entered)},
	"PLVT": {false, seated((*session).left)},
	"UPLA": {false, seated((*session).updatePlayer)},
	"EGAM": {false, always((*session).join)},
	"ECNL": {false, always((*session).cancel)},
}

// always is a command that ends no connection.
func always(run func(*session, *request)) func(*session, *request) error {
	return func(x *session, r *request) error {
		run(x, r)
		return nil
	}
}

// hosted is a command about the game that the client hosts. About others it is dropped.
func hosted(run func(*session, *request, *game)) func(*session, *request) error {
	return always(func(x *session, r *request) {
		if x.hosts == nil || number(r.Get("GID")) != x.hosts.id {
			x.server.opt.Metrics.Drop(droppedNotHost.Error())
			return
		}
		run(x, r, x.hosts)
	})
}

// seated is a command about a player in the game that the client hosts. About others it is dropped.
func seated(run func(*session, *request, *seat)) func(*session, *request) error {
	return hosted(func(x *session, r *request, g *game) {
		s := g.seats[number(r.Get("PID"))]
		if s == nil {
			x.server.opt.Metrics.Drop(droppedNotSeated.Error())
			return
		}
		run(x, r, s)
	})
}

// conn is the first message of a client.
func (x *session) conn(r *request) error {
	x.greeted = true
	x.reply("CONN", r.id(), "TIME", strconv.FormatInt(r.now.Unix(), 10), "activityTimeoutSecs", "0", "PROT", r.Get("PROT"))
	return nil
}

// user signs the client in by its session key. An older session of the player ends.
func (x *session) user(r *request) error {
	s := x.server
	if !x.greeted || x.signedIn() {
		return endedEarly
	}
	p, ok := s.opt.Lobby.Player(r.Get("LKEY"), r.now)
	if ok {
		x.player, x.since, x.pinged = p, r.now, r.now
		x.detach = s.opt.Attach(x)
		_, ok = s.opt.Lobby.Player(r.Get("LKEY"), r.now) // one who was banned before would not be kicked
	}
	if !ok {
		s.opt.Players.NotePlayer(playerName, x.peer.Addr(), "", verdicts.BadTicket)
		x.refuse(r.Service, r.id(), badValue)
		return endedKey
	}
	if before := s.players[p.Profile]; before != nil {
		before.kick(presence.ErrDisplaced)
		s.leave(before)
	}
	s.players[p.Profile] = x
	s.metrics.players.Inc()
	s.opt.Players.NotePlayer(playerName, x.peer.Addr(), p.Game, verdicts.SignedIn)
	x.reply("USER", r.id(), "NAME", p.Name)
	return nil
}
