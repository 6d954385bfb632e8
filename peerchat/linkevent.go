package peerchat

import "github.com/respawnd/respawnd/internal/cluster"

// linkVersion is the first byte of an event between nodes. Events of another version are counted
// and dropped.
const linkVersion = 3

type eventKind byte

// The kinds. Their numbers must not change.
const (
	// By the owner of a channel, to all, with a change of entries or instead of one.
	evPart eventKind = iota + 1
	evKick
	evModes
	evTopic
	evMemberKeys
	evChannelKeys
	evMessage
	evGone // the user of a member is gone

	evLeave // by the node of a user, to all, with the removal of its entry

	// To one node.
	evLines // for a user
	evClose // ends the session of a user
	evOut   // an operator throws a user out of a channel

	lastEvent
)

// Bounds of events, beside those of channels, users and lines.
const (
	maxReply  = 256 << 10                   // bytes of lines in one event
	maxPrefix = maxNick + maxUserField + 64 // of a user's lines
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

// event is what a change does not show, or a request to one node. Which fields it has depends on
// its kind, see code.
type event struct {
	kind    eventKind
	channel string // name, as its first member wrote it
	actor   userID // of the command that caused the event, with its request
	request uint64 // 0: none
	who     userID // that it is about
	by      author
	word    string // a command
	text    string
	changes []linkedChange
}

func (e *event) code(c *coder) {
	kind := byte(e.kind)
	c.letter(&kind)
	if e.kind = eventKind(kind); e.kind == 0 || e.kind >= lastEvent {
		c.fail()
		return
	}
	c.text(&e.channel, maxChannel)
	e.actor.code(c)
	c.num(&e.request)
	e.who.code(c)
	e.by.code(c)
	c.text(&e.word, 16)
	c.text(&e.text, maxReply)
	codeList(c, &e.changes, maxModes, codeChangeOfMode)
	if c.reading && (e.channel != "" && !validChannel(e.channel) || e.kind < evLeave && (e.channel == "") != (e.kind == evGone)) {
		c.fail()
	}
}

func codeChangeOfMode(c *coder, m *linkedChange) {
	c.flag(&m.add)
	c.letter(&m.letter)
	c.text(&m.arg, maxLine)
	m.who.code(c)
	if c.reading && (!isLetter(m.letter) || m.arg != "" && !validArgument(m.arg)) {
		c.fail()
	}
}

// appendEvent appends an event to dst. It returns false for one that breaks a bound.
func appendEvent(dst []byte, e *event) ([]byte, bool) {
	c := coder{buf: append(dst, linkVersion)}
	e.code(&c)
	return c.buf, !c.bad
}

// parseEvent reads an event. It returns false for one that cannot be read, or of another version.
func parseEvent(b []byte) (e event, ok bool) {
	if len(b) == 0 || b[0] != linkVersion {
		return e, false
	}
	c := coder{buf: b[1:], reading: true}
	e.code(&c)
	return e, !c.bad && len(c.buf) == 0
}
