package quake3

import (
	"bytes"
	"encoding/binary"
	"net/netip"
)

// Call of Duty's dialect: lists have a line end and a NUL behind the word, a backslash
// behind each server, and another end mark in packets that more follow.
const (
	codHead = prefix + KindServers + "\n\x00\\"
	codMore = "EOT"
	codLast = "EOF"

	// CodEntries is the number of servers in a packet of Call of Duty.
	CodEntries = 20

	codEntry = 4 + 2 + 1
)

// AppendCodLists appends the packets of a list in the dialect of Call of Duty to packets.
// Servers with IPv6 are left out.
func AppendCodLists(packets [][]byte, servers []netip.AddrPort, _ bool) [][]byte {
	b, entries := []byte(codHead), 0
	for _, a := range servers {
		if !a.Addr().Is4() {
			continue
		}
		if entries == CodEntries {
			packets = append(packets, append(b, codMore...))
			b, entries = []byte(codHead), 0
		}
		ip := a.Addr().As4()
		b = append(binary.BigEndian.AppendUint16(append(b, ip[:]...), a.Port()), separator4)
		entries++
	}
	return append(packets, append(b, codLast...))
}

// ParseCodList parses the result of Cut for a packet of a list in the dialect of Call of
// Duty, and appends its servers to servers. last reports that no packet follows. What
// stands before the first backslash differs between masters.
func ParseCodList(servers []netip.AddrPort, rest []byte) (list []netip.AddrPort, last bool, err error) {
	_, rest, _ = bytes.Cut(rest, []byte{separator4})
	for len(rest) >= codEntry && rest[codEntry-1] == separator4 {
		a := netip.AddrPortFrom(netip.AddrFrom4([4]byte(rest)), binary.BigEndian.Uint16(rest[4:]))
		if rest = rest[codEntry:]; a.Port() != 0 {
			servers = append(servers, a)
		}
	}
	switch string(bytes.TrimRight(rest, "\x00")) {
	case codLast:
		return servers, true, nil
	case codMore:
		return servers, false, nil
	default:
		return servers, false, ErrMalformed
	}
}

// The list of CoD4X comes over TCP: before the address of each server, after the backslash,
// are its game and the kind of the address.
const (
	cod4XRequest = prefix + "getservers cod4x 6 full empty \x00"
	cod4XHead    = "\\\x00\x00\x00\x00\x04"

	// Cod4XEntry is the size of a server in the list of CoD4X, in bytes.
	Cod4XEntry = len(cod4XHead) + 4 + 2
)

// AppendCod4XRequest appends the request for the list of CoD4X.
func AppendCod4XRequest(b []byte) []byte { return append(b, cod4XRequest...) }

// ParseCod4XList parses the list of CoD4X, or the beginning of one. The error is
// ErrMalformed for one without its end mark; the servers before it are returned too.
func ParseCod4XList(b []byte) (servers []netip.AddrPort, err error) {
	for {
		at := bytes.IndexByte(b, separator4)
		if at < 0 {
			return servers, ErrMalformed
		}
		switch b = b[at:]; {
		case bytes.HasPrefix(b[1:], []byte(codLast)):
			return servers, nil
		case bytes.HasPrefix(b[1:], []byte(codMore)): // the head of a packet follows
			b = b[1:]
		case len(b) >= Cod4XEntry && string(b[:len(cod4XHead)]) == cod4XHead:
			a := b[len(cod4XHead):Cod4XEntry]
			servers = append(servers, netip.AddrPortFrom(netip.AddrFrom4([4]byte(a)), binary.BigEndian.Uint16(a[4:])))
			b = b[Cod4XEntry:]
		default:
			return servers, ErrMalformed
		}
	}
}

// ParseCodInfo is ParseInfo for servers of Call of Duty, which leave out the number of
// players while there are none.
func ParseCodInfo(rest []byte) (Info, error) { return parseInfo(rest, true) }

// AuthQuestion is a getIpAuthorize of Call of Duty: may a player join? Its texts are
// parts of the packet.
type AuthQuestion struct {
	Challenge []byte // a whole number
	Player    netip.Addr
}

// The words of keys in Call of Duty.
const (
	authQuestion = "getIpAuthorize"
	authAnswer   = "ipAuthorize"
	authKey      = "getKeyAuthorize"
	authUpdate   = "getUpdateInfo"

	// maxAuthChallenge is the length of the longest challenge, in bytes.
	maxAuthChallenge = 12
)

// Other is a message that only Call of Duty has.
type Other uint8

// The messages.
const (
	NoOther       Other = iota
	OtherQuestion       // getIpAuthorize, see ParseAuthQuestion
	OtherKey            // getKeyAuthorize: the key of a player, without an answer
	OtherUpdate         // getUpdateInfo and getUpdateInfo2: a newer version, without an answer
)

// CutOther returns the kind of a message of Call of Duty that Cut does not know, and the text after
// its word.
func CutOther(p []byte) (Other, []byte) {
	p, _ = bytes.CutPrefix(p, []byte(prefix))
	first, rest := word(p)
	switch {
	case string(first) == authQuestion:
		return OtherQuestion, rest
	case string(first) == authKey:
		return OtherKey, rest
	case bytes.HasPrefix(first, []byte(authUpdate)):
		return OtherUpdate, rest
	default:
		return NoOther, nil
	}
}

// ParseAuthQuestion parses the result of CutOther for a getIpAuthorize.
func ParseAuthQuestion(rest []byte) (AuthQuestion, error) {
	challenge, rest := word(rest)
	text, _ := word(rest)
	player, err := netip.ParseAddr(string(text[:min(len(text), maxAddr)]))
	if err != nil || !player.Is4() || len(challenge) == 0 || len(challenge) > maxAuthChallenge || len(bytes.Trim(challenge, "-0123456789")) > 0 {
		return AuthQuestion{}, ErrMalformed
	}
	return AuthQuestion{challenge, player}, nil
}

// maxAddr is the length of the longest address of IPv4, in bytes.
const maxAddr = 15

// AppendAuthQuestion appends a getIpAuthorize.
func AppendAuthQuestion(b []byte, q AuthQuestion, game string) []byte {
	b = append(append(append(b, prefix+authQuestion+" "...), q.Challenge...), ' ')
	b = append(q.Player.AppendTo(b), ' ')
	return append(append(b, game...), " 0"...)
}

// AppendAuthAnswer appends an ipAuthorize that lets a player in, or does not.
func AppendAuthAnswer(b, challenge []byte, good bool) []byte {
	b = append(append(b, prefix+authAnswer+" "...), challenge...)
	if good {
		return append(b, " accept KEY_IS_GOOD 0 0"...)
	}
	return append(b, " deny CLIENT_UNKNOWN_TO_AUTH 0 0"...)
}

// ParseAuthAnswer parses an ipAuthorize.
func ParseAuthAnswer(p []byte) (challenge []byte, good bool, err error) {
	first, rest := word(bytes.TrimPrefix(p, []byte(prefix)))
	challenge, rest = word(rest)
	verdict, _ := word(rest)
	if string(first) != authAnswer || len(challenge) == 0 {
		return nil, false, ErrMalformed
	}
	return challenge, string(verdict) == "accept", nil
}
