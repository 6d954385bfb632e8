package peerchat

import (
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/storage"
)

// linkVersion is the first byte of a message between nodes. Messages of another version
// are counted and dropped.
const linkVersion = 2

// eventKind is the kind of an event.
type eventKind byte

// The kinds. Their numbers must not change.
const (
	// State of a node for another one: a hello requests it. Then come a begin, all users
	// of the node, channels with members, and an end.
	evHello eventKind = iota + 1
	evBegin
	evEnd

	// By the node of a user, to all.
	evEnter
	evLeave
	evNick
	evKeys

	// By the owner of a channel, to all.
	evJoin
	evPart
	evGone // the user left the hall
	evKick
	evModes
	evTopic
	evMemberKeys
	evChannelKeys
	evMessage

	// A channel as a node knows it: its state, then members, then the end.
	evChannel
	evMember
	evChannelEnd

	// To one node.
	evCommand // of a user, to the owner of a channel
	evDone    // the answer
	evLines   // for a user
	evClose   // ends the session of a user
	evOut     // an operator throws a user out of a channel

	evAway // by the node of a user, to all

	lastEvent
)

// status is how a command ended.
type status byte

const (
	statusDone  status = iota
	statusMore         // further lines of the answer follow
	statusBusy         // the node does not know the channel well enough yet
	statusOther        // the node is not the owner of the channel
	statusLost         // the owner left; never sent
)

// Bounds of events, beside those of channels, users and lines.
const (
	maxReply    = 256 << 10 // bytes of lines in one event
	maxInParams = maxParams
	maxPrefix   = maxNick + maxUserField + 64 // of a user's lines
	maxGame     = 64
)

// userID identifies a user in the cluster: a session of a node. It is not used again.
type userID struct {
	node   string
	serial uint64
}

func (u *userID) code(c *coder) {
	c.text(&u.node, cluster.MaxName)
	c.num(&u.serial)
}

// userInfo is the state of a user on all nodes.
type userInfo struct {
	id                                      userID
	nick, field, realName, host, mask, game string
	former                                  []string // nicks that it had before
	away                                    string
	peer                                    netip.AddrPort
	account, profile                        uint64
	since                                   time.Time
}

func (u *userInfo) code(c *coder) {
	u.id.code(c)
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
	if c.reading && (u.nick == "" || u.id.node == "" || u.account > storage.MaxAccountID || u.profile > storage.MaxAccountID) {
		c.fail()
	}
}

// author is the user that did something, or the service.
type author struct {
	id                  userID // empty: the service
	nick, clear, masked string
}

func (a *author) code(c *coder) {
	a.id.code(c)
	c.text(&a.nick, maxNick)
	c.text(&a.clear, maxPrefix)
	c.text(&a.masked, maxPrefix)
}

// linkedChange is a change of modes. who is the user that o and v are about, whose nick
// may be another one when it arrives.
type linkedChange struct {
	modeChange
	who userID
}

// rank is the rights of a member.
type rank struct{ op, voice, owner bool }

func (r *rank) code(c *coder) {
	c.flag(&r.op)
	c.flag(&r.voice)
	c.flag(&r.owner)
}

// channelState is a channel without its members.
type channelState struct {
	since           time.Time
	topic           string
	flags           flags
	key             string
	limit           int
	bans            []ban
	keys            []keyPair
	owned, followed bool // by the sender; the sender follows the receiver
}

func (s *channelState) code(c *coder) {
	c.moment(&s.since)
	c.text(&s.topic, maxTopic)
	f := int(s.flags)
	c.count(&f, 1<<len(flagLetters)-1)
	s.flags = flags(f)
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
	c.flag(&s.owned)
	c.flag(&s.followed)
}

func codePairs(c *coder, pairs *[]keyPair) {
	codeList(c, pairs, maxKeys, func(c *coder, p *keyPair) {
		c.text(&p.key, maxKeyName)
		c.text(&p.value, maxKeyValue)
	})
}

// event is a change or a request. Which fields it has depends on its kind, see code.
type event struct {
	kind    eventKind
	channel string // name, as its first member wrote it
	rev     uint64 // number of the change of the channel
	actor   userID // of the command that caused the event, with its request
	request uint64 // 0: none
	who     userID // that it is about; of evNick, evLeave and so on only the serial
	info    userInfo
	by      author
	rank    rank
	since   time.Time
	word    string // a command, the receiver's name of the channel, or a key
	text    string
	params  []string
	changes []linkedChange
	keys    []keyPair
	state   channelState
	status  status
}

// code writes or reads an event.
func (e *event) code(c *coder) {
	kind := byte(e.kind)
	c.letter(&kind)
	if e.kind = eventKind(kind); e.kind == 0 || e.kind >= lastEvent {
		c.fail()
		return
	}
	switch e.kind {
	case evHello, evBegin, evEnd, lastEvent:
	case evEnter:
		e.info.code(c)
		codePairs(c, &e.keys)
	case evLeave, evNick, evKeys, evLines, evClose, evAway:
		c.num(&e.who.serial)
		c.text(&e.text, maxReply)
	case evCommand:
		e.codeCommand(c)
	case evDone:
		c.num(&e.request)
		s := byte(e.status)
		c.letter(&s)
		if e.status = status(s); e.status >= statusLost {
			c.fail()
		}
		c.text(&e.text, maxReply)
	case evOut:
		c.text(&e.channel, maxChannel)
		e.who.code(c)
		c.text(&e.text, maxLine)
	default:
		e.codeChange(c)
	}
	if c.reading && e.channel != "" && !validChannel(e.channel) {
		c.fail()
	}
}

// codeCommand codes a command of a user.
func (e *event) codeCommand(c *coder) {
	c.num(&e.request)
	c.num(&e.who.serial)
	c.text(&e.word, 16)
	codeList(c, &e.params, maxInParams, func(c *coder, s *string) { c.text(s, maxLine) })
}

// codeChange codes the part about a channel and its members.
func (e *event) codeChange(c *coder) {
	c.text(&e.channel, maxChannel)
	c.num(&e.rev)
	e.actor.code(c)
	c.num(&e.request)
	switch e.kind {
	case evJoin, evMember:
		e.info.code(c)
		e.rank.code(c)
		c.moment(&e.since)
		c.text(&e.word, maxChannel)
		if e.kind == evMember {
			codePairs(c, &e.keys)
		}
		if c.reading && foldChannel(e.word) != foldChannel(e.channel) {
			c.fail()
		}
	case evPart, evGone, evMemberKeys:
		e.who.code(c)
		c.text(&e.text, maxLine)
	case evKick:
		e.who.code(c)
		e.by.code(c)
		c.text(&e.text, maxLine)
	case evModes:
		e.who.code(c)
		e.by.code(c)
		codeList(c, &e.changes, maxModes, codeChangeOfMode)
	case evTopic:
		e.by.code(c)
		c.text(&e.text, maxTopic)
	case evChannelKeys:
		c.text(&e.word, maxKeyName)
		c.text(&e.text, maxLine)
	case evMessage:
		e.by.code(c)
		c.text(&e.word, 16)
		c.text(&e.text, maxLine)
	case evChannel:
		e.state.code(c)
	default: // evChannelEnd
	}
}

// codeChangeOfMode codes one change of modes.
func codeChangeOfMode(c *coder, m *linkedChange) {
	c.flag(&m.add)
	c.letter(&m.letter)
	c.text(&m.arg, maxLine)
	m.who.code(c)
	if c.reading && (!isLetter(m.letter) || m.arg != "" && !validArgument(m.arg)) {
		c.fail()
	}
}

// appendEvent appends an event to a message, which begins with the version. It returns
// false, and the message as it was, for an event that breaks a bound.
func appendEvent(dst []byte, e *event) ([]byte, bool) {
	c := coder{buf: dst}
	if len(dst) == 0 {
		c.buf = append(c.buf, linkVersion)
	}
	if e.code(&c); c.bad {
		return dst, false
	}
	return c.buf, true
}

// parseEvents calls f with each event of a message, until one cannot be read. It
// returns false for a message with one of these, or of another version.
func parseEvents(b []byte, f func(*event)) bool {
	if len(b) == 0 || b[0] != linkVersion {
		return false
	}
	c := coder{buf: b[1:], reading: true}
	for len(c.buf) > 0 {
		var e event
		if e.code(&c); c.bad {
			return false
		}
		f(&e)
	}
	return true
}
