package qr2

import (
	"crypto/rand"
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/unproved"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// Bounds of a verification.
const (
	challengeEvery = time.Second      // between two copies of one challenge
	maxChallenges  = 5                // copies of one challenge
	pendingLife    = 30 * time.Second // from the last heartbeat until it is forgotten
	maxWrong       = 3                // wrong answers until it is forgotten

	randomLength = 6 // random characters in a challenge
	// challengeSize is the size of every challenge packet.
	challengeSize = replyHeader + randomLength + 14 + 1
)

// Texts that a refused host is sent. Some games show them to their user.
const (
	textUnknownGame = "Unknown game"
	textNoKey       = "Game has no key here"
	textBanned      = "Banned"
	textWrong       = "Invalid challenge response"
	textFull        = "Master server is full"
	textTooMany     = "Too many servers on this address"
	textReplaced    = "Master server is full, too many servers here"
	textMalformed   = "Malformed heartbeat"
)

func refusalSize(text string) int { return replyHeader + 1 + len(text) + 1 }

// pending is a host that has not answered its challenge yet.
type pending struct {
	key       master.Key
	via       netip.Addr // our address that it talks to
	game      games.Game
	said      reported // in its last heartbeat; empty if a restored server sent a keepalive
	challenge string
	sent      int // copies of the challenge
	wrong     int // wrong answers
	*budget       // shared by all instance keys of its source
	next      time.Time
	expires   time.Time
}

// budget is what a source that has proved nothing has sent and was sent.
type budget struct {
	hosts   int // pending ones
	in, out int // bytes
}

// spend reports whether n more bytes may be sent to the unproved address, and
// counts them. The very first challenge is allowed even to a shorter heartbeat:
// nobody could register otherwise.
func (b *budget) spend(n int) bool {
	if b.out+n > b.in && (b.out > 0 || n > challengeSize) {
		return false
	}
	b.out += n
	return true
}

// pendingTable holds the hosts that are being verified; Server.mu guards it.
type pendingTable struct {
	hosts      *unproved.Table[master.Key, *pending]
	bySource   map[netip.AddrPort]*budget
	challenges *unproved.Challenges
}

func newPendingTable() pendingTable {
	return pendingTable{
		hosts:      unproved.NewTable[master.Key, *pending](),
		bySource:   make(map[netip.AddrPort]*budget),
		challenges: unproved.NewChallenges(),
	}
}

// get returns the host of a key, nil if it is not being verified.
func (t *pendingTable) get(k master.Key) *pending {
	v, _ := t.hosts.Get(k)
	return v
}

// add adds a host, which then is one of at most limit. It returns how many others
// had to go.
func (t *pendingTable) add(k master.Key, limit int) (v *pending, gone int) {
	for {
		crowded, full := t.hosts.Full(k.Source, limit)
		if !full {
			break
		}
		t.remove(crowded)
		gone++
	}
	b := t.bySource[k.Source]
	if b == nil {
		b = &budget{}
		t.bySource[k.Source] = b
	}
	b.hosts++
	v = &pending{key: k, budget: b}
	t.hosts.Add(k, k.Source, v)
	return v, gone
}

func (t *pendingTable) remove(k master.Key) {
	v := t.get(k)
	if v == nil {
		return
	}
	t.hosts.Remove(k)
	if v.hosts--; v.hosts == 0 {
		delete(t.bySource, k.Source)
	}
}

// introduce takes a heartbeat of a host that has to prove itself. listed: it is
// listed, or was when the list was saved.
func (s *Server) introduce(w netserve.PacketWriter, p netserve.Packet, key master.Key, listed bool) string {
	f, err := peek(p.Data)
	if f.state == stateLeaving && err == nil {
		return s.farewell(key)
	}
	// A heartbeat that is as long as its challenge cannot be used to flood others,
	// so it costs the address nothing that a real host there would lack.
	if !listed && len(p.Data) < challengeSize && !s.policy.Load().allow(key.Source.Addr(), time.Now()) {
		s.note(key.Source, string(f.game), verdicts.Limited)
		return dropLimited
	}
	if err != nil {
		s.note(key.Source, "", verdicts.Malformed)
		return dropMalformed
	}
	if s.banned(key.Source.Addr()) {
		s.note(key.Source, string(f.game), verdicts.Banned)
		return s.turnAway(w, p, key.Instance, textBanned, dropBanned)
	}
	g, ok := s.opt.Games.LookupBytes(f.game)
	if !ok {
		s.note(key.Source, string(f.game), verdicts.UnknownGame)
		return s.turnAway(w, p, key.Instance, textUnknownGame, dropUnknownGame)
	}
	if !g.Usable() {
		s.note(key.Source, g.Name, verdicts.NoSecret)
		return s.turnAway(w, p, key.Instance, textNoKey, dropNoSecret)
	}
	return s.challenge(w, p, key, g, f.reported(p.Data[header:]))
}

func (s *Server) banned(a netip.Addr) bool { return s.opt.Banned != nil && s.opt.Banned(a) }

// farewell takes the last heartbeat of a host that is restored or pending.
func (s *Server) farewell(key master.Key) string {
	if srv, ok := s.own(key); ok {
		s.leave(key, srv.Game)
		return ""
	}
	s.mu.Lock()
	known := s.pending.get(key) != nil
	s.pending.remove(key)
	s.mu.Unlock()
	if !known {
		return dropUnlisted
	}
	return ""
}

// restoredKeepalive takes a keepalive of a host that is not listed, or listed
// from the saved list alone. The latter is challenged at once: it knew its
// instance key, and its next heartbeat may be a minute away.
func (s *Server) restoredKeepalive(w netserve.PacketWriter, p netserve.Packet, key master.Key) string {
	srv, ok := s.own(key)
	if !ok || !srv.Restored {
		return dropUnlisted
	}
	g, ok := s.opt.Games.Lookup(srv.Game)
	if !ok || !g.Usable() {
		return dropUnknownGame
	}
	return s.challenge(w, p, key, g, reported{})
}

// challenge starts or continues with a verification. said is what came in a
// heartbeat, empty if none did.
func (s *Server) challenge(w netserve.PacketWriter, p netserve.Packet, key master.Key, g games.Game, said reported) string {
	now := time.Now()
	s.mu.Lock()
	v, gone := s.pending.get(key), 0
	fresh := v == nil
	if fresh {
		v, gone = s.pending.add(key, s.policy.Load().MaxPending)
	}
	if v.challenge == "" || v.game.Name != g.Name {
		v.challenge = s.pending.challenge(key, g, now)
	}
	if said.text != "" {
		v.said = said
	}
	v.game, v.via, v.expires = g, p.To, now.Add(pendingLife)
	v.in += len(p.Data)
	text, send := v.challenge, v.spend(challengeSize)
	if send {
		v.sent++
	}
	v.next = now.Add(challengeEvery)
	s.mu.Unlock()

	for range gone {
		s.opt.Metrics.Drop(dropPending)
	}
	if fresh {
		s.note(key.Source, g.Name, verdicts.Heard)
	}
	if !send {
		return dropNoBudget
	}
	var buf [challengeSize]byte
	s.send(w, p, appendChallenge(buf[:0], key.Instance, text))
	s.metrics.challenges.Inc()
	s.note(key.Source, g.Name, verdicts.ChallengeSent)
	return ""
}

// letters are what the random part of a challenge is made of. 64 of them would
// waste no randomness, but these are the ones that hosts have always been sent.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// randomLetters returns n letters and digits that nobody can guess, n <= 8.
func randomLetters(n int) string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never returns an error
	return lettersOf(binary.BigEndian.Uint64(random[:]), n)
}

// lettersOf returns n letters and digits computed from a number, n <= 8.
func lettersOf(v uint64, n int) string {
	var text [8]byte
	for i := range n {
		text[i] = letters[v%uint64(len(letters))]
		v /= uint64(len(letters))
	}
	return string(text[:n])
}

// challenge returns the challenge of a host. It cannot be guessed, and it is the
// same for a while, whether or not the host is in the table.
func (t *pendingTable) challenge(k master.Key, g games.Game, now time.Time) string {
	return challengeText(t.challenges.Current(k.Source, instanceBytes(k), now), g, k.Source)
}

// right reports whether a host has answered its challenge, or the one that it was
// sent when it was in the table before.
func (t *pendingTable) right(v *pending, answer []byte, now time.Time) bool {
	if gamespy.CheckAny(v.game.Secrets, v.challenge, answer) {
		return true
	}
	last := challengeText(t.challenges.Last(v.key.Source, instanceBytes(v.key), now), v.game, v.key.Source)
	return gamespy.CheckAny(v.game.Secrets, last, answer)
}

// void makes the challenges of a host void.
func (t *pendingTable) void(k master.Key) { t.challenges.Use(k.Source, instanceBytes(k)) }

func instanceBytes(k master.Key) []byte { return binary.BigEndian.AppendUint32(nil, k.Instance) }

// challengeText returns the text of a challenge.
func challengeText(number uint64, g games.Game, host netip.AddrPort) string {
	var options byte
	if g.QueryChallenge() {
		options = byte(games.QueryChallenge)
	}
	var buf [challengeSize]byte
	return string(appendChallengeText(buf[:0], lettersOf(number, randomLength), options, host))
}

// turnAway refuses an unproved host, in no more bytes than it sent.
func (s *Server) turnAway(w netserve.PacketWriter, p netserve.Packet, instance uint32, text, reason string) string {
	if refusalSize(text) <= len(p.Data) {
		s.refuse(w, p, instance, text)
	}
	return reason
}

func (s *Server) refuse(w netserve.PacketWriter, p netserve.Packet, instance uint32, text string) {
	if !s.policy.Load().Refuse {
		return
	}
	var buf [64]byte
	s.send(w, p, appendRefusal(buf[:0], instance, refusedGeneral, text))
	s.metrics.refusals.Inc()
}

// again is a challenge that is due once more.
type again struct {
	key  master.Key
	via  netip.Addr
	text string
}

// repeatChallenges sends the challenges that are due and forgets the hosts that
// did not answer.
func (s *Server) repeatChallenges(w netserve.PacketWriter, now time.Time) {
	var due []again
	var gone []*pending
	s.mu.Lock()
	for k, v := range s.pending.hosts.All() {
		switch {
		case now.After(v.expires):
			gone = append(gone, v)
			s.pending.remove(k)
		case v.sent < maxChallenges && !now.Before(v.next):
			v.next = now.Add(challengeEvery)
			if v.spend(challengeSize) {
				v.sent++
				due = append(due, again{k, v.via, v.challenge})
			}
		}
	}
	s.mu.Unlock()

	for _, v := range gone {
		s.note(v.key.Source, v.game.Name, verdicts.NoAnswer)
	}
	var buf [challengeSize]byte
	for _, a := range due {
		s.write(w, a.via, a.key.Source, appendChallenge(buf[:0], a.key.Instance, a.text))
		s.metrics.challenges.Inc()
	}
}
