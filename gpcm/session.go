package gpcm

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// Bounds of a connection.
const (
	// forever is how long a client that is signed in may be silent.
	forever = 10 * 365 * 24 * time.Hour
	// closeGrace is how long the last messages may take.
	closeGrace = 2 * time.Second
	// A client that has to go while it is still sending is read from until it
	// pauses, within bounds: closing at once would take the last message from
	// it.
	lingerPause = 100 * time.Millisecond
	lingerTime  = time.Second
	lingerBytes = 256 << 10
	// maxBeforeLogin is how many messages a client may send without signing in.
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
	// Changes of what is stored, per second and at once. More are refused.
	changeRate  = 20
	changeBurst = 200
)

// ended is why the service closes a connection, or drops a message; it is
// counted under this name.
type ended string

// Error implements error.
func (e ended) Error() string { return string(e) }

// The reasons.
const (
	endedBanned     ended = "banned"
	endedTooLong    ended = "too_long"
	endedMalformed  ended = "malformed"
	endedEarly      ended = "not_logged_in"
	endedFlood      ended = "login_flood"
	endedTimeout    ended = "login_timeout"
	endedSessionKey ended = "bad_session_key"
	endedSlow       ended = "queue_full"

	// After these the connection goes on.
	droppedEmpty   ended = "no_command"
	droppedUnknown ended = "unknown_command"
	droppedValue   ended = "bad_value"
	droppedRate    ended = "too_many_changes"
	droppedBlocked ended = "blocked"
	droppedKind    ended = "bad_kind"
	droppedBusy    ended = "receiver_busy"
)

// DropReasons are the reasons under which the service counts what it drops, for
// netserve.NewMetrics.
func DropReasons() []string {
	all := []ended{
		endedBanned, endedTooLong, endedMalformed, endedEarly, endedFlood, endedTimeout, endedSessionKey, endedSlow,
		droppedEmpty, droppedUnknown, droppedValue, droppedRate, droppedBlocked, droppedKind, droppedBusy,
	}
	names := make([]string, len(all))
	for i, e := range all {
		names[i] = string(e)
	}
	return names
}

// Why a connection ends without anything to count.
var (
	errLogout   = errors.New("logged out")
	errDeleted  = errors.New("profile deleted")
	errShutdown = errors.New("the service stops")
	errGone     = errors.New("the client has gone")
)

// session is one connection. Its goroutine reads and carries out; once it is
// signed in a second one writes what is in the outbox. Only what presence calls
// is called from others.
type session struct {
	server    *Server
	conn      *netserve.Conn
	in        inbox
	challenge string
	early     int  // messages before the sign-in
	signedIn  bool // the hub knows the session; the fields of who are set

	who
	status     presence.Status
	quietSince time.Time // zero: since the sign-in
	known      knownRelations
	pace       *rate.Limiter
	changes    *rate.Limiter

	out     outbox
	writer  sync.WaitGroup
	writing bool             // the writer was started
	unsent  []presence.Event // of the writer, for after its end
	renewed time.Time        // of the writer: when the client got its ticket

	kickOnce sync.Once
	kicked   chan struct{} // closed by the first Kick
	reason   error         // set before kicked is closed
}

var _ presence.Session = (*session)(nil)

// who is what a login settles. It never changes afterwards.
type who struct {
	user      storage.UserID
	profile   storage.ProfileID
	key       int32
	revision  int
	namespace int
	game      string
	rule      Rule
}

// Profile implements presence.Session.
func (x *session) Profile() storage.ProfileID { return x.profile }

// User implements presence.Session.
func (x *session) User() storage.UserID { return x.user }

// Key implements presence.Session.
func (x *session) Key() int32 { return x.key }

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
		close(x.kicked)
		_ = x.conn.SetReadDeadline(time.Now()) // its goroutine does the rest
	})
}

// ServeConn implements netserve.ConnHandler. It returns when the client has
// gone, has to go, or ctx ends.
func (s *Server) ServeConn(ctx context.Context, c *netserve.Conn) {
	x := &session{
		server:    s,
		conn:      c,
		challenge: s.newChallenge(),
		out:       newOutbox(),
		kicked:    make(chan struct{}),
	}
	if s.banned(c.Peer().Addr()) {
		x.drop(endedBanned)
		_, _ = c.Write(appendError(nil, bannedAddress(), loginRequest()))
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Now()) })
	defer stop()
	err := x.run(ctx)
	if why, ok := errors.AsType[ended](err); ok {
		x.drop(why)
	}
	x.finish(ctx, err)
	x.debug(err).Msg("connection ended")
}

// debug returns a line of the log about the connection.
func (x *session) debug(err error) *zerolog.Event {
	return x.server.opt.Log.Debug().Stringer("peer", x.conn.Peer()).Uint32("profile", uint32(x.profile)).Err(err)
}

// drop counts something that is dropped.
func (x *session) drop(why ended) { x.server.opt.Metrics.Drop(string(why)) }

// loginRequest stands for what a client waits for that has not signed in: the
// id is always the same.
func loginRequest() *request { return &request{id: loginID, hasID: true} }

func bannedAddress() *refusal { return &refusal{code: codeLogin, text: "You are banned."} }

// randomLetters returns n random capitals.
func randomLetters(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	for i, c := range b {
		b[i] = 'A' + c%26
	}
	return string(b)
}

// run greets the client and carries out its commands. The error says why that
// ended.
func (x *session) run(ctx context.Context) error {
	hello := appendPair(nil, "lc", "1")
	hello = appendPair(hello, "challenge", x.challenge)
	if _, err := x.conn.Write(appendReplyEnd(hello, loginRequest())); err != nil {
		return err
	}
	if err := x.conn.SetReadDeadline(time.Now().Add(x.server.opt.LoginTime)); err != nil {
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

// next returns the next message, which is valid until the next call.
func (x *session) next(ctx context.Context) ([]byte, error) {
	x.out.roomy(x.kicked)
	if err := x.over(ctx); err != nil {
		return nil, err
	}
	body, err := x.in.next(x.conn)
	if over := x.over(ctx); over != nil {
		return nil, over
	}
	switch {
	case err == nil && x.server.banned(x.conn.Peer().Addr()):
		return nil, endedBanned
	case errors.Is(err, os.ErrDeadlineExceeded) && !x.signedIn:
		return nil, endedTimeout
	}
	return body, err
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

// finish tells the others that the session is over and the client why.
func (x *session) finish(ctx context.Context, err error) {
	if x.signedIn {
		x.server.opt.Hub.SignOut(ctx, x)
	}
	last := x.lastWords(err)
	if errors.Is(err, endedSlow) {
		_ = x.conn.Close() // what waits is too much for it
	}
	_ = x.conn.SetWriteDeadline(time.Now().Add(closeGrace))
	if x.writing {
		x.out.close(last)
		x.writer.Wait()
	} else {
		x.abandon()
		if last != nil {
			_, _ = x.conn.Write(last)
		}
	}
	x.handOn(ctx)
	if last != nil || errors.Is(err, errDeleted) {
		x.linger()
	}
}

// lastWords returns the error that tells the client why the connection ends,
// nil if it knows or has gone.
func (x *session) lastWords(err error) []byte {
	r := new(request)
	if !x.signedIn {
		r = loginRequest() // what it waits for
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
	case errors.Is(err, endedTooLong), errors.Is(err, endedMalformed), errors.Is(err, endedFlood):
		return why(codeParse, "")
	case errors.Is(err, endedTimeout):
		return why(codeLoginTimeout, "")
	case errors.Is(err, endedBanned):
		return why(codeForced, "You are banned.")
	case errors.Is(err, presence.ErrDisplaced):
		return why(codeForced, "")
	case errors.Is(err, presence.ErrBanned):
		return why(codeForced, "The account is banned.")
	case errors.Is(err, presence.ErrDeleted):
		return why(codeForced, "The profile was deleted.")
	case errors.Is(err, errShutdown):
		return why(codeGeneral, "The server is going down.")
	}
	return nil
}

// farewell ends a connection with a refusal as the answer to a request.
type farewell struct {
	refusal *refusal
	request *request
	why     error // what is counted; nil: nothing
}

// Error implements error.
func (f *farewell) Error() string { return f.refusal.Error() }

// Unwrap returns what is counted.
func (f *farewell) Unwrap() error { return f.why }

// linger reads what the client still sends until it pauses or has closed its
// side.
func (x *session) linger() {
	var sink [1024]byte
	end := time.Now().Add(lingerTime)
	for read := 0; read < lingerBytes && time.Now().Before(end); {
		if x.conn.SetReadDeadline(time.Now().Add(lingerPause)) != nil {
			return
		}
		n, err := x.conn.Read(sink[:])
		if err != nil {
			return
		}
		read += n
	}
}

// startWriting starts the goroutine that writes.
func (x *session) startWriting() {
	x.writing, x.renewed = true, time.Now()
	x.writer.Go(x.write)
}

// write writes what is in the outbox until it is closed or the client is gone.
func (x *session) write() {
	silence := time.NewTimer(x.server.opt.KeepAlive)
	defer silence.Stop()
	var spare []item
	for {
		items, last, closed := x.out.take(spare)
		if err := x.send(items, last); err != nil {
			x.Kick(err)
			x.abandon()
			return
		}
		if closed {
			return
		}
		if len(items) > 0 {
			silence.Reset(x.server.opt.KeepAlive)
		}
		spare = recycle(items)
		select {
		case <-x.out.wake:
		case <-silence.C:
			x.breakSilence()
			silence.Reset(x.server.opt.KeepAlive)
		}
	}
}

// breakSilence gives the client something to hear.
func (x *session) breakSilence() {
	if x.server.banned(x.conn.Peer().Addr()) {
		x.Kick(endedBanned)
		return
	}
	x.out.push(item{line: appendFinal(appendPair(nil, "ka", ""))})
}

// send writes items, and last after them. What an error kept from being written
// is in unsent then.
func (x *session) send(items []item, last []byte) error {
	buf := x.server.buffers.get()
	defer x.server.buffers.put(buf)
	if now := time.Now(); len(items) > 0 && now.Sub(x.renewed) >= x.server.opt.TicketRenewal {
		x.renewed = now
		x.server.metrics.renewed.Inc()
		*buf = appendEvent(*buf, presence.Ticket{Value: x.server.opt.Accounts.IssueTicket(x.profile)}, x.revision)
	}
	for i, next := range items {
		if next.event == nil {
			*buf = append(*buf, next.line...)
		} else {
			*buf = appendEvent(*buf, next.event, x.revision)
		}
		if len(*buf) >= maxWriteBuffer {
			if _, err := x.conn.Write(*buf); err != nil {
				x.keepUnsent(items[i+1:])
				return err
			}
			*buf = (*buf)[:0]
		}
	}
	*buf = append(*buf, last...)
	if len(*buf) == 0 {
		return nil
	}
	_, err := x.conn.Write(*buf)
	return err
}

// abandon closes the outbox and keeps what is in it.
func (x *session) abandon() {
	x.out.close(nil)
	items, _, _ := x.out.take(nil)
	x.keepUnsent(items)
}

// keepUnsent keeps the events that somebody else counts on.
func (x *session) keepUnsent(items []item) {
	for _, i := range items {
		if i.event != nil {
			x.unsent = append(x.unsent, i.event)
		}
	}
}

// handOn puts into the store what did not reach the client.
func (x *session) handOn(ctx context.Context) {
	if len(x.unsent) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	for _, e := range x.unsent {
		m, ok := stored(e)
		if !ok {
			continue
		}
		if err := x.server.leave(ctx, x.profile, m); err != nil {
			x.debug(err).Msg("undelivered message lost")
		}
	}
}

// inbox is what a client sent and nobody has read.
type inbox struct {
	buf      []byte
	from, to int // what of buf is unread
}

// Sizes of the memory of an inbox, in bytes.
const (
	firstInbox = 512
	keepInbox  = 2048 // more is given back when it is empty
)

// next returns the next message without its end, reading more if it must. It is
// valid until the next call.
func (i *inbox) next(r io.Reader) ([]byte, error) {
	for {
		if body, rest, ok := gamespy.CutFinal(i.buf[i.from:i.to]); ok {
			i.from = i.to - len(rest)
			return body, nil
		}
		if i.to-i.from >= gamespy.MaxMessage {
			return nil, endedTooLong
		}
		i.makeRoom()
		n, err := r.Read(i.buf[i.to:])
		i.to += n
		if n == 0 && err != nil {
			return nil, err
		}
	}
}

// makeRoom makes room for at least one byte behind what is unread.
func (i *inbox) makeRoom() {
	unread := i.buf[i.from:i.to]
	switch {
	case len(unread) == 0 && (i.buf == nil || len(i.buf) > keepInbox):
		i.buf = make([]byte, firstInbox)
	case i.from == 0 && i.to == len(i.buf):
		i.buf = append(i.buf, make([]byte, len(i.buf))...)
		return
	case i.to == len(i.buf) || len(unread) == 0:
		copy(i.buf, unread)
	default:
		return
	}
	i.from, i.to = 0, len(unread)
}
