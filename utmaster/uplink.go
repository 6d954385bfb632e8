package utmaster

import "encoding/binary"

// Kinds of messages of the master to a game server: the first byte. Until it has its
// ports, 0 and 1 are probe and ports; later they are about the keys of players.
const (
	tellProbe      = 0
	tellPorts      = 1
	tellChallenge  = 0
	tellDisconnect = 1
	tellMatch      = 3
)

// Kinds of messages of a game server: the first byte.
const (
	sayPlayerKey  = 0
	sayState      = 1
	sayStatistics = 2
	sayStillHere  = 3 // the client to disconnect was not there
	sayPackages   = 4
	sayOption     = 5
)

// Sockets of a game server that are probed.
const (
	probeQuery = iota
	probeGame
	probeGameSpy
	probeKinds
)

const portsNumber = 120

// Mode is the second message of a game server.
//
//	int32 behind NAT, int32 reports to GameSpy too
type Mode struct{ BehindNAT, GameSpy bool }

// AppendTo appends the message.
func (m Mode) AppendTo(dst []byte) []byte {
	return frame(dst, func(b []byte) []byte { return appendInt32(appendInt32(b, number(m.BehindNAT)), number(m.GameSpy)) })
}

// ParseMode reads the message.
func ParseMode(p []byte) (Mode, error) {
	c := cursor{b: p}
	m := Mode{c.int32() != 0, c.int32() != 0}
	return m, c.err
}

func number(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// Probe asks a game server to send a datagram from one of its sockets.
//
//	byte 0, byte socket, int32 code
type Probe struct {
	Socket byte
	Code   int32
}

func (q Probe) appendTo(dst []byte) []byte {
	return frame(dst, func(b []byte) []byte { return appendInt32(append(b, tellProbe, q.Socket), q.Code) })
}

// Ports informs a game server of its ports as seen from outside.
//
//	byte 1, int32 120, int32 query, int32 game, int32 GameSpy query
type Ports struct{ Query, Game, GameSpy uint16 }

func (q Ports) appendTo(dst []byte) []byte {
	return frame(dst, func(b []byte) []byte {
		b = appendInt32(append(b, tellPorts), portsNumber)
		return appendInt32(appendInt32(appendInt32(b, int32(q.Query)), int32(q.Game)), int32(q.GameSpy))
	})
}

// appendShortPorts appends the form of Ports that one other master sends to games below
// version modern.
//
//	byte 1, byte 0, int32 game
func appendShortPorts(dst []byte, game uint16) []byte {
	return frame(dst, func(b []byte) []byte { return appendInt32(append(b, tellPorts, 0), int32(game)) })
}

// parseAsk reads a probe or the ports, in either form.
func parseAsk(p []byte) (probe Probe, ports Ports, isProbe bool, err error) {
	c := cursor{b: p}
	switch kind := c.uint8(); {
	case kind == tellProbe:
		probe = Probe{c.uint8(), c.int32()}
		return probe, ports, true, c.err
	case kind == tellPorts && len(p) < 1+4*4:
		_ = c.uint8()
		ports.Game = uint16(c.int32())
	case kind == tellPorts:
		_ = c.int32()
		ports = Ports{uint16(c.int32()), uint16(c.int32()), uint16(c.int32())}
	default:
		c.fail(ErrKind)
	}
	return probe, ports, false, c.err
}

// appendKeyChallenge appends a challenge for a player of the game server.
func appendKeyChallenge(dst []byte, player, challenge string) []byte {
	return frame(dst, func(b []byte) []byte { return appendText(appendText(append(b, tellChallenge), player), challenge) })
}

// appendDisconnect appends the order to disconnect a player.
func appendDisconnect(dst []byte, player string) []byte {
	return frame(dst, func(b []byte) []byte { return appendText(append(b, tellDisconnect), player) })
}

func appendMatch(dst []byte, id int32) []byte {
	return frame(dst, func(b []byte) []byte { return appendInt32(append(b, tellMatch), id) })
}

// PlayerKey is the answer of a player to a challenge.
type PlayerKey struct{ Player, KeyHash, Response string }

func (k PlayerKey) appendTo(dst []byte) []byte {
	return frame(dst, func(b []byte) []byte {
		return appendText(appendText(appendText(append(b, sayPlayerKey), k.Player), k.KeyHash), k.Response)
	})
}

// parsePlayerKey reads the message behind its first byte.
func parsePlayerKey(p []byte) (PlayerKey, error) {
	c := cursor{b: p}
	k := PlayerKey{c.text(), c.text(), c.text()}
	return k, c.err
}

// Version bytes of the datagrams of game servers.
const (
	udp2003 = 0x79
	udpXMP  = 0x7E
	udp2004 = 0x80
)

// probeReplySize is the size of the answer to a Probe.
//
//	int32 version, byte socket, int32 code
const probeReplySize = 9

func appendProbeReply(dst []byte, version int32, q Probe) []byte {
	return appendInt32(append(appendInt32(dst, version), q.Socket), q.Code)
}

// parseProbeReply reads an answer to a Probe. The version is not checked: that of
// Unreal Tournament 2004 is not known.
func parseProbeReply(p []byte) (version int32, q Probe, ok bool) {
	if len(p) != probeReplySize || p[4] >= probeKinds {
		return 0, Probe{}, false
	}
	return int32(binary.LittleEndian.Uint32(p)), Probe{p[4], int32(binary.LittleEndian.Uint32(p[5:]))}, true
}

// statusQuerySize is the size of a question for the status of a game server.
//
//	int32 version, byte 0
const statusQuerySize = 5

// statusQuery returns the question for a game server of a version.
func statusQuery(version int32) []byte {
	if version == versionXMP {
		return []byte{udpXMP, 0, 0, 0, 0}
	}
	return []byte{udp2003, 0, 0, 0, 0}
}

// isStatus reports whether a datagram is the answer to a question for the status.
func isStatus(p []byte) bool {
	return len(p) >= statusQuerySize && (p[0] == udp2003 || p[0] == udp2004 || p[0] == udpXMP) && string(p[1:5]) == "\x00\x00\x00\x00"
}
