package utmaster

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// Bounds of a connection.
const (
	// maxHello and maxRequest are the longest messages of a peer that has not signed
	// in, and of a browser, in bytes.
	maxHello   = 4 << 10
	maxRequest = 32 << 10
	// sendTime is the time in which a browser must read a list of several writes.
	sendTime = 2 * time.Minute
	// lingerTime and lingerBytes bound the input that is read from a browser after the answer:
	// closing a connection with unread data would destroy its end.
	lingerTime  = 2 * time.Second
	lingerBytes = 64 << 10
	// closeGrace is how long a pending write may take when the service stops.
	closeGrace = time.Second
	// readAhead is the size of one read of a connection, in bytes: the whole of a short message.
	readAhead = 512
	// maxEvents is the number of datagrams that wait for a game server's connection.
	maxEvents = 8
)

// event is a datagram of a game server.
type event struct {
	probe  bool // an answer to a probe, else to a question for the status
	socket byte
	port   uint16
}

type session struct {
	server *Server
	conn   *netserve.Conn
	log    zerolog.Logger // at level debug only
	live   *Config        // when it began
	hello  Hello
	game   games.Game
	in     *bufio.Reader // conn
	by     time.Time     // until which is read
	buf    []byte

	events chan event // of a game server
	gone   chan struct{}
	left   atomic.Bool // another connection took its server
	muted  bool        // the last verdict is that its ports do not answer
	link   link

	source  netip.AddrPort // of its record; zero: none. Guarded by Server.mu
	askedAt netip.AddrPort // guarded by Server.mu
}

// ServeConn implements netserve.ConnHandler. It greets the peer and treats it by its
// role.
func (s *Server) ServeConn(ctx context.Context, c *netserve.Conn) {
	x := &session{
		server: s, conn: c, live: s.live.Load(),
		in: bufio.NewReaderSize(c, readAhead),
	}
	if s.opt.Log.GetLevel() <= zerolog.DebugLevel { // it logs nothing above
		x.log = s.opt.Log.With().Stringer("peer", c.Peer()).Logger()
	}
	if s.opt.Banned.Has(c.Peer().Addr()) {
		s.opt.Metrics.Drop(endedBanned.Error())
		s.opt.Verdicts.Note(serviceName, c.Peer(), "", verdicts.Banned)
		return
	}
	stop := context.AfterFunc(ctx, func() {
		now := time.Now()
		_ = c.SetReadDeadline(now)
		_ = c.SetWriteDeadline(now.Add(closeGrace))
	})
	defer stop()
	err := x.run(ctx)
	if why, ok := errors.AsType[ended](err); ok {
		s.opt.Metrics.Drop(why.Error())
	}
	x.log.Debug().Err(err).Msg("connection ended")
}

// run signs the peer in and serves it. The error is an ended or comes from the
// connection.
func (x *session) run(ctx context.Context) error {
	challenge := newChallenge()
	if _, err := x.conn.Write(appendWord(nil, challenge)); err != nil {
		return err
	}
	by := time.Now().Add(x.live.RequestTime)
	p, err := x.read(ctx, maxHello, by)
	if err != nil {
		return err
	}
	if x.hello, err = ParseHello(p); err != nil {
		x.unreadable(p, err)
		return endedMalformed
	}
	role, word := x.hello.Role()
	game, known := x.server.opt.Games.Epic(word, int(x.hello.Version))
	x.game = game
	x.log.Debug().Str("role", x.hello.Word).Int32("version", x.hello.Version).Str("game", game.Name).Str("key", x.keyMark(x.hello.KeyHash)).
		Str("language", x.hello.Language).Msg("peer signs in")
	if why := x.refusal(role, known); why != notDropped {
		x.noteRefusal(role, why)
		_, err := x.conn.Write(appendWord(nil, wordDenied))
		x.linger(ctx)
		return errors.Join(why, err)
	}
	if _, err := x.conn.Write(appendApproval(nil, role, x.hello.Version)); err != nil {
		return err
	}
	if role == RoleServer {
		x.server.metrics.server.Inc()
		return x.serveHost(ctx, challenge)
	}
	x.server.metrics.client.Inc()
	return x.serveBrowser(ctx, by)
}

// refusal returns why a peer is refused; 0: it is not.
func (x *session) refusal(role Role, known bool) ended {
	switch {
	case role == RoleNone:
		return endedRole
	case !known:
		return endedGame
	case x.keyBanned(x.hello.KeyHash):
		return endedKey
	default:
		return notDropped
	}
}

func (x *session) keyBanned(hash string) bool {
	banned := x.server.opt.KeyBanned
	return banned != nil && isKeyHash(hash) && banned(x.game.ID, hash)
}

// keyMark returns the text for a key in the log. It is not the digest, with which other players could
// sign in.
func (x *session) keyMark(hash string) string {
	if mark := x.server.opt.KeyMark; mark != nil && isKeyHash(hash) {
		return mark(x.game.ID, hash)
	}
	return ""
}

// noteRefusal notes the verdict on a peer that is refused.
func (x *session) noteRefusal(role Role, why ended) {
	v := verdicts.UnknownGame
	switch why {
	case endedKey:
		v = verdicts.KeyBanned
	case endedRole:
		v = verdicts.NotUnderstood
	default:
	}
	if role == RoleClient {
		x.server.opt.Players.NotePlayer(browserName, x.conn.Peer().Addr(), x.game.Name, v)
	} else {
		x.server.opt.Verdicts.Note(serviceName, x.conn.Peer(), x.game.Name, v)
	}
}

// newChallenge returns eight digits: some browsers accept no more.
func newChallenge() string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never returns an error
	n := 10_000_000 + binary.LittleEndian.Uint64(random[:])%90_000_000
	var b [8]byte
	for i := range b {
		b[len(b)-1-i] = byte('0' + n%10)
		n /= 10
	}
	return string(b[:])
}

// read reads a message of at most some bytes, which is valid until the next one. by
// bounds the time. The error is an ended or comes from the connection.
func (x *session) read(ctx context.Context, most int, by time.Time) ([]byte, error) {
	if by != x.by {
		if err := x.conn.SetReadDeadline(by); err != nil {
			return nil, err
		}
		x.by = by
	}
	if ctx.Err() != nil { // its deadline was replaced
		return nil, ctx.Err()
	}
	p, err := readFrame(x.in, x.buf, most)
	x.buf = p
	switch {
	case err == nil:
		return p, nil
	case errors.Is(err, ErrFrame):
		x.log.Debug().Msg("message too long")
		return nil, endedTooLong
	case ctx.Err() != nil || x.conn.Expired():
		return nil, err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, endedTimeout
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, endedGone
	default:
		return nil, err
	}
}

// maxShown is the number of bytes of an unreadable message that the log has.
const maxShown = 64

// unreadable logs a message that cannot be read, without digests.
func (x *session) unreadable(p []byte, err error) {
	blot(p)
	x.log.Debug().Err(err).Int("len", len(p)).Hex("begin", p[:min(len(p), maxShown)]).Msg("message not read")
}

// linger closes the sending direction and waits for the peer to do the same.
func (x *session) linger(ctx context.Context) {
	if x.conn.CloseWrite() == nil && ctx.Err() == nil {
		_ = x.conn.Linger(lingerTime, lingerTime, lingerBytes) // whatever ends it, the answer is out
	}
}
