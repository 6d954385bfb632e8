package qr2

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/unproved"
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

// budget counts the bytes sent and received by an unproved source.
type budget struct {
	hosts   int // pending ones
	in, out int // bytes
}

// spend reports whether n more bytes may be sent to the unproved address, and
// counts them. The very first challenge is allowed even to a shorter heartbeat:
// no host could register otherwise.
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

// add adds a host, which then is one of at most limit. It returns the number of
// others removed for it.
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

// progress is the result of a packet from an unverified host.
type progress struct {
	challenge string
	send      bool // the challenge: the packets of the source pay for it
	fresh     bool // the host was not in the table
	gone      int  // number of others removed for it
}

// hear handles a packet of n bytes of a host, which starts or continues its
// verification; the table has at most limit hosts. said is the content of a
// heartbeat, empty for other packets.
func (t *pendingTable) hear(k master.Key, via netip.Addr, n int, g games.Game, said reported, limit int, now time.Time) (h progress) {
	v := t.get(k)
	if h.fresh = v == nil; h.fresh {
		v, h.gone = t.add(k, limit)
	}
	if v.challenge == "" || v.game.Name != g.Name {
		v.challenge = t.challenge(k, g, now)
	}
	if len(said.text) > 0 {
		v.said = said
	}
	v.game, v.via, v.expires = g, via, now.Add(pendingLife)
	v.in += n
	if h.send = v.spend(challengeSize); h.send {
		v.sent++
	}
	v.next = now.Add(challengeEvery)
	h.challenge = v.challenge
	return h
}

// answer takes the answer of a host to its challenge, in a packet of n bytes, and
// returns the host, nil if it is not being verified. A right answer ends the
// verification, and so do too many wrong ones.
func (t *pendingTable) answer(k master.Key, answer []byte, n int, now time.Time) (v *pending, right bool) {
	if v = t.get(k); v == nil {
		return nil, false
	}
	v.in += n
	if right = t.right(v, answer, now); !right {
		v.wrong++
	}
	if right || v.wrong >= maxWrong {
		t.remove(k)
		t.challenges.Use(k.Source, instanceBytes(k)) // used once
	}
	return v, right
}

// again is a challenge that is due once more.
type again struct {
	key  master.Key
	via  netip.Addr
	text string
}

// advance returns the challenges that are due at now, and the expired hosts,
// which it removes from the table.
func (t *pendingTable) advance(now time.Time) (due []again, gone []*pending) {
	for k, v := range t.hosts.All() {
		switch {
		case now.After(v.expires):
			gone = append(gone, v)
			t.remove(k)
		case v.sent < maxChallenges && !now.Before(v.next):
			v.next = now.Add(challengeEvery)
			if v.spend(challengeSize) {
				v.sent++
				due = append(due, again{k, v.via, v.challenge})
			}
		}
	}
	return due, gone
}

// letters is the alphabet of the random part of a challenge, the same as the
// original's.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

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

// right reports whether a host has answered its challenge, or that of its
// previous verification.
func (t *pendingTable) right(v *pending, answer []byte, now time.Time) bool {
	if gamespy.CheckAny(v.game.Secrets, v.challenge, answer) {
		return true
	}
	last := challengeText(t.challenges.Last(v.key.Source, instanceBytes(v.key), now), v.game, v.key.Source)
	return gamespy.CheckAny(v.game.Secrets, last, answer)
}

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
