// Package games is the catalogue of games: their names, secret keys, query
// ports and exceptions.
//
// A catalogue is built from layers: the embedded list, the operator's file, the
// overrides in the store. A later layer changes only the fields it states; see [Game] for which
// fields count as stated. The package also reads and writes the YAML form of the list, imports the
// two lists that circulate in the community, and generates the host names that the original clients
// resolve.
//
// It is not for live servers (package master), not for keeping overrides
// (package storage), and it opens no file and no socket.
package games

const (
	// DefaultQueryPort is the query port of a game whose record names none.
	DefaultQueryPort = 6500
	// QueryChallenge is the backend flag of games whose hosts require a
	// challenge before they answer a query.
	QueryChallenge uint16 = 0x80
)

// The availability bits that clients look at. Gone wins over TemporarilyDown.
const (
	Gone            uint32 = 1
	TemporarilyDown uint32 = 2
)

// Game is one record of a list or, as [Catalog.Lookup] returns it, one game of
// the catalogue. It is read-only: the slices of a game from the
// catalogue are shared by all readers.
//
// In a layer the zero value of a field means "not stated": the layers below
// decide. Given marks the fields that are stated although their value is zero.
//
// A fact about games is declared once, as a field here or in a part of it. The YAML form, the
// columns of games.tsv, limits, layers, aliases, differences and the page games.md for operators
// follow from its tags, which the type fact explains, and from its comment.
type Game struct {
	// Identifies the game: 1 to 31 characters of a-z, 0-9, _ and -. Case does not matter.
	Name string `yaml:"name,required,lower,column" as:"name"`
	// Display name.
	Title string `yaml:"title,filled,column" as:"text"`
	// Secret keys of 6 or 7 characters. The first is the one to encrypt with, any of them
	// may prove a game server. Without a secret the game is listed, but unusable. secret:
	// KEY is the short form for one.
	Secrets []string `yaml:"secrets,one=secret,unique,count,column" as:"secret" most:"16"`
	// Game id of the account and statistics services; 0: unknown.
	ID int `yaml:"id,column"`
	// Query port of game servers that name none; default 6500.
	QueryPort uint16 `yaml:"port,column" range:"1 to 65535"`
	// Bits of the query challenge and the header of lists. 0x80: game servers require
	// a challenge before each query.
	BackendFlags uint16 `yaml:"backend_flags,column"`
	// Availability answer: 1 gone for good, 2 temporarily down.
	DisabledServices uint32 `yaml:"disabled_services,column"`
	// on: answer "temporarily down" for now.
	Maintenance bool `yaml:"maintenance"`
	// Chat rooms that are always there. A built-in room gives way to a room of yours
	// with its id. [{id: 7, name: Lobby, max_waiting: 50, fields: {key: value}}]
	Rooms []Room `yaml:"rooms,count" most:"1000"`
	// Leaderboards. The results of players come from the final reports of game servers
	// (gstats); they count for players whose presence the server proves. [{name: kills,
	// title: Kills, how: sum}]
	Boards []Board `yaml:"boards,unique,count" most:"32"`
	// Tables of records that players store (SAKE). A table that is missing begins with
	// its first record, with fields of any type. [{name: levels, fields: [score:int,
	// title:unicode], limit: 10}]
	Tables []Table `yaml:"tables,unique,count" most:"1000"`
	Facts
	// Exceptions. Layers merge them switch by switch.
	Policy Policy `yaml:"policy,each"`

	// See is the name of the game of which this one is only a demo or another version. The
	// catalogue sets it. Nothing is said of playing such a game.
	See string
	// Given marks fields that are stated although they are zero. It is empty in
	// the catalogue.
	Given Fields
	// Source is the origin of the record; in the catalogue it names the topmost
	// layer that has a record of the game.
	Source Source
}

// Room is a group room: a chat room of a game that exists even when it is empty.
type Room struct {
	// Unique over all games. Lists carry it in the place of an address, and 0 and
	// 4294967295 have a meaning there.
	ID uint32 `yaml:"id,required" range:"1 to 4294967294"`
	// Shown to players.
	Name string `yaml:"name,required" as:"text"`
	// Capacity; 0: not stated.
	MaxWaiting int `yaml:"max_waiting" range:"0 to 1000000"`
	// Further keys of the room in the order in which they are listed.
	Fields []Field `yaml:"fields" most:"32"`
}

// Field is one key of a room with its value. Neither contains a backslash.
type Field struct {
	Key, Value string
}

// Policy holds the switches for games that need an exception. The zero value is
// right for nearly every game. Inherit leaves a switch to the setting of the service, or
// else is Off.
type Policy struct {
	// on: answer "gone" while the game has no secret; off: by the record alone.
	StrictAvailability Switch `yaml:"strict_availability"`
	// Old game servers that never prove their secret: an answered query has to do.
	NoSecure Switch `yaml:"no_secure"`
	// The old list, unencrypted, only for clients that prove the secret; off: for all.
	StrictLegacyValidate Switch `yaml:"strict_legacy_validate"`
	// Two players with requests for each other become buddies without an answer. Games
	// with friend codes need it.
	AutoAccept Switch `yaml:"auto_accept"`
	// A player who removes a buddy disappears from the list of that buddy too.
	SymmetricDelete Switch `yaml:"symmetric_delete"`
	// Report the user id as 0 at sign-in. Some games of handhelds need that.
	NoUserID Switch `yaml:"no_user_id"`
	// Servers speak Valve's protocol and prove no secret: list them in the game.
	A2S Switch `yaml:"a2s"`
	// Never relay players whose routers prevent a direct connection.
	NoRelay Switch `yaml:"no_relay"`
	// Statistics that a player does not have are 0, not empty.
	ZeroStats Switch `yaml:"zero_stats"`
	// Sessions that end when a player signs in again: those of the same profile, those of
	// the user's profiles, or none. Missing: as gpcm.second_login says.
	SecondLogin SecondLogin `yaml:"second_login" words:"profile, user, allow"`
}

// SecondLogin is the effect of a second sign-in of a player.
type SecondLogin string

// The second logins.
const (
	KickProfile SecondLogin = "profile" // the session of the same profile ends
	KickUser    SecondLogin = "user"    // the sessions of all profiles of the account end
	AllowSecond SecondLogin = "allow"   // both sessions continue
)

// Or returns l, or general if l leaves it open.
func (l SecondLogin) Or(general SecondLogin) SecondLogin {
	if l == "" {
		return general
	}
	return l
}

// Switch is a setting of one game that may leave the decision to a general one.
type Switch uint8

// The positions of a Switch.
const (
	Inherit Switch = iota
	Off
	On
)

// Or returns the position of the switch, or general if it is Inherit.
func (s Switch) Or(general bool) bool {
	if s == Inherit {
		return general
	}
	return s == On
}

// String returns "inherit", "off" or "on".
func (s Switch) String() string {
	switch s {
	case Off:
		return "off"
	case On:
		return "on"
	default:
		return "inherit"
	}
}

// Usable reports whether the game has a secret, without which no host can prove
// itself and no list can be encrypted.
func (g Game) Usable() bool { return len(g.Secrets) > 0 }

// Secret returns the preferred secret, or "" if the game has none.
func (g Game) Secret() string {
	if len(g.Secrets) == 0 {
		return ""
	}
	return g.Secrets[0]
}

// QueryChallenge reports whether hosts of the game want a challenge before they
// answer a query.
func (g Game) QueryChallenge() bool { return g.BackendFlags&QueryChallenge != 0 }

// Availability returns the bits of the availability answer. strict is the
// service's own setting, which the game's policy may overrule.
func (g Game) Availability(strict bool) uint32 {
	bits := g.DisabledServices
	if g.Maintenance {
		bits |= TemporarilyDown
	}
	if !g.Usable() && g.Policy.StrictAvailability.Or(strict) {
		bits |= Gone
	}
	return bits
}
