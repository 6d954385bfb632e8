package webhook

import (
	"time"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/colour"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// Kind is a kind of event.
type Kind uint8

// The kinds.
const (
	ServerUp Kind = iota
	ServerDown
	PlayersHigh
	PlayersLow
	BanAdded
	BanRemoved
	RoomUp
	ChatBanned
	Said // is never sent to a hook that does not name it
	Test
)

// kindNames are the kinds as requests and metrics spell them.
func kindNames() []string {
	return []string{"server.up", "server.down", "players.high", "players.low", "ban.added", "ban.removed", "room.up", "chat.ban", "chat.said", "test"}
}

// String returns the kind as requests spell it.
func (k Kind) String() string { return kindNames()[k] }

// MarshalText implements encoding.TextMarshaler.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Event is something that happened. One of the pointers is set, none for Test.
type Event struct {
	Kind    Kind      `json:"type"`
	Time    time.Time `json:"time"`
	Server  *Server   `json:"server,omitempty"`
	Ban     *Ban      `json:"ban,omitempty"`
	Room    *Room     `json:"room,omitempty"`
	ChatBan *ChatBan  `json:"chat_ban,omitempty"`
	Line    *Line     `json:"line,omitempty"`
}

// Longest texts of strangers in an event, in characters.
const (
	maxName = 60
	maxArea = 30
)

// Server is a server in an event. Its texts are clean (see package clean), without
// colour codes and short, and not escaped.
type Server struct {
	ID         string `json:"id"`
	Game       string `json:"game"`
	Title      string `json:"title"`
	Name       string `json:"name"`
	Address    string `json:"address"`
	Map        string `json:"map"`
	Players    int    `json:"players"`
	MaxPlayers int    `json:"max_players"`
}

func describe(s *master.Server, title string, codes colour.Family) *Server {
	rule := func(name string) string { v, _ := s.Rules.Get(name); return v }
	most, _ := master.ParsePopulation(rule("maxplayers"))
	return &Server{
		ID: s.ID(), Game: s.Game, Title: clean.Line(title, maxName),
		Name: colour.Line(colour.OfServer(s.Origin, codes), rule("hostname"), maxName), Address: s.Public.String(), Map: clean.Line(rule("mapname"), maxArea),
		Players: s.Population(), MaxPlayers: most,
	}
}

// Ban is a ban in an event.
type Ban struct {
	Prefix  string     `json:"prefix"`
	Scope   string     `json:"scope"`
	Reason  string     `json:"reason"`
	By      string     `json:"by"`
	Added   time.Time  `json:"added"`
	Expires *time.Time `json:"expires,omitempty"`
}

func describeBan(b storage.Ban) *Ban {
	out := &Ban{
		Prefix: b.Prefix.String(), Scope: b.Scope.String(), Added: b.Added.UTC(),
		Reason: clean.Line(b.Reason, 2*maxName), By: clean.Line(b.By, maxName),
	}
	if !b.Expires.IsZero() {
		until := b.Expires.UTC()
		out.Expires = &until
	}
	return out
}
