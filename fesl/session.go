package fesl

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/fault"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

// Bounds of a session.
const (
	maxEarly = 16 << 10 // bytes of a frame before the sign-in
	maxFrame = 64 << 10 // afterwards

	// A client over this rate of messages waits.
	paceRate  = 20
	paceBurst = 60

	// work bounds a request, also while the service stops.
	work = 20 * time.Second
)

// session is the state of one connection. It knows no socket: handle takes a frame and
// appends the answer to out. It is used by one goroutine at a time; only its player is
// ended from elsewhere.
type session struct {
	server      *Server
	peer, local netip.AddrPort
	life        life
	parts       wire.Parts
	pace        *rate.Limiter
	kick        func(reason error) // ends the session, from any goroutine

	out      []byte // output to be sent
	fragment int    // the longest frame that the client takes
	title    title
	version  string     // of the game, as it says itself
	domain   string     // of the game, see hello
	ticketed bool       // the last sign-in was by a ticket of a console
	searches int        // for games
	messages int        // to other players
	after    *wire.Text // message of service pnow that follows the answer; nil: none

	player *player // nil: not signed in
}

// player is a client that is signed in to an account, and perhaps plays as one of its
// profiles. It is immutable, and implements presence.Attached.
type player struct {
	session *session
	login   accounts.Login
	profile storage.ProfileID // 0: of none
	key     string            // with which it enters the list of games; empty: it does not
	since   time.Time
	detach  func()
}

var _ presence.Attached = (*player)(nil)

// Profile implements presence.Attached.
func (p *player) Profile() storage.ProfileID { return p.profile }

// User implements presence.Attached.
func (p *player) User() storage.UserID { return p.login.User }

// Client implements presence.Attached.
func (p *player) Client() presence.Client {
	return presence.Client{Peer: p.session.peer, Game: p.session.title.game, Since: p.since}
}

// Kick implements presence.Attached.
func (p *player) Kick(reason error) {
	p.session.server.opt.Lobby.Revoke(p.key)
	p.session.kick(reason)
}

// newSession returns the session of a connection that has just begun.
func (s *Server) newSession(peer, local netip.AddrPort, kick func(error), now time.Time) *session {
	return &session{
		server: s, peer: peer, local: local, kick: kick, fragment: wire.MaxFragment,
		life: life{every: s.opt.MemCheck, began: now, heard: now}, pace: rate.NewLimiter(paceRate, paceBurst),
	}
}

// end releases what the session holds.
func (x *session) end() { x.forget() }

// forget undoes the sign-in.
func (x *session) forget() {
	p := x.player
	if p == nil {
		return
	}
	x.player = nil
	if p.detach(); p.profile != 0 {
		x.server.playing.leave(p)
		x.server.opt.Lobby.Leave(p.key, time.Now())
	}
	x.server.metrics.players.Dec()
}

// most returns how long the next frame may be.
func (x *session) most() int {
	if x.life.stage < stageAccount {
		return maxEarly
	}
	return maxFrame
}

// handle executes a frame. The error is the reason to close the connection.
func (x *session) handle(ctx context.Context, f wire.Frame, now time.Time) error {
	x.life.heard = now
	lines := wire.MaxLines
	if f.Kind.IsPart() {
		if x.life.stage < stageAccount {
			return endedEarly
		}
		whole, done, err := x.parts.Add(f)
		if err != nil {
			return endedMalformed
		}
		if !done {
			if x.life.partial.IsZero() {
				x.life.partial = now
			}
			return nil
		}
		f, lines = whole, wire.MaxLongLines
	}
	if !x.parts.Begun() {
		x.life.partial = time.Time{}
	}
	text, err := wire.ParseText(f.Payload, lines)
	if err != nil {
		return endedMalformed
	}
	switch f.Kind {
	case wire.Request:
		return x.answer(ctx, &request{f.Header, text}, now)
	case wire.Reply: // to MemCheck or Ping: it was heard
		if x.life.stage > stageNew {
			return nil
		}
		return endedEarly
	default:
		return endedMalformed
	}
}

// answer executes a request and appends its answer.
func (x *session) answer(ctx context.Context, r *request, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, work)
	defer cancel()
	txn := r.TXN()
	c := x.server.commands[ascii.ToLower(r.Service+" "+txn)]
	answer := wire.Text{{Key: "TXN", Value: txn}}
	if id, ok := r.Look("TID"); ok {
		answer.Add("TID", id)
	}
	head := len(answer)
	err := x.execute(ctx, c, r, &answer)
	if _, over := errors.AsType[ended](err); over || errors.Is(err, errGoodbye) {
		return err
	}
	if err != nil {
		answer = answer[:head]
		x.refusal(ctx, c, err).write(&answer)
	}
	x.send(wire.Header{Service: r.Service, Kind: wire.Reply, Number: r.Number}, answer)
	if x.after != nil {
		x.send(wire.Header{Service: r.Service, Kind: wire.Reply}, *x.after)
		x.after = nil
	}
	if c != nil && c.stage == stageNew { // games wait for it
		x.life.hello(now)
		x.ask(memCheck, now)
	}
	return nil
}

// execute runs a command, nil if there is none.
func (x *session) execute(ctx context.Context, c *command, r *request, answer *wire.Text) error {
	switch {
	case x.life.stage == stageNew && (c == nil || c.stage > stageNew):
		return endedEarly
	case c == nil:
		x.unknown(r)
		return nil // games go on
	}
	x.server.metrics.requests.WithLabelValues(c.name).Inc()
	if x.life.stage < c.stage {
		return refuse(codeNotSignedIn, "You are not signed in.")
	}
	return c.run(x, ctx, r, answer)
}

// unknown counts a request that is not in the table, and logs the first of its kind.
func (x *session) unknown(r *request) {
	x.server.metrics.requests.WithLabelValues(unknownRequest).Inc()
	x.server.opt.Metrics.Drop(droppedUnknown.Error())
	request := clean.Line(r.Service+" "+r.TXN(), wire.MaxKey)
	if x.server.strange.first(x.title.client, request) {
		x.server.opt.Log.Info().Str("client", x.title.client).Str("request", request).Msg("an unknown request was answered with its name alone")
	}
}

// refusal counts an error and returns what the client is sent for it.
func (x *session) refusal(ctx context.Context, c *command, err error) *refusal {
	why := refusalOf(err, x.server.private())
	if why == nil {
		why = &refusal{code: codeSystem, text: "The server cannot do that now."}
		if ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
			x.server.trouble.Line(fault.Log(x.server.opt.Log, err)).Err(err).Str("request", c.name).Msg("request not carried out")
		}
	}
	x.server.metrics.refused(why.code)
	return why
}

// send appends a message to the output.
func (x *session) send(h wire.Header, t wire.Text) {
	x.out = wire.AppendMessage(x.out, h, t.Append(nil, wire.ServerEnd), x.fragment)
}

// namespace returns the namespace of the unique nicks of the game, or that of players of consoles.
func (x *session) namespace() int {
	if x.ticketed {
		return consoleNamespace
	}
	if g, ok := x.server.opt.Games.Lookup(storage.Fold(x.title.game)); ok {
		return g.UniqueNicks()
	}
	return games.DefaultNamespace
}

// note notes a verdict on the client.
func (x *session) note(v verdicts.Verdict) {
	x.server.opt.Verdicts.NoteDetail(name, x.peer.Addr(), x.title.game, v, verdicts.VersionDetail(x.version))
}
