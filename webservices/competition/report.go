package competition

import (
	"crypto/md5"
	"encoding/binary"
	"errors"
	"math"
)

// Status is how a match ended.
type Status uint32

// The values of Status.
const (
	StatusComplete Status = 0
	StatusPartial  Status = 1 // a player left before the end
	StatusBroken   Status = 2 // it did not end
)

// Flags of a report.
const (
	FlagAuthoritative = 1
	FlagNonRelative   = 2
	FlagMatchless     = 4
)

// Result is the result of a player or a team.
type Result uint32

// The results.
const (
	Win Result = iota
	Loss
	Draw
	Disconnect
	Desync
	None
)

// resultNames are the results as they are stored and shown.
var resultNames = [...]string{"win", "loss", "draw", "disconnect", "desync", "none"}

// String returns the name of the result, "unknown" for a number without a name.
func (r Result) String() string {
	if int(r) < len(resultNames) {
		return resultNames[r]
	}
	return "unknown"
}

// Report is the report of a match.
type Report struct {
	Developer uint32 // version of the game's header
	Status    Status
	Flags     uint32
	Reserved  uint16
	Values    []Value
	Players   []Player
	Teams     []Team
}

// Player is a player in a report.
type Player struct {
	Conn   GUID
	Team   uint32
	Auth   [16]byte // zero
	Result Result
	Values []Value
}

// Team is a team in a report; see Report.TeamIDs.
type Team struct {
	Result Result
	Values []Value
}

// TeamIDs returns the ids of the teams: those of the players, in the order of the first
// player of each. There may be more or fewer than Teams.
func (r *Report) TeamIDs() (ids []uint32) {
	seen := make(map[uint32]bool)
	for i := range r.Players {
		if id := r.Players[i].Team; !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// Type is the type of a value.
type Type uint16

// The types.
const (
	TypeInt32 Type = iota
	TypeInt16
	TypeByte
	TypeString
	TypeFloat
	TypeInt64
)

// Value is the value of a key.
type Value struct {
	Key  uint16
	Type Type
	Int  int64   // of the types of integers
	Real float32 // of TypeFloat
	Text string  // of TypeString, at most maxString bytes in any encoding
}

// Sizes in bytes.
const (
	headerLen = 68
	digestAt  = 8
	rosterLen = 20
	authLen   = 16
	resultLen = 4

	// maxString is the longest string: the length before a longer one is ambiguous,
	// because only its low byte is sent.
	maxString = 255

	maxPlayers = 128 // players, and teams, of a report
)

// reportVersion is the only version of reports.
const reportVersion = 2

// The errors of Decode.
var (
	errVersion = errors.New("unknown version")
	errLengths = errors.New("lengths do not add up")
	errDigest  = errors.New("wrong MD5")
	errValue   = errors.New("malformed value")
)

// Decode reads a report. It checks the version, the MD5 and all lengths.
func Decode(p []byte) (*Report, error) {
	if len(p) < headerLen {
		return nil, errLengths
	}
	be := binary.BigEndian
	if be.Uint32(p) != reportVersion {
		return nil, errVersion
	}
	players, teams := int(be.Uint16(p[32:])), int(be.Uint16(p[34:]))
	if players > maxPlayers || teams > maxPlayers {
		return nil, errLengths
	}
	var sections [6][]byte
	rest := p[headerLen:]
	for i := range sections {
		n := int64(be.Uint32(p[44+4*i:]))
		if n > int64(len(rest)) {
			return nil, errLengths
		}
		sections[i], rest = rest[:n], rest[n:]
	}
	if len(rest) > 0 || len(sections[0]) != rosterLen*players || len(sections[1]) != authLen*players ||
		len(sections[2]) != resultLen*(players+teams) {
		return nil, errLengths
	}
	if digest(p) != [md5.Size]byte(p[digestAt:]) {
		return nil, errDigest
	}
	r := &Report{
		Developer: be.Uint32(p[4:]), Status: Status(be.Uint32(p[24:])), Flags: be.Uint32(p[28:]), Reserved: be.Uint16(p[42:]),
		Players: make([]Player, players), Teams: make([]Team, teams),
	}
	r.decodeRoster(sections[0], sections[1], sections[2])
	return r, r.decodeKeys(sections[3], sections[4], sections[5], int(be.Uint16(p[36:])), int(be.Uint16(p[38:])), int(be.Uint16(p[40:])))
}

// digest returns the MD5 of a report.
func digest(p []byte) [md5.Size]byte {
	h := md5.New()
	h.Write(p[:digestAt])
	h.Write(make([]byte, md5.Size))
	h.Write(p[digestAt+md5.Size:])
	return [md5.Size]byte(h.Sum(nil))
}

// decodeRoster reads the sections of fixed length.
func (r *Report) decodeRoster(roster, auth, results []byte) {
	for i := range r.Players {
		entry := roster[rosterLen*i:]
		r.Players[i] = Player{
			Conn: GUID(entry[:16]), Team: binary.BigEndian.Uint32(entry[16:]), Auth: [16]byte(auth[authLen*i:]),
			Result: Result(binary.BigEndian.Uint32(results[resultLen*i:])),
		}
	}
	results = results[resultLen*len(r.Players):]
	for i := range r.Teams {
		r.Teams[i].Result = Result(binary.BigEndian.Uint32(results[resultLen*i:]))
	}
}

// decodeKeys reads the sections of keys. The last three are the numbers of keys in them.
func (r *Report) decodeKeys(match, players, teams []byte, ofMatch, ofPlayers, ofTeams int) (err error) {
	if r.Values, match, err = decodeValues(match, ofMatch); err != nil || len(match) > 0 {
		return errors.Join(err, errLengthsIf(len(match) > 0))
	}
	for i := range r.Players {
		if r.Players[i].Values, players, err = decodeGroup(players, &ofPlayers); err != nil {
			return err
		}
	}
	for i := range r.Teams {
		if r.Teams[i].Values, teams, err = decodeGroup(teams, &ofTeams); err != nil {
			return err
		}
	}
	return errLengthsIf(len(players) > 0 || len(teams) > 0 || ofPlayers != 0 || ofTeams != 0)
}

func errLengthsIf(wrong bool) error {
	if wrong {
		return errLengths
	}
	return nil
}

// decodeGroup reads the keys of a player or a team, and subtracts their number from all.
func decodeGroup(p []byte, all *int) (values []Value, rest []byte, err error) {
	if len(p) < 2 {
		return nil, nil, errLengths
	}
	n := int(binary.BigEndian.Uint16(p))
	*all -= n
	return decodeValues(p[2:], n)
}

func decodeValues(p []byte, n int) (values []Value, rest []byte, err error) {
	for range n {
		var v Value
		if v, p, err = decodeValue(p); err != nil {
			return nil, nil, err
		}
		values = append(values, v)
	}
	return values, p, nil
}

// sizes are the lengths of values other than strings.
var sizes = map[Type]int{TypeInt32: 4, TypeFloat: 4, TypeInt16: 2, TypeByte: 1, TypeInt64: 8}

func decodeValue(p []byte) (v Value, rest []byte, err error) {
	if len(p) < 4 {
		return v, nil, errLengths
	}
	v.Key, v.Type = binary.BigEndian.Uint16(p), Type(binary.BigEndian.Uint16(p[2:]))
	p = p[4:]
	if v.Type == TypeString {
		v.Text, p, err = decodeString(p)
		return v, p, err
	}
	n := sizes[v.Type]
	if n == 0 {
		return v, nil, errValue
	}
	if len(p) < n {
		return v, nil, errLengths
	}
	switch v.Type {
	case TypeInt32:
		v.Int = int64(int32(binary.BigEndian.Uint32(p)))
	case TypeInt16:
		v.Int = int64(int16(binary.BigEndian.Uint16(p)))
	case TypeByte:
		v.Int = int64(p[0])
	case TypeFloat:
		v.Real = math.Float32frombits(binary.LittleEndian.Uint32(p))
	case TypeInt64:
		v.Int = int64(binary.BigEndian.Uint64(p))
	case TypeString:
	}
	return v, p[n:], nil
}

func decodeString(p []byte) (s string, rest []byte, err error) {
	if len(p) == 0 {
		return "", nil, errLengths
	}
	n := int(p[0])
	prefix := n/127 + 1
	if len(p) < prefix+n {
		return "", nil, errLengths
	}
	for _, b := range p[:prefix] {
		if int(b) != n {
			return "", nil, errValue
		}
	}
	return string(p[prefix : prefix+n]), p[prefix+n:], nil
}

// Append appends the report. Strings are cut at maxString bytes.
func (r *Report) Append(dst []byte) []byte {
	be := binary.BigEndian
	start := len(dst)
	dst = append(dst, make([]byte, headerLen)...)
	ends := make([]int, 0, 6)
	mark := func() { ends = append(ends, len(dst)) }
	for i := range r.Players {
		dst = be.AppendUint32(append(dst, r.Players[i].Conn[:]...), r.Players[i].Team)
	}
	mark()
	for i := range r.Players {
		dst = append(dst, r.Players[i].Auth[:]...)
	}
	mark()
	for i := range r.Players {
		dst = be.AppendUint32(dst, uint32(r.Players[i].Result))
	}
	for i := range r.Teams {
		dst = be.AppendUint32(dst, uint32(r.Teams[i].Result))
	}
	mark()
	dst = appendValues(dst, r.Values)
	mark()
	ofPlayers, ofTeams := 0, 0
	for i := range r.Players {
		ofPlayers += len(r.Players[i].Values)
		dst = appendValues(be.AppendUint16(dst, uint16(len(r.Players[i].Values))), r.Players[i].Values)
	}
	mark()
	for i := range r.Teams {
		ofTeams += len(r.Teams[i].Values)
		dst = appendValues(be.AppendUint16(dst, uint16(len(r.Teams[i].Values))), r.Teams[i].Values)
	}
	mark()

	head := dst[start : start+headerLen]
	be.PutUint32(head, reportVersion)
	be.PutUint32(head[4:], r.Developer)
	be.PutUint32(head[24:], uint32(r.Status))
	be.PutUint32(head[28:], r.Flags)
	for i, n := range []int{len(r.Players), len(r.Teams), len(r.Values), ofPlayers, ofTeams, int(r.Reserved)} {
		be.PutUint16(head[32+2*i:], uint16(n))
	}
	from := start + headerLen
	for i, end := range ends {
		be.PutUint32(head[44+4*i:], uint32(end-from))
		from = end
	}
	sum := digest(dst[start:])
	copy(head[digestAt:], sum[:])
	return dst
}

// appendValues appends values without their number.
func appendValues(dst []byte, values []Value) []byte {
	be := binary.BigEndian
	for i := range values {
		v := &values[i]
		dst = be.AppendUint16(be.AppendUint16(dst, v.Key), uint16(v.Type))
		switch v.Type {
		case TypeInt32:
			dst = be.AppendUint32(dst, uint32(v.Int))
		case TypeInt16:
			dst = be.AppendUint16(dst, uint16(v.Int))
		case TypeByte:
			dst = append(dst, byte(v.Int))
		case TypeFloat:
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v.Real))
		case TypeInt64:
			dst = be.AppendUint64(dst, uint64(v.Int))
		case TypeString:
			text := v.Text[:min(len(v.Text), maxString)]
			for range len(text)/127 + 1 {
				dst = append(dst, byte(len(text)))
			}
			dst = append(dst, text...)
		}
	}
	return dst
}
