package presence

import (
	"encoding/binary"
	"errors"
	"math"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// Messages between nodes. All begin with
//
//	offset size
//	     0    1  version, 1
//	     1    1  kind
//	     2    8  incarnation of the sender, big-endian
//
// Numbers after that are unsigned varints unless stated otherwise, texts and lists
// have their length before them. Bytes after the end of a message are ignored: they
// are fields of a later version.
//
//	event      id, flags, receiver, event
//	ack        id, answer (1 byte)
//	settled    count, ids
//	held       count, ids
//
// The players of a node are entries of a cluster.Map. The note of a change is its flags, the
// profiles that hear of it, and pairs of run and id: sessions that a newer login displaced.
const wireVersion = 1

// personVersion is that of the entries.
const personVersion = 1

// kind is the kind of a message between nodes.
type kind uint8

// The kinds. The numbers never change.
const (
	kindEvent   kind = 4 // an event for a player
	kindAck     kind = 5 // answers kindEvent
	kindSettled kind = 6 // events that need not be kept any longer
	kindHeld    kind = 9 // events that are kept: those that need not be are reported
)

// Bounds of messages.
const (
	maxWireText     = 1024    // of a text of a status
	maxWireGame     = 255     // of the name of a game; longer ones are cut
	maxWireLocation = 1024    // of an invitation
	maxFarSessions  = 64      // sessions of one profile that other nodes know, the newest
	maxWireWatchers = 1 << 15 // profiles in one change; if there are more, the receivers find them
	maxWireIDs      = 4096    // ids in one message
)

// Flags of messages.
const (
	flagAlways = 2 // change: the watchers hear of it although nothing changed
	flagTold   = 4 // change: it has all watchers; else the receiver finds them if it is news
	flagHide   = 8 // change: they hear that the status is Offline, whatever it is
	flagHold   = 1 // event: the sender keeps it until it is settled
	flagBehind = 2 // event: older ones may be in the mailbox, which the receiver did not learn
)

type answer uint8

const (
	answerRefused answer = iota // the queues of all sessions are full
	answerTaken
	answerAbsent // the profile is not signed in there
)

var errWire = errors.New("malformed message of a node")

// far is a profile that is signed in on another node.
type far struct {
	profile   storage.ProfileID
	user      storage.UserID
	status    Status
	invitable []int
	sessions  []farSession // oldest first, never empty

	node string // that it is on
}

// farSession is a session on another node.
type farSession struct {
	fence  uint64
	key    int32
	client Client
}

func (f *far) fence() uint64 { return f.sessions[len(f.sessions)-1].fence }

func appendHeader(b []byte, k kind, incarnation uint64) []byte {
	return binary.BigEndian.AppendUint64(append(b, wireVersion, byte(k)), incarnation)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// appendIDs appends a list of numbers.
func appendIDs[T ~uint32 | ~uint64](b []byte, ids []T) []byte {
	b = binary.AppendUvarint(b, uint64(len(ids)))
	for _, id := range ids {
		b = binary.AppendUvarint(b, uint64(id))
	}
	return b
}

// appendTo appends f. Later versions can add fields.
func (f *far) appendTo(p []byte) []byte {
	p = binary.AppendUvarint(p, uint64(f.user))
	p = appendStatus(p, &f.status)
	p = binary.AppendUvarint(p, uint64(len(f.invitable)))
	for _, n := range f.invitable {
		p = binary.AppendUvarint(p, uint64(max(n, 0)))
	}
	sessions := f.sessions[max(0, len(f.sessions)-maxFarSessions):]
	p = binary.AppendUvarint(p, uint64(len(sessions)))
	for i := range sessions {
		s := &sessions[i]
		p = binary.AppendUvarint(p, s.fence)
		p = binary.BigEndian.AppendUint32(p, uint32(s.key))
		peer, _ := netip.AddrPortFrom(s.client.Peer.Addr().WithZone(""), s.client.Peer.Port()).MarshalBinary() // never fails
		p = appendText(p, string(peer))
		p = appendText(p, s.client.Game[:min(len(s.client.Game), maxWireGame)])
		p = binary.AppendVarint(p, unix(s.client.Since))
	}
	return p
}

func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// appendCut is appendText for a text that is cut to maxWireText.
func appendCut(b []byte, s string) []byte { return appendText(b, s[:min(len(s), maxWireText)]) }

func appendStatus(b []byte, s *Status) []byte {
	b = binary.AppendUvarint(b, uint64(max(s.State, 0)))
	b = appendCut(b, s.Text)
	b = appendCut(b, s.Location)
	b = binary.AppendUvarint(b, uint64(max(s.Product, 0)))
	b = binary.AppendUvarint(b, uint64(s.Quiet))
	if s.Rich == nil {
		return append(b, 0)
	}
	r := s.Rich
	b = append(b, 1)
	for _, n := range []uint64{uint64(r.HostIP), uint64(r.PrivateIP), uint64(max(r.QueryPort, 0)), uint64(max(r.HostPort, 0)), uint64(r.Flags)} {
		b = binary.AppendUvarint(b, n)
	}
	for _, s := range []string{r.Text, r.GameType, r.GameVariant, r.GameMap} {
		b = appendCut(b, s)
	}
	return b
}

// cursor reads a message. After a mistake it returns zeros and bad is set.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) fail() { c.b, c.bad = nil, true }

func (c *cursor) byte() byte {
	if len(c.b) < 1 {
		c.fail()
		return 0
	}
	v := c.b[0]
	c.b = c.b[1:]
	return v
}

// number reads a number of up to most.
func (c *cursor) number(most uint64) uint64 {
	v, n := binary.Uvarint(c.b)
	if n <= 0 || v > most {
		c.fail()
		return 0
	}
	c.b = c.b[n:]
	return v
}

func (c *cursor) signed() int64 {
	v, n := binary.Varint(c.b)
	if n <= 0 {
		c.fail()
		return 0
	}
	c.b = c.b[n:]
	return v
}

func (c *cursor) fixed32() uint32 {
	if len(c.b) < 4 {
		c.fail()
		return 0
	}
	v := binary.BigEndian.Uint32(c.b)
	c.b = c.b[4:]
	return v
}

// text reads a text of up to most bytes.
func (c *cursor) text(most int) string {
	n := c.number(uint64(most))
	if c.bad || n > uint64(len(c.b)) {
		c.fail()
		return ""
	}
	s := string(c.b[:n])
	c.b = c.b[n:]
	return s
}

// count reads the length of a list of up to most items, which take at least one
// byte each.
func (c *cursor) count(most int) int {
	n := c.number(uint64(most))
	if n > uint64(len(c.b)) {
		c.fail()
		return 0
	}
	return int(n)
}

func (c *cursor) profile() storage.ProfileID {
	return storage.ProfileID(c.number(storage.MaxAccountID))
}

func (c *cursor) time() time.Time {
	n := c.signed()
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// ids reads a list of numbers.
func (c *cursor) ids(most int) []uint64 {
	list := make([]uint64, 0, c.count(most))
	for range cap(list) {
		list = append(list, c.number(math.MaxUint64))
	}
	return list
}

func (c *cursor) profiles(most int) []storage.ProfileID {
	list := make([]storage.ProfileID, 0, c.count(most))
	for range cap(list) {
		list = append(list, c.profile())
	}
	return list
}

func (c *cursor) status() (s Status) {
	s.State = State(c.number(math.MaxInt32))
	s.Text, s.Location = c.text(maxWireText), c.text(maxWireText)
	s.Product, s.Quiet = int(c.number(math.MaxInt32)), uint32(c.number(math.MaxUint32))
	if c.byte() == 0 {
		return s
	}
	var r Rich
	r.HostIP, r.PrivateIP = uint32(c.number(math.MaxUint32)), uint32(c.number(math.MaxUint32))
	r.QueryPort, r.HostPort = int(c.number(math.MaxUint16)), int(c.number(math.MaxUint16))
	r.Flags = uint32(c.number(math.MaxUint32))
	r.Text, r.GameType, r.GameVariant, r.GameMap = c.text(maxWireText), c.text(maxWireText), c.text(maxWireText), c.text(maxWireText)
	s.Rich = &r
	return s
}

// err returns an error after a mistake.
func (c *cursor) err() error {
	if c.bad {
		return errWire
	}
	return nil
}

// parseFar is the inverse of far.appendTo.
func parseFar(node string, id storage.ProfileID, b []byte) (*far, error) {
	in := cursor{b: b}
	f := &far{profile: id, node: node, user: storage.UserID(in.number(storage.MaxAccountID)), status: in.status()}
	for range in.count(MaxInvitable) {
		f.invitable = append(f.invitable, int(in.number(math.MaxInt32)))
	}
	for range in.count(maxFarSessions) {
		s := farSession{fence: in.number(math.MaxInt64), key: int32(in.fixed32())}
		peer := in.text(64)
		if err := s.client.Peer.UnmarshalBinary([]byte(peer)); err != nil {
			in.fail()
		}
		s.client.Game, s.client.Since = in.text(maxWireGame), in.time()
		f.sessions = append(f.sessions, s)
	}
	if in.bad || id == 0 || len(f.sessions) == 0 {
		return nil, errWire
	}
	return f, nil
}

// note is the note of a change. The zero value says nothing.
type note struct {
	flags     byte
	watchers  []storage.ProfileID
	displaced []uint64
}

func (n note) append() []byte {
	if n.flags == 0 && len(n.displaced) == 0 {
		return nil
	}
	return appendIDs(appendIDs([]byte{n.flags}, n.watchers), n.displaced)
}

// parseNote is the inverse of append.
func parseNote(b []byte) (n note, err error) {
	if len(b) == 0 {
		return n, nil
	}
	c := cursor{b: b}
	n = note{c.byte(), c.profiles(maxWireWatchers), c.ids(maxWireIDs)}
	if c.bad || len(n.displaced)%2 != 0 {
		return note{}, errWire
	}
	return n, nil
}

// parcel is the message of kindEvent.
type parcel struct {
	id    uint64 // 0: no answer is expected
	after uint64 // id of the event that has to arrive before it; 0: none
	flags byte
	to    storage.ProfileID
	event Event
}

type eventKind uint8

// The kinds of events. The numbers never change.
const (
	eventMessage eventKind = iota + 1
	eventRequest
	eventAuthorized
	eventRevoked
	eventInvite
	eventTicket
	eventWaiting
)

// appendTo appends m. It returns false for an event that does not cross nodes.
func (m *parcel) appendTo(b []byte) ([]byte, bool) {
	b = binary.AppendUvarint(binary.AppendUvarint(b, m.id), m.after)
	b = binary.AppendUvarint(append(b, m.flags), uint64(m.to))
	from := func(k eventKind, id storage.ProfileID) []byte {
		return binary.AppendUvarint(append(b, byte(k)), uint64(id))
	}
	switch e := m.event.(type) {
	case Message:
		b = binary.AppendUvarint(from(eventMessage, e.From), uint64(max(e.Kind, 0)))
		b = binary.AppendVarint(appendText(b, e.Text), unix(e.Sent))
		return binary.AppendUvarint(b, e.Number), len(e.Text) <= storage.MaxMessageText
	case BuddyRequest:
		b = appendText(appendText(from(eventRequest, e.From), e.Reason), e.Signature)
		return binary.AppendVarint(b, unix(e.Sent)), len(e.Reason) <= storage.MaxReason
	case BuddyAuthorized:
		return binary.AppendUvarint(binary.AppendVarint(from(eventAuthorized, e.From), unix(e.Sent)), e.Number), true
	case BuddyRevoked:
		return binary.AppendUvarint(binary.AppendVarint(from(eventRevoked, e.From), unix(e.Sent)), e.Number), true
	case Invite:
		b = binary.AppendUvarint(from(eventInvite, e.From), uint64(max(e.Product, 0)))
		return appendText(b, e.Location), len(e.Location) <= maxWireLocation
	case Ticket:
		return appendText(append(b, byte(eventTicket)), e.Value), len(e.Value) <= maxWireText
	case MessagesWaiting:
		return append(b, byte(eventWaiting)), true
	}
	return b, false
}

func parseParcel(b []byte) (m parcel, err error) {
	c := cursor{b: b}
	m.id, m.after, m.flags, m.to = c.number(math.MaxUint64), c.number(math.MaxUint64), c.byte(), c.profile()
	switch eventKind(c.byte()) {
	case eventMessage:
		m.event = Message{From: c.profile(), Kind: MessageKind(c.number(math.MaxInt32)), Text: c.text(storage.MaxMessageText), Sent: c.time(), Number: c.number(math.MaxUint64)}
	case eventRequest:
		m.event = BuddyRequest{From: c.profile(), Reason: c.text(storage.MaxReason), Signature: c.text(storage.SignatureLen), Sent: c.time()}
	case eventAuthorized:
		m.event = BuddyAuthorized{From: c.profile(), Sent: c.time(), Number: c.number(math.MaxUint64)}
	case eventRevoked:
		m.event = BuddyRevoked{From: c.profile(), Sent: c.time(), Number: c.number(math.MaxUint64)}
	case eventInvite:
		m.event = Invite{From: c.profile(), Product: int(c.number(math.MaxInt32)), Location: c.text(maxWireLocation)}
	case eventTicket:
		m.event = Ticket{Value: c.text(maxWireText)}
	case eventWaiting:
		m.event = MessagesWaiting{}
	default:
		c.fail()
	}
	if c.bad || m.to == 0 || m.after != 0 && m.after >= m.id {
		return parcel{}, errWire
	}
	return m, nil
}

// parseHeader returns the kind and the sender's incarnation. known is false for a
// version or kind of another version of the program.
func parseHeader(b []byte) (k kind, incarnation uint64, rest []byte, known bool) {
	const header = 10
	if len(b) < header || b[0] != wireVersion || kind(b[1]) < kindEvent || kind(b[1]) > kindHeld {
		return 0, 0, nil, false
	}
	return kind(b[1]), binary.BigEndian.Uint64(b[2:header]), b[header:], true
}
