package operator

import (
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
)

// Prefixes of the names of channels; case is not significant.
const (
	gameChannel  = "#GSP!"
	groupChannel = "#GPG!"
)

// GroupChannel returns the channel of a group room.
func GroupChannel(id uint32) string { return groupChannel + strconv.FormatUint(uint64(id), 10) }

// TitleChannel returns the channel of the title room of a game.
func TitleChannel(game string) string { return gameChannel + game }

// ParseChannel splits the name of a channel: its kind, the game of a title
// or staging room as it is written, or the id of a group room.
func ParseChannel(channel string) (kind ChatRoomKind, game string, group uint32) {
	if number, ok := cutFold(channel, groupChannel); ok {
		if id, err := strconv.ParseUint(number, 10, 32); err == nil && id > 0 {
			return ChatGroup, "", uint32(id)
		}
		return ChatOther, "", 0
	}
	rest, ok := cutFold(channel, gameChannel)
	if !ok || rest == "" {
		return ChatOther, "", 0
	}
	game, _, staging := strings.Cut(rest, "!")
	if staging {
		return ChatStaging, game, 0
	}
	return ChatTitle, game, 0
}

// cutFold is strings.CutPrefix without regard to the case of ASCII letters.
func cutFold(s, prefix string) (rest string, ok bool) {
	if len(s) < len(prefix) || !ascii.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}
