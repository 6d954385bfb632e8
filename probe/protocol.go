package probe

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/master"
)

// Protocol is the protocol in which a server is queried.
type Protocol uint8

// The protocols.
const (
	// GS1 is the backslash text of GameSpy's first servers.
	GS1 Protocol = iota + 1
	// GS3 is the binary query of GameSpy's later servers: with a challenge, or
	// without for servers that do not support it.
	GS3
	// A2S are the queries of Source, GoldSource and many later games.
	A2S
	// SSQ are Standard Server Queries.
	SSQ
	// Zandronum is the launcher query of Zandronum's servers.
	Zandronum
	// Quake3 are the queries of Quake III and its family.
	Quake3
	// IDTech4 is the query of Doom 3, Quake 4 and Prey.
	IDTech4
	// NWN are the queries of Neverwinter Nights.
	NWN
	// Quake2 is the query of Quake 2 and its family.
	Quake2
	// QuakeWorld is that of QuakeWorld.
	QuakeWorld
	// Unreal2 are the queries of Unreal Tournament 2003 and 2004.
	Unreal2
	// ASE is the query of the All-Seeing Eye, which Far Cry, Multi Theft Auto and others answer.
	ASE
	// Battlefield is the console of Battlefield: Bad Company 2 and the games after it, over TCP.
	Battlefield
)

var protocolNames = [...]string{
	GS1: "gs1", GS3: "gs3", A2S: "a2s", SSQ: "ssq", Zandronum: "zandronum", Quake3: "quake3", IDTech4: "idtech4", NWN: "nwn",
	Quake2: "quake2", QuakeWorld: "quakeworld", Unreal2: "unreal2", ASE: "ase", Battlefield: "battlefield",
}

// Protocols returns all protocols.
func Protocols() []Protocol {
	return []Protocol{GS1, GS3, A2S, SSQ, Zandronum, Quake3, IDTech4, NWN, Quake2, QuakeWorld, Unreal2, ASE, Battlefield}
}

// String returns the protocol's name as commands and the configuration spell
// it.
func (p Protocol) String() string {
	if int(p) < len(protocolNames) && protocolNames[p] != "" {
		return protocolNames[p]
	}
	return "unknown"
}

// ProtocolWords returns the names of all protocols in one text, for people.
func ProtocolWords() string { return strings.Join(protocolNames[1:], ", ") }

// ParseProtocol is the inverse of String. The error names the allowed words.
func ParseProtocol(word string) (Protocol, error) {
	for _, p := range Protocols() {
		if p.String() == word {
			return p, nil
		}
	}
	return 0, fmt.Errorf("unknown protocol %.40q; known: %s", word, ProtocolWords())
}

// least returns the minimum time between two visits to a server for any
// purpose.
func (p Protocol) least() time.Duration {
	if p == Zandronum {
		return ZandronumLeast
	}
	return minInterval
}

// tries returns how often a question is sent.
func (p Protocol) tries() int {
	if p == Zandronum || p.stream() {
		return 1
	}
	return maxTries
}

// stream reports whether the protocol is over TCP.
func (p Protocol) stream() bool { return p == Battlefield }

// Target is a server to watch.
type Target struct {
	Address  netip.AddrPort // queried address, which lists show
	Protocol Protocol
	// Game is the game it is listed under if it does not name one; lower case.
	// Empty: it must name one.
	Game string
	// Origin has a Claim: the reason to watch it.
	Origin *master.Origin
	// Told is the name of the master that it is known from, if Federated.
	Told string
	// Via is the local address to query it from; zero: the system chooses.
	Via netip.Addr
}

// lowestPort is the lowest port that is queried: lower ones belong to services
// of the system.
const lowestPort = 1024

// askable reports whether a game server may be at an address.
func askable(a netip.AddrPort) bool { return query.Askable(a) && a.Port() >= lowestPort }
