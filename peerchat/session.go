package peerchat

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

// Bounds of a connection.
const (
	// forever disables the idle limit of netserve.
	forever = 10 * 365 * 24 * time.Hour
	// closeGrace is the time limit for writing the last lines.
	closeGrace = 2 * time.Second
	// A client that has to go while it is still sending is read from until it
	// pauses, within bounds: closing at once would take the last line from it.
	lingerPause = 100 * time.Millisecond
	lingerTime  = time.Second
	lingerBytes = 64 << 10
	// maxBeforeLogin is the number of lines that a client may send before it is
	// signed on.
	maxBeforeLogin = 64
	// maxLogins is the number of failed logins that a connection may have.
	maxLogins = 8
)

// session is one connection. Its goroutine reads and executes commands; once it
// is signed on a second one, which runs only while needed, writes the outbox.
type session struct {
	server *Server
	conn   *netserve.Conn
	peer   netip.AddrPort
	began  time.Time
	in     inbox
	lines  int // before the sign-on

	program bool // of this daemon: without limits, and an operator of each channel

	pace *rate.Limiter

	secure    bool   // after CRYPT
	outCipher cipher // of the writer, before the sign-on of the session's goroutine
	game      string // of CRYPT; empty: none
	secret    string // of that game

	login
	failedLogins int
	detach       func() // nil: not attached

	node   string // of another node that the client is connected to; empty: this one
	serial uint64 // which identifies it there, in a cluster
	denied string // folded nick that another client of the cluster has

	wanted   wanted
	user     *user        // nil: not signed on; set under the lock of the hall
	reply    []byte       // answer of the current command
	heard    time.Time    // last line
	heardAt  atomic.Int64 // the same in Unix seconds, for others
	asked    bool         // whether it is there, since then
	out      outbox
	opened   bool // out takes answers: the client is signed on
	writer   sync.WaitGroup
	failed   bool // the client no longer reads; used by the writer
	kickOnce sync.Once
	kicked   chan struct{} // closed by the first Kick
	reason   error         // set before kicked is closed
}

var _ presence.Attached = (*session)(nil)

// wanted is the data that a client sent before its sign-on.
type wanted struct {
	nick      string
	userField string
	realName  string
}

// Profile implements presence.Attached.
func (x *session) Profile() storage.ProfileID { return x.profile }

// User implements presence.Attached.
func (x *session) User() storage.UserID { return x.account }

// Client implements presence.Attached.
func (x *session) Client() presence.Client {
	return presence.Client{Peer: x.peer, Game: x.game, Since: x.began}
}

// Kick ends the session and never blocks. Only the first Kick counts.
func (x *session) Kick(reason error) {
	if x.node != "" {
		x.server.hall.links.close(x, reason)
		return
	}
	x.kickOnce.Do(func() {
		x.reason = reason
		close(x.kicked)
		x.wake() // its goroutine continues
	})
}

// wake ends a wait for the client.
func (x *session) wake() { _ = x.conn.SetReadDeadline(time.Now()) }

// ServeConn implements netserve.ConnHandler. It returns when the client has
// disconnected or is disconnected, or ctx ends.
func (s *Server) ServeConn(ctx context.Context, c *netserve.Conn) { s.serve(ctx, c, false) }

// serve is ServeConn, also for a program of this daemon.
func (s *Server) serve(ctx context.Context, c *netserve.Conn, program bool) {
	now := time.Now()
	x := &session{server: s, conn: c, peer: c.Peer(), program: program, out: newOutbox(), kicked: make(chan struct{}), began: now, heard: now}
	x.serial = s.hall.links.serial.Add(1)
	x.heardAt.Store(now.Unix())
	defer x.release()
	stop := context.AfterFunc(ctx, func() { x.Kick(errShutdown) })
	defer stop()
	x.finish(x.run(ctx))
}

// release makes sure, also after a panic, that nothing is left of the session.
func (x *session) release() {
	_ = x.conn.Close()
	x.leaveHall("Connection reset")
	x.out.close(nil)
	x.writer.Wait()
}

// run executes the commands of the client. The error is the reason for its end.
func (x *session) run(ctx context.Context) error {
	if x.banned() {
		return endedBanned
	}
	for {
		line, err := x.next()
		if err != nil {
			return err
		}
		if err := x.handle(ctx, line); err != nil {
			return err
		}
	}
}

// banned reports whether the client is no longer served.
func (x *session) banned() bool { return !x.program && x.server.opt.Banned.Has(x.peer.Addr()) }

// next returns the next line, which is valid until the next call.
func (x *session) next() ([]byte, error) {
	for {
		x.out.waitHalf(x.kicked)
		if err := x.conn.SetReadDeadline(x.deadline()); err != nil {
			return nil, err
		}
		if err := x.over(); err != nil { // after the deadline is set: a Kick sets another one
			return nil, err
		}
		line, err := x.in.next(x.conn)
		if over := x.over(); over != nil {
			return nil, over
		}
		switch {
		case err == nil:
			x.note(time.Now())
			return line, nil
		case errors.Is(err, errLineTooLong):
			return nil, endedTooLong
		case !errors.Is(err, os.ErrDeadlineExceeded) || x.conn.Expired():
			return nil, err
		}
		if err := x.silent(time.Now()); err != nil {
			return nil, err
		}
	}
}

// note records a sign of life of the client.
func (x *session) note(now time.Time) {
	x.heard, x.asked = now, false
	x.heardAt.Store(now.Unix())
}

// deadline returns when the session is to look at a silent client again.
func (x *session) deadline() time.Time {
	switch {
	case x.user == nil:
		return x.began.Add(x.server.opt.LoginTime)
	case x.asked:
		return x.heard.Add(x.server.opt.Idle)
	}
	return x.heard.Add(x.server.opt.Idle * 2 / 5)
}

// silent is called when the deadline has passed.
func (x *session) silent(now time.Time) error {
	switch {
	case x.user == nil:
		return endedTimeout
	case x.banned():
		return endedBanned
	case now.Sub(x.heard) >= x.server.opt.Idle:
		return endedSilent
	case !x.asked && !now.Before(x.deadline()):
		x.asked = true
		x.out.push(appendPing(nil, now))
	}
	return nil
}

// over returns why nothing more is to be done for the client, nil if there is.
func (x *session) over() error {
	select {
	case <-x.kicked:
		return x.reason
	default:
		return nil
	}
}

// sendNow writes lines to a client that is not signed on, which it enciphers in
// place. The lock of the hall must not be held.
func (x *session) sendNow(lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	if err := x.write(lines); err != nil {
		return errGone
	}
	return nil
}

// answered queues the answers of a command, in order with the lines of others. The
// lock of the hall is held.
func (x *session) answered() {
	if len(x.reply) > 0 {
		x.out.push(x.reply)
		x.reply = nil // which an idle session does not keep
	}
}

// write writes b, which it enciphers in place.
func (x *session) write(b []byte) error {
	x.conn.Said(b)
	if x.secure {
		x.outCipher.apply(b)
	}
	_, err := x.conn.Write(b)
	return err
}

// open lets the goroutine that writes begin when there is something.
func (x *session) open() {
	x.opened = true
	x.out.open(func() {
		x.writer.Add(1)
		go x.drain(nil) // once per message and member: WaitGroup.Go would allocate twice more
	}, func() { x.writer.Add(1) })
}

// drain writes rest, which is enciphered, and then the outbox until it is empty.
func (x *session) drain(rest []byte) {
	defer x.writer.Done()
	defer x.containPanic()
	buf := x.server.buffer()
	defer x.server.recycle(buf)
	if len(rest) > 0 {
		_, err := x.conn.Write(rest)
		x.check(err)
	}
	var slack [][]byte
	for {
		lines, more := x.out.take(slack)
		if !more {
			return
		}
		x.writeAll(lines, buf)
		slack = recycle(lines)
	}
}

// drainNow writes the outbox in the goroutine of another session, as long as the
// system takes it at once. The rest is left to a goroutine: no other client waits for
// this one.
func (x *session) drainNow() {
	done := x.writer.Done
	defer func() { done() }()
	defer x.containPanic()
	buf := x.server.buffer()
	defer x.server.recycle(buf)
	var slack [][]byte
	for {
		lines, more := x.out.take(slack)
		if !more {
			return
		}
		for _, line := range lines {
			*buf = append(*buf, line...)
		}
		slack = recycle(lines)
		if n := x.writeNow(*buf); n < len(*buf) {
			done = func() {} // that is for drain
			go x.drain(bytes.Clone((*buf)[n:]))
			return
		}
		*buf = (*buf)[:0]
	}
}

// writeNow enciphers b in place and returns the number of bytes that the system took, or
// len(b) if an earlier write failed.
func (x *session) writeNow(b []byte) int {
	if x.failed {
		return len(b)
	}
	x.conn.Said(b)
	if x.secure {
		x.outCipher.apply(b)
	}
	n, err := x.conn.TryWrite(b)
	if x.check(err); x.failed {
		return len(b)
	}
	return n
}

// check ends the session after an error of a write.
func (x *session) check(err error) {
	if err != nil {
		x.failed = true
		x.Kick(errGone)
	}
}

// buffer returns memory in which lines are written.
func (s *Server) buffer() *[]byte {
	if buf, ok := s.buffers.Get().(*[]byte); ok {
		return buf
	}
	return new([]byte)
}

// recycle takes back the memory of buffer.
func (s *Server) recycle(buf *[]byte) {
	if *buf = (*buf)[:0]; cap(*buf) <= 2*maxWriteBuffer {
		s.buffers.Put(buf)
	}
}

// writeAll writes lines in pieces of about maxWriteBuffer.
func (x *session) writeAll(lines [][]byte, buf *[]byte) {
	for i, line := range lines {
		*buf = append(*buf, line...)
		if len(*buf) < maxWriteBuffer && i < len(lines)-1 {
			continue
		}
		if !x.failed {
			x.check(x.write(*buf))
		}
		*buf = (*buf)[:0]
	}
}

// containPanic ends the session in place of the daemon.
func (x *session) containPanic() {
	if r := recover(); r != nil {
		x.server.opt.Log.Error().Interface("panic", r).Bytes("stack", debug.Stack()).
			Msg("panic while writing, connection ended")
		x.Kick(errGone)
	}
}

// finish removes the client from the hall and sends it the reason.
func (x *session) finish(err error) {
	x.server.opt.Log.Debug().Stringer("peer", x.peer).Uint32("profile", uint32(x.profile)).
		Str("why", endOf(err)).Msg("connection ended")
	why, counted := errors.AsType[ended](err)
	if counted {
		x.server.opt.Metrics.Drop(why.Error())
		if v, ok := why.Verdict(); ok {
			x.noteVerdict(v)
		}
	}
	text := closingText(err)
	x.leaveHall(text)
	x.Kick(err) // the writer no longer waits
	if text == "" || why == endedSlow {
		_ = x.conn.Close() // it has gone, or does not read
	}
	_ = x.conn.SetWriteDeadline(time.Now().Add(closeGrace))
	last := appendClosing(nil, x.shownNick(), text)
	if !x.opened && text != "" {
		_ = x.write(last)
	}
	x.out.close(last)
	x.writer.Wait()
	if text != "" {
		_ = x.conn.Linger(lingerPause, lingerTime, lingerBytes)
	}
}

// shownNick returns the name of the client in the line that ends its
// connection.
func (x *session) shownNick() string {
	if x.user != nil {
		return x.user.nick
	}
	return x.wanted.nick
}

func (x *session) noteVerdict(v verdicts.Verdict) {
	if !x.program {
		x.server.opt.Verdicts.NotePlayer(name, x.peer.Addr(), x.game, v)
	}
}

// endOf returns the text for the log about the end of a connection. A reason
// given by a client is chat and is not logged.
func endOf(err error) string {
	if _, ok := errors.AsType[quit](err); ok {
		return "quit"
	}
	return err.Error()
}

// closingText returns the text sent to a client at the end, and to others as
// the reason; empty: it has gone.
func closingText(err error) string {
	if why, ok := errors.AsType[ended](err); ok {
		return why.Text()
	}
	if q, ok := errors.AsType[quit](err); ok {
		return q.reason
	}
	switch {
	case errors.Is(err, presence.ErrDisplaced):
		return "The password was changed" // a newer login of the player is a quit, see displace
	case errors.Is(err, presence.ErrBanned):
		return "The account is banned"
	case errors.Is(err, presence.ErrDeleted):
		return "The profile was deleted"
	case errors.Is(err, presence.ErrKicked):
		return "Signed out by the operator"
	case errors.Is(err, errShutdown):
		return "The server is going down"
	case errors.Is(err, io.EOF), errors.Is(err, errGone):
		return ""
	}
	return ""
}

// slowDown makes a client wait that spends too much on commands. Beyond the
// allowances of its address and profile its connection ends.
func (x *session) slowDown(weight int) error {
	if weight == 0 || x.program || x.server.opt.Trusted.Has(x.peer.Addr()) {
		return nil
	}
	c, now := x.server.live.Load(), time.Now()
	if x.pace == nil || x.pace.Burst() != c.PaceBurst || x.pace.Limit() != rate.Limit(c.Pace) {
		x.pace = rate.NewLimiter(rate.Limit(c.Pace), c.PaceBurst)
	}
	if !c.addrs.AllowN(x.peer.Addr(), weight, now) {
		return endedFlood
	}
	if x.profile != 0 && !c.profiles.Take(x.profile, now) {
		return endedFlood
	}
	wait := x.pace.ReserveN(now, min(weight, c.PaceBurst)).Delay()
	if wait == 0 {
		return nil
	}
	select {
	case <-time.After(wait):
	case <-x.kicked:
	}
	return nil // the end of the session is checked before the next command
}

// newProfileBuckets returns the allowances of profiles: ten times that of one
// connection, in messages.
func newProfileBuckets(c *Config) *netserve.Buckets[storage.ProfileID] {
	n := 10 * c.PaceBurst
	return netserve.NewBuckets[storage.ProfileID](n, time.Duration(float64(n)/float64(c.Pace)*float64(time.Second))/2, profileSlots)
}

// profileSlots is the number of profiles that are remembered.
const profileSlots = 1 << 15
