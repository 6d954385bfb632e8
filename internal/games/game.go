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

import (
	"slices"
)

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
type Game struct {
	// Name identifies the game: lower case, 1 to MaxNameLen characters of
	// a-z, 0-9, '_' and '-'.
	Name string
	// Title is the display name, at most MaxTextLen bytes of UTF-8.
	Title string
	// Secrets are the secret keys. The first is the one to encrypt with, any of
	// them may prove a host. Without a secret the game is listed but unusable.
	// A layer that states secrets replaces the whole list.
	Secrets []string
	// ID is the numeric game id of the account and statistics services; 0: unknown.
	ID int
	// QueryPort is the default port on which hosts answer queries. In the
	// catalogue it is never 0.
	QueryPort uint16
	// BackendFlags are copied into the query challenge and the list header.
	BackendFlags uint16
	// DisabledServices are the bits of the availability answer; see Availability.
	DisabledServices uint32
	// Maintenance is the operator's switch: the game answers "temporarily down".
	Maintenance bool
	// Rooms are the static group rooms. A layer that states rooms replaces them all.
	Rooms []Room
	// Tables are the tables of records that players store. A layer that states
	// tables replaces them all.
	Tables []Table
	// Policy holds the exceptions of this game. Layers merge it switch by switch.
	Policy Policy
	// Facts are the peculiarities of the game's online mode. Layers merge them
	// value by value and list by list.
	Facts
	// Boards are the leaderboards. A layer that states boards replaces them all.
	Boards []Board
	// Given marks fields that are stated although they are zero. It is empty in
	// the catalogue.
	Given Fields
	// Source is the origin of the record; in the catalogue it names the topmost
	// layer that has a record of the game.
	Source Source
}

// Fields is a set of fields of a Game.
type Fields uint32

// The fields for which "stated and zero" differs from "not stated".
const (
	FieldSecrets Fields = 1 << iota
	FieldID
	FieldBackendFlags
	FieldDisabledServices
	FieldMaintenance
	FieldRooms
	FieldDomains
	FieldHosts
	FieldNamespace
	FieldPartner
	FieldLANPorts
	FieldNeeds
	FieldUses
	FieldVia
	FieldAliases
	FieldNote
	FieldKeys
	FieldSharedList
	FieldBoards
	FieldTables
	FieldColours
	FieldQuake3
	FieldEpic
	FieldJoin
	FieldFiles
	FieldQuickMatch
)

// Room is a group room: a chat room of a game that exists even when it is empty.
type Room struct {
	// ID is unique over all games, and neither 0 nor 0xFFFFFFFF: lists carry it
	// in the place of an address, and those two have a meaning there.
	ID uint32
	// Name is shown to players, 1 to MaxTextLen bytes.
	Name string
	// MaxWaiting is the room's capacity, 0 to MaxRoomCapacity; 0: not stated.
	MaxWaiting int
	// Fields are further keys of the room in the order in which they are listed.
	Fields []Field
}

// Field is one key of a room with its value. Neither contains a backslash.
type Field struct {
	Key, Value string
}

// Policy holds the switches for games that need an exception. The zero value is
// right for nearly every game.
type Policy struct {
	// StrictAvailability: On answers "gone" while the game has no secret, Off
	// answers by the record only, Inherit leaves it to the service's setting.
	StrictAvailability Switch
	// NoSecure: On is for QR1 games whose hosts never answer \secure\; an answer
	// to a query proves their address instead. Inherit is Off.
	NoSecure Switch
	// StrictLegacyValidate: On lets only clients with a correct \validate\
	// answer read the old list without encryption, Off lets all clients,
	// Inherit leaves it to the service's setting.
	StrictLegacyValidate Switch

	// SecondLogin determines which sessions the login of a player who is
	// already signed in displaces; empty leaves it to the service's setting.
	SecondLogin SecondLogin
	// AutoAccept: On makes buddies of two players with mutual requests, without
	// an answer. Games with friend codes need it.
	AutoAccept Switch
	// SymmetricDelete: On also removes a player from the list of a buddy that
	// the player removes.
	SymmetricDelete Switch
	// NoUserID: On reports the user id as 0 at login. Some games of handhelds
	// want that.
	NoUserID Switch
	// A2S: On is for games whose servers speak Valve's protocol, in which nothing
	// proves a secret: those servers are listed in the game itself.
	A2S Switch
	// NoRelay: On never relays the players of the game. Inherit is Off.
	NoRelay Switch
	// ZeroStats: On answers 0 for statistics that a player does not have, where the
	// game asks for them by name. Inherit is Off: the value is empty.
	ZeroStats Switch
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

// states reports whether the record states field f, even with a zero value.
func (g Game) states(f Fields, nonZero bool) bool { return nonZero || g.Given&f != 0 }

// overlay returns g with the fields that top states. It shares the slices of both.
func (g Game) overlay(top Game) Game {
	given := g.Given | top.Given
	if top.Title != "" {
		g.Title = top.Title
	}
	if top.states(FieldSecrets, len(top.Secrets) > 0) {
		g.Secrets = top.Secrets
	}
	if top.states(FieldID, top.ID != 0) {
		g.ID = top.ID
	}
	if top.QueryPort != 0 {
		g.QueryPort = top.QueryPort
	}
	if top.states(FieldBackendFlags, top.BackendFlags != 0) {
		g.BackendFlags = top.BackendFlags
	}
	if top.states(FieldDisabledServices, top.DisabledServices != 0) {
		g.DisabledServices = top.DisabledServices
	}
	if top.states(FieldMaintenance, top.Maintenance) {
		g.Maintenance = top.Maintenance
	}
	if top.states(FieldRooms, len(top.Rooms) > 0) {
		g.Rooms = top.Rooms
	}
	if top.states(FieldBoards, len(top.Boards) > 0) {
		g.Boards = top.Boards
	}
	if top.states(FieldTables, len(top.Tables) > 0) {
		g.Tables = top.Tables
	}
	g.Facts = g.Facts.overlay(top.Facts, top.Given)
	g.Policy = g.Policy.overlay(top.Policy)
	g.Source = top.Source
	g.Given = given &^ g.nonZero()
	return g
}

// nonZero returns the fields that need no mark in Given.
func (g Game) nonZero() Fields {
	var all Fields
	mark := func(f Fields, set bool) {
		if set {
			all |= f
		}
	}
	mark(FieldSecrets, len(g.Secrets) > 0)
	mark(FieldID, g.ID != 0)
	mark(FieldBackendFlags, g.BackendFlags != 0)
	mark(FieldDisabledServices, g.DisabledServices != 0)
	mark(FieldMaintenance, g.Maintenance)
	mark(FieldRooms, len(g.Rooms) > 0)
	mark(FieldBoards, len(g.Boards) > 0)
	mark(FieldTables, len(g.Tables) > 0)
	return all | g.Facts.nonZero()
}

func (p Policy) overlay(top Policy) Policy {
	return Policy{
		StrictAvailability:   p.StrictAvailability.overlay(top.StrictAvailability),
		NoSecure:             p.NoSecure.overlay(top.NoSecure),
		StrictLegacyValidate: p.StrictLegacyValidate.overlay(top.StrictLegacyValidate),
		SecondLogin:          top.SecondLogin.Or(p.SecondLogin),
		AutoAccept:           p.AutoAccept.overlay(top.AutoAccept),
		SymmetricDelete:      p.SymmetricDelete.overlay(top.SymmetricDelete),
		NoUserID:             p.NoUserID.overlay(top.NoUserID),
		A2S:                  p.A2S.overlay(top.A2S),
		NoRelay:              p.NoRelay.overlay(top.NoRelay),
		ZeroStats:            p.ZeroStats.overlay(top.ZeroStats),
	}
}

func (s Switch) overlay(top Switch) Switch {
	if top == Inherit {
		return s
	}
	return top
}

// clone returns a copy that shares no slice with g.
func (g Game) clone() Game {
	g.Secrets = slices.Clone(g.Secrets)
	g.Rooms = slices.Clone(g.Rooms)
	for i := range g.Rooms {
		g.Rooms[i].Fields = slices.Clone(g.Rooms[i].Fields)
	}
	g.Boards = slices.Clone(g.Boards)
	g.Tables = slices.Clone(g.Tables)
	for i := range g.Tables {
		g.Tables[i].Fields = slices.Clone(g.Tables[i].Fields)
	}
	g.Facts = g.Facts.clone()
	return g
}
