package peerchat

import (
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
)

// Limits of names, in bytes.
const (
	maxChosenNick = 20 // what the client library accepts from its game
	maxNick       = 32 // nicks that the service assigns: a unique nick and its suffix
	maxChannel    = 256
	maxBanMask    = 128
)

// validNick reports whether a client may choose a nick: 1 to 20 printable ASCII
// characters, no space, backslash or exclamation mark, and in front none of @ # + :
// which mean something else there. "*" is not a nick: it stands for none.
func validNick(s string) bool {
	if s == "" || len(s) > maxChosenNick || s == "*" || strings.IndexByte("@#+:", s[0]) >= 0 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || c == '\\' || c == '!' {
			return false
		}
	}
	return true
}

// foldNick returns what nicks are compared by: only the case of ASCII letters is
// not significant.
func foldNick(s string) string { return ascii.ToLower(s) }

// validChannel reports whether a text can be the name of a channel.
func validChannel(s string) bool {
	if len(s) < 2 || len(s) > maxChannel || s[0] != '#' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == ',' || c == 0x7F {
			return false
		}
	}
	return true
}

// foldChannel returns what names of channels are compared by. The case of ASCII
// letters is not significant, except behind the second exclamation mark of a
// staging room, where the name is an encoded address.
func foldChannel(s string) string {
	if head := stagingHead(s); head > 0 {
		low := ascii.ToLower(s[:head])
		if low == s[:head] {
			return s
		}
		return low + s[head:]
	}
	return ascii.ToLower(s)
}

// What the names of Peer's rooms begin with, in lower case.
const (
	gamePrefix  = "#gsp!"
	groupPrefix = "#gpg!"
)

// stagingHead returns the length of a staging room's name up to the second
// exclamation mark and with it, 0 if the name is another one.
func stagingHead(s string) int {
	game, ok := cutPrefixFold(s, gamePrefix)
	if !ok {
		return 0
	}
	if end := strings.IndexByte(game, '!'); end > 0 && end+1 < len(game) {
		return len(gamePrefix) + end + 1
	}
	return 0
}

// roomKind is what a channel is for.
type roomKind uint8

const (
	roomOther   roomKind = iota
	roomTitle            // #GSP!game: players of the game meet
	roomGroup            // #GPG!number: one of the game's rooms that the operator defines
	roomStaging          // #GSP!game!MxxxxxxxxM: players of one server wait for the match
)

// channelKind is what the name of a channel says.
type channelKind struct {
	room  roomKind
	game  string // in lower case; of title and staging rooms
	group uint32 // of group rooms
}

// kindOf reads the name of a channel.
func kindOf(channel string) channelKind {
	if number, ok := cutPrefixFold(channel, groupPrefix); ok {
		if n, err := strconv.ParseUint(number, 10, 32); err == nil && n > 0 && number[0] != '0' {
			return channelKind{room: roomGroup, group: uint32(n)}
		}
		return channelKind{}
	}
	game, ok := cutPrefixFold(channel, gamePrefix)
	if !ok || game == "" {
		return channelKind{}
	}
	if head := stagingHead(channel); head > 0 {
		return channelKind{room: roomStaging, game: ascii.ToLower(channel[len(gamePrefix) : head-1])}
	}
	if strings.IndexByte(game, '!') >= 0 {
		return channelKind{}
	}
	return channelKind{room: roomTitle, game: ascii.ToLower(game)}
}

// cutPrefixFold is strings.CutPrefix for a prefix in lower case, whatever the case
// of s.
func cutPrefixFold(s, prefix string) (rest string, ok bool) {
	if len(s) < len(prefix) || !ascii.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// matchMask reports whether s matches a mask, in which * stands for any text and ?
// for one byte. The case of ASCII letters is not significant. The time is at most
// that of comparing the mask with each position of s.
func matchMask(mask, s string) bool {
	m, i := 0, 0
	star, resume := -1, 0 // where the last * is, and where its text may end next
	for i < len(s) {
		switch {
		case m < len(mask) && mask[m] == '*':
			star, resume = m, i
			m++
		case m < len(mask) && (mask[m] == '?' || ascii.Lower(mask[m]) == ascii.Lower(s[i])):
			m++
			i++
		case star >= 0:
			resume++
			m, i = star+1, resume
		default:
			return false
		}
	}
	return strings.Trim(mask[m:], "*") == ""
}

// cleanBanMask returns the normal form of a mask, nick!user@host in lower case, in
// which masks that are written differently can be compared; what is left out is *.
// A mask without ! and @ is a nick. It returns false if s is no mask or too long.
func cleanBanMask(s string) (string, bool) {
	if s == "" || len(s) > maxBanMask || s[0] == ':' {
		return "", false
	}
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == ',' || c == 0x7F {
			return "", false
		}
	}
	nick, rest, hasUser := strings.Cut(s, "!")
	if !hasUser && strings.IndexByte(s, '@') >= 0 {
		nick, rest = "", s
	}
	user, host := rest, ""
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user, host = rest[:at], rest[at+1:]
	}
	var buf [maxBanMask + len("*!*@*")]byte
	mask := appendMaskPart(buf[:0], nick)
	mask = appendMaskPart(append(mask, '!'), user)
	mask = appendMaskPart(append(mask, '@'), host)
	if len(mask) > maxBanMask {
		return "", false
	}
	return string(mask), true
}

// appendMaskPart appends a part of a mask: in lower case, one * for several in a
// row and for nothing.
func appendMaskPart(dst []byte, part string) []byte {
	if part == "" {
		return append(dst, '*')
	}
	for i := range len(part) {
		if i > 0 && part[i] == '*' && part[i-1] == '*' {
			continue
		}
		dst = append(dst, ascii.Lower(part[i]))
	}
	return dst
}
