package a2s

import (
	"cmp"
	"encoding/binary"
	"errors"
)

// The numbers that packets begin with, little-endian.
const (
	headerSingle uint32 = 0xFFFFFFFF // the whole message
	headerSplit  uint32 = 0xFFFFFFFE // a part of one

	headerSize = 4
)

var (
	// ErrMalformed reports a packet or message that cannot be read.
	ErrMalformed = errors.New("a2s: malformed")

	// ErrForeign reports a packet that does not belong to the request. More
	// packets may come.
	ErrForeign = errors.New("a2s: not the answer to this question")

	// ErrTooMuch reports a message of more than MaxPackets, MaxMessage or
	// MaxRules.
	ErrTooMuch = errors.New("a2s: answer too long")

	// ErrChecksum reports a compressed message whose size or checksum is not
	// the stated one.
	ErrChecksum = errors.New("a2s: wrong checksum")
)

// Kind is the type byte of a message.
type Kind byte

// The kinds of messages to a server.
const (
	InfoRequest      Kind = 'T'
	PlayersRequest   Kind = 'U'
	RulesRequest     Kind = 'V'
	ChallengeRequest Kind = 'W'
	PingRequest      Kind = 'i'
)

// The kinds of messages from a server.
const (
	KindChallenge Kind = 'A'
	KindPlayers   Kind = 'D'
	KindRules     Kind = 'E'
	KindInfo      Kind = 'I'
	KindPing      Kind = 'j'
	KindOldInfo   Kind = 'm' // of servers that are older than KindInfo
)

var kindNames = map[Kind]string{
	InfoRequest: "info request", PlayersRequest: "players request", RulesRequest: "rules request",
	ChallengeRequest: "challenge request", PingRequest: "ping request",
	KindChallenge: "challenge", KindPlayers: "players", KindRules: "rules", KindInfo: "info", KindPing: "ping", KindOldInfo: "old info",
}

// String returns the kind's name as logs and metrics spell it.
func (k Kind) String() string { return cmp.Or(kindNames[k], "unknown") }

// Message is a whole message.
//
//	offset size
//	     0    4  -1
//	     4    1  kind
//	     5    -  body
type Message struct {
	Kind Kind
	Body []byte
}

// ParseMessage reads a packet that holds a whole message; the body is part of
// it. The error is ErrForeign for other packets, ErrMalformed for one without a
// kind.
func ParseMessage(packet []byte) (Message, error) {
	if len(packet) < headerSize || binary.LittleEndian.Uint32(packet) != headerSingle {
		return Message{}, ErrForeign
	}
	return parsePayload(packet)
}

// parsePayload reads a message that may or may not begin with -1. Some servers
// send it twice, inside parts and around them.
func parsePayload(b []byte) (Message, error) {
	for len(b) >= headerSize && binary.LittleEndian.Uint32(b) == headerSingle {
		b = b[headerSize:]
	}
	if len(b) == 0 {
		return Message{}, ErrMalformed
	}
	return Message{Kind: Kind(b[0]), Body: b[1:]}, nil
}

func appendHeader(dst []byte, k Kind) []byte {
	return append(appendUint32(dst, headerSingle), byte(k))
}

// App is Steam's number of a game.
type App uint32

// The games whose servers are different.
const (
	AppTheShip App = 2400   // more facts about server and players
	AppCSGO    App = 730    // hides its players
	AppDayZ    App = 221100 // sends its mods in the rules

	AppSourceSDK2006  App = 215
	AppCSSource       App = 240
	AppAgeOfChivalry  App = 17510
	AppDIPRIP         App = 17530
	AppEternalSilence App = 17550
	AppInsurgency     App = 17700
	AppEmpires        App = 17740
)
