package zandronum

// Flags are the fields that a launcher requests and a game server sends.
type Flags uint32

// The fields that a launcher can request, in the order in which they are sent.
const (
	FlagName Flags = 1 << iota
	FlagURL
	FlagEmail
	FlagMap
	FlagMaxClients
	FlagMaxPlayers
	FlagPWADs
	FlagMode
	FlagGameName
	FlagIWAD
	FlagForcePassword
	FlagForceJoinPassword
	FlagSkill
	FlagBotSkill
	FlagOldDMFlags
	_
	FlagLimits
	FlagTeamDamage
	FlagOldTeamScores
	FlagNumPlayers
	FlagPlayers
	FlagTeams
	FlagTeamNames
	FlagTeamColors
	FlagTeamScores
	FlagTesting
	FlagDataMD5
	FlagDMFlags
	FlagSecurity
	FlagOptionalWADs
	FlagDEH
	FlagExtended

	// AllFlags is the set of all fields.
	AllFlags Flags = 0xFFFF7FFF

	flagsOfTeams = FlagTeams | FlagTeamNames | FlagTeamColors | FlagTeamScores | FlagOldTeamScores
)

// Flags2 are further flags, with FlagExtended.
type Flags2 uint32

// The further fields, in the order in which they are sent.
const (
	Flag2PWADHashes Flags2 = 1 << iota
	Flag2Country
	Flag2ModeName
	Flag2ModeShortName
	Flag2VoiceChat

	// AllFlags2 is the set of all further fields.
	AllFlags2 Flags2 = 0x1F
)

// segmented asks for an answer in pieces.
const segmented byte = 2

// Query is a query of a launcher to a game server.
type Query struct {
	Flags     Flags
	Time      uint32 // repeated in the answer
	Flags2    Flags2 // sent with FlagExtended
	Segmented bool   // the answer may come in pieces
}

// AppendQuery appends a whole query.
func AppendQuery(dst []byte, q Query) []byte {
	dst = appendUint32(dst, uint32(KindQuery))
	dst = appendUint32(dst, uint32(q.Flags))
	dst = appendUint32(dst, q.Time)
	if q.Flags&FlagExtended != 0 {
		dst = appendUint32(dst, uint32(q.Flags2))
	}
	if q.Segmented {
		dst = append(dst, segmented)
	}
	return dst
}

// ParseQuery reads the data after KindQuery, as game servers do: FlagExtended
// without Flags2 means all of them.
func ParseQuery(body []byte) Query {
	r := reader{b: body}
	q := Query{Flags: Flags(r.uint32()), Time: r.uint32()}
	if q.Flags&FlagExtended != 0 {
		q.Flags2 = Flags2(r.uint32())
	}
	q.Segmented = r.byte() == segmented
	return q
}

// AppendDenial appends the answer of a server that denies the query:
// KindTooSoon or KindBanned.
func AppendDenial(dst []byte, k Kind, time uint32) []byte {
	return appendUint32(appendUint32(dst, uint32(k)), time)
}

// ParseDenial reads the time that follows KindTooSoon or KindBanned.
func ParseDenial(body []byte) (time uint32, ok bool) {
	r := reader{b: body}
	time = r.uint32()
	return time, !r.short
}

// MaxInfo is the size of the largest answer of a game server in bytes, before
// it is coded: the size of its sender's buffer.
const MaxInfo = 8192

// Segment is a piece of an answer.
//
//	byte   number, from 0
//	byte   count
//	short  offset of the piece
//	short  its size
//	short  size of the whole
//	-      the piece
type Segment struct {
	Number, Count byte
	Offset, Total uint16
	Piece         []byte
}

// AppendSegment appends a whole message.
func AppendSegment(dst []byte, s Segment) []byte {
	dst = append(appendUint32(dst, uint32(KindSegment)), s.Number, s.Count)
	dst = appendUint16(dst, s.Offset)
	dst = appendUint16(dst, uint16(len(s.Piece)))
	dst = appendUint16(dst, s.Total)
	return append(dst, s.Piece...)
}

// ParseSegment parses the body of a KindSegment. The piece is part of body.
func ParseSegment(body []byte) (Segment, error) {
	r := reader{b: body}
	s := Segment{Number: r.byte(), Count: r.byte(), Offset: r.uint16()}
	size := int(r.uint16())
	s.Total = r.uint16()
	s.Piece = r.take(size)
	switch {
	case r.short, s.Number >= s.Count, size == 0, s.Total > MaxInfo, int(s.Offset)+size > int(s.Total):
		return Segment{}, ErrMalformed
	}
	return s, nil
}

// Assembly reassembles the pieces of one answer. The zero value is empty.
type Assembly struct {
	whole []byte
	count byte // of pieces
	have  [256]bool
	left  int // missing pieces
}

// Add takes a piece from ParseSegment, and returns the whole answer after the
// last piece, nil before. Pieces may come in any order and repeatedly; a piece
// that does not fit the others is an error and changes nothing.
func (a *Assembly) Add(s Segment) ([]byte, error) {
	if a.whole == nil {
		a.whole = make([]byte, s.Total)
		a.count, a.left = s.Count, int(s.Count)
	}
	if s.Count != a.count || int(s.Total) != len(a.whole) || int(s.Offset)+len(s.Piece) > len(a.whole) {
		return nil, ErrMalformed
	}
	if a.have[s.Number] {
		return nil, nil
	}
	a.have[s.Number] = true
	copy(a.whole[s.Offset:], s.Piece)
	if a.left--; a.left > 0 {
		return nil, nil
	}
	return a.whole, nil
}
