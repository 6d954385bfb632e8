package webhook

import (
	"net/netip"
	"reflect"
	"slices"
)

// Format is the form of the requests.
type Format uint8

// The formats.
const (
	JSON    Format = iota // signed
	Discord               // a chat message
)

// Hook is a receiver of events. The URL may hold a token and the secret is one: they
// are never logged. It is not changed once it is in use.
type Hook struct {
	Name   string // for logs
	URL    string // http or https
	Format Format
	Secret string // key of the signature; unused for Discord

	Kinds []Kind   // to send; none: all but Said
	Room  string   // channel of which Said is sent
	Games []string // of servers; none: all
	// High and Low are the numbers of players for PlayersHigh and PlayersLow, Low
	// below High; High 0: neither is sent.
	High, Low int
	// Allow are networks that may be called although they are not public.
	Allow []netip.Prefix
}

// wants reports whether the hook is for events of a kind about a game; bans
// have no game.
func (h *Hook) wants(k Kind, game string) bool {
	if len(h.Kinds) == 0 && k == Said || len(h.Kinds) > 0 && !slices.Contains(h.Kinds, k) {
		return false
	}
	return game == "" || len(h.Games) == 0 || slices.Contains(h.Games, game)
}

// equal reports whether two hooks are the same in everything.
func (h *Hook) equal(other *Hook) bool { return reflect.DeepEqual(h, other) }
