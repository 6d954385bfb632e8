package peerchat

import (
	"errors"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/storage"
)

// maxGame is the maximum length of the name of a game, and maxJoins the number of channels of a user.
const (
	maxGame  = 64
	maxJoins = 1 << 10
)

// linkKey names an entry: a user if channel is empty, a channel if user is, else a member. Channels
// are folded. The empty key has no entry; events that come with none have it.
type linkKey struct {
	channel string
	user    userID
}

// linkValue is an entry: *userState, *channelState or *memberState. It is never changed.
type linkValue interface{ code(c *coder) }

// linkCodec encodes entries.
var linkCodec = cluster.Codec[linkKey, linkValue]{
	Version:     1,
	AppendKey:   func(b []byte, k linkKey) []byte { return appendCoded(b, &k) },
	AppendValue: func(b []byte, v linkValue) []byte { return appendCoded(b, v) },
	ParseKey: func(b []byte) (k linkKey, err error) {
		err = parseCoded(b, &k)
		return k, err
	},
	ParseValue: func(node string, k linkKey, b []byte) (linkValue, error) {
		var v linkValue
		switch {
		case k.channel == "" && k.user.node == node:
			v = &userState{id: k.user}
		case k.channel == "":
			return nil, errEntry
		case k.user == userID{}:
			v = &channelState{node: node}
		default:
			v = &memberState{node: node}
		}
		return v, parseCoded(b, v)
	},
}

var errEntry = errors.New("malformed entry")

// appendCoded appends what v codes: nothing if it breaks a bound, which no node can read.
func appendCoded(b []byte, v linkValue) []byte {
	c := coder{buf: b}
	if v.code(&c); c.bad {
		return b
	}
	return c.buf
}

func parseCoded(b []byte, v linkValue) error {
	c := coder{buf: b, reading: true}
	if v.code(&c); c.bad || len(c.buf) > 0 {
		return errEntry
	}
	return nil
}

func (k *linkKey) code(c *coder) {
	c.text(&k.channel, maxChannel)
	k.user.code(c)
	if c.reading && k.channel != "" && (!validChannel(k.channel) || foldChannel(k.channel) != k.channel) {
		c.fail()
	}
}

// userState is a user on its node.
type userState struct {
	id                                      userID // the key
	nick, field, realName, host, mask, game string
	former                                  []string // nicks that it had before
	away                                    string
	peer                                    netip.AddrPort
	account, profile                        uint64
	since                                   time.Time
	keys                                    []keyPair
	joined                                  []claim
}

func (u *userState) code(c *coder) {
	c.text(&u.nick, maxNick)
	c.text(&u.field, maxUserField)
	c.text(&u.realName, maxRealName)
	c.text(&u.host, 64)
	c.text(&u.mask, 64)
	c.text(&u.game, maxGame)
	codeList(c, &u.former, maxFormer, func(c *coder, s *string) { c.text(s, maxNick) })
	c.text(&u.away, maxAway)
	c.addr(&u.peer)
	c.num(&u.account)
	c.num(&u.profile)
	c.moment(&u.since)
	codePairs(c, &u.keys)
	codeList(c, &u.joined, maxJoins, func(c *coder, m *claim) {
		m.code(c)
		c.num(&m.number)
	})
	if c.reading && (u.nick == "" || u.account > storage.MaxAccountID || u.profile > storage.MaxAccountID) {
		c.fail()
	}
}

// claim is a membership as the node of the user knows it. A higher number asks the owner of the
// channel to add a member that it does not have.
type claim struct {
	membership
	number uint64
}

// membership is the state of a member.
type membership struct {
	name, as         string // of the channel: as its first member, and as this one wrote it
	op, voice, owner bool
	since            time.Time
	keys             []keyPair
}

func membershipOf(m *member) membership {
	return membership{m.channel.name, m.as, m.op, m.voice, m.owner, m.since, copyPairs(m.keys.pairs)}
}

func (m *membership) code(c *coder) {
	c.text(&m.name, maxChannel)
	c.text(&m.as, maxChannel)
	c.flag(&m.op)
	c.flag(&m.voice)
	c.flag(&m.owner)
	c.moment(&m.since)
	codePairs(c, &m.keys)
	if c.reading && (!validChannel(m.name) || foldChannel(m.as) != foldChannel(m.name)) {
		c.fail()
	}
}

// memberState is a member of a channel of a node.
type memberState struct {
	membership
	request uint64 // number of the last command of the user
	node    string // not encoded
}

func (m *memberState) code(c *coder) {
	m.membership.code(c)
	c.num(&m.request)
}

// channelState is a channel of a node without its members.
type channelState struct {
	name  string
	rev   uint64 // counts the changes of what follows
	epoch uint64 // counts the owners
	since time.Time
	topic string
	flags flags
	key   string
	limit int
	bans  []ban
	keys  []keyPair
	node  string // not encoded
}

func stateOf(c *channel) *channelState {
	return &channelState{
		name: c.name, rev: c.rev, epoch: c.epoch, since: c.since, topic: c.topic, flags: c.flags, key: c.key, limit: c.limit,
		bans: append([]ban(nil), c.bans...), keys: copyPairs(c.keys.pairs),
	}
}

func (s *channelState) code(c *coder) {
	c.text(&s.name, maxChannel)
	c.num(&s.rev)
	c.num(&s.epoch)
	c.moment(&s.since)
	c.text(&s.topic, maxTopic)
	f := int(s.flags)
	if c.count(&f, 1<<len(flagLetters)-1); c.reading {
		s.flags = flags(f)
	}
	c.text(&s.key, maxKey)
	c.count(&s.limit, maxLimit)
	codeList(c, &s.bans, maxBans, func(c *coder, b *ban) {
		c.text(&b.mask, maxBanMask)
		c.text(&b.by, maxNick)
		c.moment(&b.at)
		if mask, ok := cleanBanMask(b.mask); c.reading && (!ok || mask != b.mask) {
			c.fail()
		}
	})
	codePairs(c, &s.keys)
	if c.reading && !validChannel(s.name) {
		c.fail()
	}
}

func copyPairs(pairs []keyPair) []keyPair { return append([]keyPair(nil), pairs...) }

func codePairs(c *coder, pairs *[]keyPair) {
	codeList(c, pairs, maxKeys, func(c *coder, p *keyPair) {
		c.text(&p.key, maxKeyName)
		c.text(&p.value, maxKeyValue)
	})
}
