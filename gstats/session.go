package gstats

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"math"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

// session is the state of one connection: the game that it proved to be and the
// players that it authenticated. It knows no socket: handle takes a request and appends
// the answer to out. Its methods are called by one goroutine at a time; only players
// are ended from elsewhere.
type session struct {
	server    *Server
	peer      netip.AddrPort
	began     time.Time
	challenge string

	game   string         // canonical name; empty: not proved
	key    int32          // session key; 0: not proved
	conn   uint64         // of reports; not used again
	host   netip.AddrPort // of the game server; port 0: it is none
	pch    string         // challenge of players
	out    []byte         // output to be sent
	alone  bool           // out must be sent before anything else is appended
	paused func(time.Duration)

	players map[storage.ProfileID]*player
	matches []match       // the last ones
	reports *rate.Limiter // nil: none yet
}

// newSession returns the session of a connection that has just begun, with the greeting
// in out. pause sends out and waits.
func (s *Server) newSession(peer netip.AddrPort, now time.Time, pause func(time.Duration)) *session {
	x := &session{server: s, peer: peer, began: now, challenge: s.newChallenge(), paused: pause}
	x.out = appendGreeting(nil, x.challenge)
	return x
}

// handle executes a request. The error is the reason to close the connection.
func (x *session) handle(ctx context.Context, r *request, now time.Time) error {
	x.server.metrics.commands[r.command].Inc()
	if x.key == 0 {
		if r.command != commandAuth {
			return endedEarly
		}
		return x.authenticate(r)
	}
	switch r.command {
	case commandAuthPlayer:
		x.authenticatePlayer(ctx, r, now)
	case commandGetPID:
		x.findPlayer(ctx, r)
	case commandSet:
		x.setData(ctx, r, now)
	case commandGet:
		x.getData(ctx, r)
	case commandNewGame:
		x.beginMatch(ctx, r, now)
	case commandUpdate:
		x.updateMatch(ctx, r, now)
	case commandKeepAlive:
		x.out = appendKeepAlive(x.out)
	case commandAuth, commandUnknown:
		x.drop(droppedUnknown)
	}
	return nil
}

// authenticate checks the proof of a game.
func (x *session) authenticate(r *request) error {
	g, known := x.server.opt.Games.LookupBytes(r.game)
	if !known { // an alias without a record of its own
		g, known = x.server.opt.Games.BaseBytes(r.game)
	}
	if known {
		x.game = g.Name
	}
	switch {
	case !known:
		x.game = string(r.game[:min(len(r.game), maxShownGame)])
		return endedUnknownGame
	case !g.Usable():
		return endedNoSecret
	case !proves(g.Secrets, x.challenge, r.response):
		return endedResponse
	}
	x.key, x.conn = x.server.keys.take(), x.server.conns.Add(1)
	x.pch = PlayerChallenge(x.key)
	x.host = netip.AddrPortFrom(x.peer.Addr(), 0)
	if r.port.value > 0 && r.port.value <= math.MaxUint16 {
		x.host = netip.AddrPortFrom(x.peer.Addr(), uint16(r.port.value))
	}
	x.out = appendServed(x.out, x.key)
	x.alone = true // clients read it with one read, and ignore the rest of it
	return nil
}

// maxShownGame is how much of an unknown name is noted, in bytes.
const maxShownGame = 64

// end releases the resources of the session.
func (x *session) end() {
	for _, p := range x.players {
		x.forget(p)
	}
	if x.key != 0 {
		x.server.keys.give(x.key)
	}
}

func (x *session) drop(why ended) { x.server.opt.Metrics.Drop(why.Error()) }

func (x *session) note(v verdicts.Verdict) {
	x.server.opt.Verdicts.NotePlayer(name, x.peer.Addr(), x.game, v)
}

// noteEnd notes a verdict on the end of the connection that concerns its player.
func (x *session) noteEnd(why ended) {
	if v, ok := why.Verdict(); ok {
		x.note(v)
	}
}

func newChallenge() string { return gamespy.RandomLetters(challengeLen) }

// sessionKeys hands out the session keys of connections, at random and each once at a
// time. The zero value has none in use.
type sessionKeys struct {
	draw func() uint64 // never changed once the server serves; nil: random

	mu   sync.Mutex // guards used
	used map[int32]struct{}
}

// take returns a key above 0.
func (k *sessionKeys) take() int32 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.used == nil {
		k.used = make(map[int32]struct{})
	}
	draw := k.draw
	if draw == nil {
		draw = random
	}
	for {
		key := int32(draw() & math.MaxInt32)
		if _, taken := k.used[key]; key != 0 && !taken {
			k.used[key] = struct{}{}
			return key
		}
	}
}

func (k *sessionKeys) give(key int32) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.used, key)
}

func random() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}
