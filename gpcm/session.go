package gpcm

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/drops"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

// Bounds of a connection.
const (
	// forever is how long a signed-in client may be silent.
	forever = 10 * 365 * 24 * time.Hour
	// closeGrace is the time limit for writing the last messages.
	closeGrace = 2 * time.Second
	// A client that has to go while it is still sending is read from until it
	// pauses, within bounds: closing at once would take the last message from
	// it.
	lingerPause = 100 * time.Millisecond
	lingerTime  = time.Second
	lingerBytes = 256 << 10
	// maxBeforeLogin is the number of messages that a client may send before it
	// signs in.
	maxBeforeLogin = 32
	// challengeLen is the length of the server's challenge. Clients build on a
	// short one.
	challengeLen = 10
	// loginID is the id of every request before the sign-in.
	loginID = 1

	// Commands that reach others cost something. A client may have paceBurst of
	// that at once; beyond it, it waits.
	paceRate  = 1000
	paceBurst = 5000
	// Changes of the store that a profile may make, per second and at once,
	// over all its connections. More are refused. changeSlots profiles are
	// remembered.
	changeRate  = 20
	changeBurst = 200
	changeSlots = 1 << 15
)

// ended is the reason for which the service closes a connection, or drops a
// message; its name is its label in metrics.
type ended = drops.Reason

var reasons drops.List

var (
	endedBanned     = reasons.Add("banned")
	endedTooLong    = reasons.Add("too_long")
	endedMalformed  = reasons.Add("malformed")
	endedEarly      = reasons.Add("not_logged_in")
	endedFlood      = reasons.Add("login_flood")
	endedTimeout    = reasons.Add("login_timeout")
	endedSessionKey = reasons.Add("bad_session_key")
	endedSlow       = reasons.Add("queue_full")

	// After these the connection continues.
	droppedEmpty   = reasons.Add("no_command")
	droppedUnknown = reasons.Add("unknown_command")
	droppedValue   = reasons.Add("bad_value")
	droppedRate    = reasons.Add("too_many_changes")
	droppedBlocked = reasons.Add("blocked")
	droppedKind    = reasons.Add("bad_kind")
	droppedBusy    = reasons.Add("receiver_busy")
)

// Why a connection ends without anything to count.
var (
	errLogout   = errors.New("logged out")
	errDeleted  = errors.New("profile deleted")
	errShutdown = errors.New("the service stops")
	errGone     = errors.New("the client has gone")
	errDatabase = errors.New("the store cannot be read")
)

// session is one connection. Its goroutine reads and executes commands; once it
// is signed in a second one, which runs only while needed, writes the outbox.
// Only the methods that presence calls are called from other goroutines.
type session struct {
	server    *Server
	conn      *netserve.Conn
	in        gamespy.Inbox
	challenge string
	early     int  // messages before the sign-in
	signedIn  bool // the hub knows the session; the fields of who are set

	who
	status     presence.Status
	quietSince time.Time // zero: since the sign-in
	known      knownRelations
	pace       *rate.Limiter
	dispatched dispatched

	out     outbox
	silence *time.Timer // nil: the writer may not begin
	writer  sync.WaitGroup
	quiet   atomic.Uint32 // that of status

	// Of the writer; after its end, of the session's goroutine.
	failed   bool             // the client no longer reads
	unsent   []presence.Event // was not written
	flight   flight
	unread   unread
	settleBy time.Time   // zero: nothing is in flight
	settling *time.Timer // of settleBy; nil: nothing was ever in flight
	renewed  time.Time   // when the client got its ticket
	shown    shownRequests
	given    delivered

	kickOnce sync.Once
	kicked   chan struct{}     // closed by the first Kick
	reason   error             // set before kicked is closed
	ending   storage.ProfileID // that ends; set before kicked is closed; 0: it did not sign in
}

var _ presence.Session = (*session)(nil)

// who is the identity that a login establishes. It is immutable.
type who struct {
	user      storage.UserID
	profile   storage.ProfileID
	key       int32
	revision  int
	namespace int
	game      string
	since     time.Time
	rule      rule
}

// Profile implements presence.Session.
func (x *session) Profile() storage.ProfileID { return x.profile }

// User implements presence.Session.
func (x *session) User() storage.UserID { return x.user }

// Key implements presence.Session.
func (x *session) Key() int32 { return x.key }

// Client implements presence.Session.
func (x *session) Client() presence.Client {
	return presence.Client{Peer: x.conn.Peer(), Game: x.game, Since: x.since}
}

// Deliver implements presence.Session.
func (x *session) Deliver(e presence.Event) bool {
	switch x.out.offer(e) {
	case takenYes:
		return true
	case takenFull:
		x.Kick(endedSlow)
	case takenBusy:
		x.drop(droppedBusy)
	case takenOver:
	}
	return false
}

// Kick implements presence.Session.
func (x *session) Kick(reason error) {
	x.kickOnce.Do(func() {
		x.reason = reason
		x.ending = x.profile
		if x.ending != 0 {
			x.server.endings.begin(x.ending)
		}
		close(x.kicked)
		x.wake() // its goroutine continues
	})
}

// ServeConn implements netserve.ConnHandler. It returns when the client has
// disconnected or is disconnected, or ctx ends.
func (s *Server) ServeConn(ctx context.Context, c *netserve.Conn) {
	if s.opt.Banned.Has(c.Peer().Addr()) {
		s.refuseConn(c)
		return
	}
	_ = c.SetUserTimeout(s.opt.UserTimeout) // not every system has one
	x := s.newSession(c)
	defer x.release(ctx)
	stop := context.AfterFunc(ctx, x.wake)
	defer stop()
	x.finish(ctx, x.run(ctx))
}

// release makes sure, also after a panic, that nothing is left of the session.
func (x *session) release(ctx context.Context) {
	_ = x.conn.Close()
	x.Kick(errGone)
	if x.signedIn {
		x.server.opt.Hub.SignOut(ctx, x)
	}
	x.stopWriting(nil)
	x.settleAtEnd(ctx, false)
	if x.ending != 0 {
		x.server.endings.end(x.ending)
	}
	x.settleDispatched() // after that: it may wait for other sessions that are ending
}

// newSession returns the session of a connection that has just begun.
func (s *Server) newSession(c *netserve.Conn) *session {
	return &session{
		server: s, conn: c, challenge: s.newChallenge(), out: newOutbox(), kicked: make(chan struct{}),
	}
}

// refuseConn rejects a banned client.
func (s *Server) refuseConn(c *netserve.Conn) {
	s.opt.Metrics.Drop(endedBanned.Error())
	s.note(c, "", verdicts.Banned)
	banned := &refusal{code: codeLogin, text: "You are banned."}
	_, _ = c.Write(appendError(nil, banned, loginRequest()))
}

// wake makes the goroutine of the session look around.
func (x *session) wake() { _ = x.conn.SetReadDeadline(time.Now()) }

// debug returns a line of the log about the connection.
func (x *session) debug(err error) *zerolog.Event {
	return x.server.opt.Log.Debug().Stringer("peer", x.conn.Peer()).Uint32("profile", uint32(x.profile)).Err(err)
}

func (x *session) drop(why ended) { x.server.opt.Metrics.Drop(why.Error()) }

// loginRequest is the request that a client waits for before it is signed in:
// its id is always the same.
func loginRequest() *request { return &request{id: loginID, hasID: true} }

// run greets the client and executes its commands. The error is the reason for
// its end.
func (x *session) run(ctx context.Context) error {
	if err := x.greet(); err != nil {
		return err
	}
	for {
		body, err := x.next(ctx)
		if err != nil {
			return err
		}
		if err := x.handle(ctx, body); err != nil {
			return err
		}
	}
}

// greet sends the challenge. From then on the client has to sign in.
func (x *session) greet() error {
	hello := appendPair(nil, "lc", "1")
	hello = appendPair(hello, "challenge", x.challenge)
	if _, err := x.conn.Write(appendReplyEnd(hello, loginRequest())); err != nil {
		return err
	}
	return x.conn.SetReadDeadline(time.Now().Add(x.server.opt.LoginTime))
}

// next returns the next message, which is valid until the next call.
func (x *session) next(ctx context.Context) ([]byte, error) {
	if err := x.ready(ctx); err != nil {
		return nil, err
	}
	body, err := x.in.Next(x.conn)
	return body, x.checkRead(ctx, err)
}

// ready waits until the client has read most of its queue and returns an error
// if no more commands are to be read.
func (x *session) ready(ctx context.Context) error {
	x.out.waitHalf(x.kicked)
	return x.over(ctx)
}

func (x *session) checkRead(ctx context.Context, err error) error {
	if over := x.over(ctx); over != nil {
		return over
	}
	switch {
	case err == nil && x.server.opt.Banned.Has(x.conn.Peer().Addr()):
		return endedBanned
	case errors.Is(err, gamespy.ErrMessageTooLong):
		return endedTooLong
	case errors.Is(err, os.ErrDeadlineExceeded) && !x.signedIn:
		return endedTimeout
	}
	return err
}

// over returns why nothing more is to be done for the client, nil if there is.
func (x *session) over(ctx context.Context) error {
	select {
	case <-x.kicked:
		return x.reason
	default:
	}
	if ctx.Err() != nil {
		return errShutdown
	}
	return nil
}

// finish signs the session out and sends the client the reason for the end.
func (x *session) finish(ctx context.Context, err error) {
	defer func() { x.debug(err).Msg("connection ended") }()
	if why, ok := errors.AsType[ended](err); ok {
		x.drop(why)
	}
	x.Kick(err) // the writer no longer waits; before the sign-out, after which messages are stored
	if x.signedIn {
		x.server.opt.Hub.SignOut(ctx, x)
	}
	last := x.lastWords(err)
	if errors.Is(err, endedSlow) {
		_ = x.conn.Close() // too many events wait
	}
	_ = x.conn.SetWriteDeadline(time.Now().Add(closeGrace))
	if x.silence == nil && last != nil { // room again
		_, _ = x.conn.Write(last)
	}
	x.stopWriting(last)
	there := errors.Is(err, io.EOF) || errors.Is(err, errLogout)
	if last != nil || errors.Is(err, errDeleted) {
		there = x.linger() && x.tookAll()
	}
	x.settleAtEnd(ctx, there)
}

// lastWords returns the error that informs the client of the end of the
// connection, nil if it knows or has gone.
func (x *session) lastWords(err error) []byte {
	r := new(request)
	if !x.signedIn {
		r = loginRequest() // the pending request
	}
	why := func(c code, text string) []byte {
		x.server.metrics.refused(c)
		return appendError(nil, &refusal{code: c, text: text}, r)
	}
	if told, ok := errors.AsType[*farewell](err); ok {
		x.server.metrics.refused(told.refusal.code)
		return appendError(nil, told.refusal, told.request)
	}
	switch {
	case errors.Is(err, endedTooLong), errors.Is(err, endedMalformed):
		x.server.note(x.conn, "", verdicts.MalformedRequest)
		return why(codeParse, "")
	case errors.Is(err, endedFlood):
		x.server.note(x.conn, "", verdicts.Limited)
		return why(codeParse, "")
	case errors.Is(err, endedTimeout):
		x.server.note(x.conn, "", verdicts.NeverSignedIn)
		return why(codeLoginTimeout, "")
	case errors.Is(err, endedBanned):
		return why(codeForced, "You are banned.")
	case errors.Is(err, presence.ErrDisplaced):
		return why(codeForced, "")
	case errors.Is(err, presence.ErrBanned):
		return why(codeForced, "The account is banned.")
	case errors.Is(err, presence.ErrDeleted):
		return why(codeForced, "The profile was deleted.")
	case errors.Is(err, presence.ErrKicked):
		return why(codeForced, "You were signed out by the operator.")
	case errors.Is(err, errDatabase):
		x.server.troubled(err, "mailbox not read, connection ended")
		return why(codeDatabase, "")
	case errors.Is(err, errShutdown):
		return why(codeGeneral, "The server is going down.")
	}
	return nil
}

// farewell ends a connection with a refusal as the answer to a request.
type farewell struct {
	refusal *refusal
	request *request
	why     error // counted error; nil: none
}

// Error implements error.
func (f *farewell) Error() string { return f.refusal.Error() }

// Unwrap returns the counted error.
func (f *farewell) Unwrap() error { return f.why }

// linger discards further input of the client until it pauses or has closed its
// side. It reports whether the connection is in order.
func (x *session) linger() bool {
	err := x.conn.Linger(lingerPause, lingerTime, lingerBytes)
	return err == nil || errors.Is(err, io.EOF)
}
