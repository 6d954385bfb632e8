package peerchat

import (
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
)

// Limits of names, in bytes.
const (
	maxChosenNick = 20 // the client library's limit
	maxNick       = 32 // nicks that the service assigns: a unique nick and its suffix
	maxChannel    = 256
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

// serviceNicks are the nicks, folded, with which players expect the service or a program of it.
var serviceNicks = map[string]bool{
	serverName: true, foldNick(operatorNick): true, "server": true, "global": true, "qmbot": true,
	"chanserv": true, "nickserv": true, "memoserv": true, "operserv": true, "botserv": true, "hostserv": true,
}

// foldNick returns the form in which nicks are compared: the case of ASCII
// letters is not significant.
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

// foldChannel returns the form in which names of channels are compared. The
// case of ASCII letters is not significant, except after the second exclamation
// mark of a staging room, where the name is an encoded address.
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

// Prefixes of the names of Peer's rooms, in lower case.
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

// roomKind is the purpose of a channel.
type roomKind uint8

const (
	roomOther   roomKind = iota
	roomTitle            // #GSP!game: players of the game meet
	roomGroup            // #GPG!number: one of the game's rooms that the operator defines
	roomStaging          // #GSP!game!MxxxxxxxxM: players of one server wait for the match
)

// channelKind is the kind derived from the name of a channel.
type channelKind struct {
	room  roomKind
	game  string // in lower case; of title and staging rooms
	group uint32 // of group rooms
}

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

// ofService reports whether the channel belongs to the service and not to its members.
func (k channelKind) ofService() bool { return k.room == roomTitle || k.room == roomGroup }

// cutPrefixFold is strings.CutPrefix for a prefix in lower case, whatever the case
// of s.
func cutPrefixFold(s, prefix string) (rest string, ok bool) {
	if len(s) < len(prefix) || !ascii.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}
