package qr2

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/unproved"
	"github.com/respawnd/respawnd/internal/uplink"
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

// pending is a host that has not answered its challenge yet. The packets of its source
// pay for those to it, whichever instance keys they carry.
type pending struct {
	via       netip.Addr // our address that it talks to
	game      games.Game
	said      reported // in its last heartbeat; empty if a restored server sent a keepalive
	challenge string
	sent      int // copies of the challenge
	next      time.Time
}

// verified is a host that is being verified, or was just now.
type verified = uplink.Asked[master.Key, pending]

// pendingTable holds the hosts that are being verified; Server.mu guards it.
type pendingTable struct {
	uplink.Waiting[master.Key, pending]
}

func newPendingTable() pendingTable {
	return pendingTable{uplink.NewWaiting[master.Key, pending](uplink.Terms{Wrong: maxWrong, Last: true})}
}

// spend reports whether n more bytes may be sent to the unproved address, and counts them.
// The very first challenge is allowed even to a shorter heartbeat: no host could register
// otherwise.
func (t *pendingTable) spend(source netip.AddrPort, n int) bool {
	return t.PortBudget(source).Spend(n, challengeSize)
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
	v, fresh, gone := t.Hear(k, k.Source, instanceText(k), limit, now)
	o := &v.Of
	if fresh || o.game.Name != g.Name {
		o.challenge = challengeText(v.Number, g, k.Source)
	}
	if len(said.text) > 0 {
		o.said = said
	}
	o.game, o.via, v.Expires = g, via, now.Add(pendingLife)
	t.PortBudget(k.Source).In += n
	send := t.spend(k.Source, challengeSize)
	if send {
		o.sent++
	}
	o.next = now.Add(challengeEvery)
	return progress{o.challenge, send, fresh, gone}
}

// answer takes the answer of a host to its challenge, in a packet of n bytes. It returns
// the host, unless dropped is Unexpected, and the budget of its source.
func (t *pendingTable) answer(k master.Key, answer []byte, n int, now time.Time) (v *verified, b *unproved.Budget, dropped uplink.Drop) {
	v, waiting := t.Get(k)
	if !waiting {
		return nil, nil, uplink.Unexpected
	}
	b = t.PortBudget(k.Source)
	b.In += n
	_, dropped = t.Answer(k, func(number uint64) bool {
		text := v.Of.challenge
		if number != v.Number {
			text = challengeText(number, v.Of.game, k.Source)
		}
		return gamespy.CheckAny(v.Of.game.Secrets, text, answer)
	}, now)
	return v, b, dropped
}

// again is a challenge that is due once more.
type again struct {
	key  master.Key
	via  netip.Addr
	text string
}

// advance returns the challenges that are due at now, and the expired hosts,
// which it removes from the table.
func (t *pendingTable) advance(now time.Time) (due []again, gone []*verified) {
	gone = t.Expire(now)
	for k, v := range t.All() {
		o := &v.Of
		if o.sent < maxChallenges && !now.Before(o.next) {
			o.next = now.Add(challengeEvery)
			if t.spend(k.Source, challengeSize) {
				o.sent++
				due = append(due, again{k, o.via, o.challenge})
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

func instanceText(k master.Key) string { return string(binary.BigEndian.AppendUint32(nil, k.Instance)) }

func challengeText(number uint64, g games.Game, host netip.AddrPort) string {
	var options byte
	if g.QueryChallenge() {
		options = byte(games.QueryChallenge)
	}
	var buf [challengeSize]byte
	return string(appendChallengeText(buf[:0], lettersOf(number, randomLength), options, host))
}
