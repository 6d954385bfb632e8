package a2s

// ServerType is the kind of program that runs a server.
type ServerType byte

// The types of servers. Old ones send them in upper case; Rag Doll Kung Fu
// sends 0.
const (
	Dedicated ServerType = 'd'
	Listen    ServerType = 'l' // in a player's game
	Proxy     ServerType = 'p' // relays a game to spectators: SourceTV, HLTV
)

// String returns the type's name.
func (t ServerType) String() string {
	switch t | 0x20 {
	case Dedicated:
		return "dedicated"
	case Listen:
		return "listen"
	case Proxy:
		return "proxy"
	default:
		return "unknown"
	}
}

// System is the operating system of a server.
type System byte

// The systems. Old servers send them in upper case.
const (
	Linux   System = 'l'
	Windows System = 'w'
	Mac     System = 'm'
	MacNew  System = 'o' // sent by games after Left 4 Dead
)

// String returns the system's name.
func (s System) String() string {
	switch s | 0x20 {
	case Linux:
		return "linux"
	case Windows:
		return "windows"
	case Mac, MacNew:
		return "mac"
	default:
		return "unknown"
	}
}

// Extra is the set of optional fields that follow the version.
type Extra uint8

// The optional fields, in the order in which they are sent.
const (
	ExtraPort      Extra = 0x80
	ExtraSteamID   Extra = 0x10
	ExtraSpectator Extra = 0x40
	ExtraKeywords  Extra = 0x20
	ExtraGameID    Extra = 0x01
)

// ShipMode is the game mode of The Ship.
type ShipMode uint8

// The game modes of The Ship.
const (
	ShipHunt ShipMode = iota
	ShipElimination
	ShipDuel
	ShipDeathmatch
	ShipVIPTeam
	ShipTeamElimination
)

var shipModes = [...]string{"Hunt", "Elimination", "Duel", "Deathmatch", "VIP Team", "Team Elimination"}

// String returns the mode's name.
func (m ShipMode) String() string {
	if int(m) < len(shipModes) {
		return shipModes[m]
	}
	return "unknown"
}

// Info is the answer to an info query. Texts are as they were sent, which
// should be UTF-8 and need not be.
//
//	byte    protocol
//	string  name, map, folder, game
//	short   app, 0 if it does not fit
//	byte    players, most players, bots, type, system, password, VAC
//	byte    The Ship alone: mode, witnesses, duration
//	string  version
//	byte    extra; left out if nothing follows
//	short   ExtraPort: port of the game
//	8 bytes ExtraSteamID: Steam's number of the server
//	short   ExtraSpectator: port, string name
//	string  ExtraKeywords
//	8 bytes ExtraGameID: the app in the lowest 24 bits
type Info struct {
	Protocol                  uint8
	Name, Map, Folder, Game   string
	AppID                     uint16 // see App
	Players, MaxPlayers, Bots uint8  // Players with those who are still connecting
	Type                      ServerType
	System                    System
	Password, VAC             bool

	// The Ship alone, if AppID says so.
	ShipMode      ShipMode
	ShipWitnesses uint8 // needed for an arrest
	ShipDuration  uint8 // seconds of being seen until an arrest

	Version string

	// Extra states which of the fields below were sent; the others are zero.
	Extra         Extra
	Port          uint16
	SteamID       uint64
	SpectatorPort uint16
	SpectatorName string
	Keywords      string
	GameID        uint64

	// Truncated reports that the message ended in the version or after it. The
	// field that was cut, and those after it, are left out.
	Truncated bool
}

// App returns the game's number, from GameID if there is one.
func (i *Info) App() App {
	if i.Extra&ExtraGameID != 0 {
		return App(i.GameID & 0xFFFFFF)
	}
	return App(i.AppID)
}

// AppendInfo appends a whole KindInfo. Truncated is ignored.
func AppendInfo(dst []byte, i Info) []byte {
	dst = append(appendHeader(dst, KindInfo), i.Protocol)
	for _, s := range [...]string{i.Name, i.Map, i.Folder, i.Game} {
		dst = appendText(dst, s)
	}
	dst = appendUint16(dst, i.AppID)
	dst = append(dst, i.Players, i.MaxPlayers, i.Bots, byte(i.Type), byte(i.System))
	dst = appendBool(appendBool(dst, i.Password), i.VAC)
	if App(i.AppID) == AppTheShip {
		dst = append(dst, byte(i.ShipMode), i.ShipWitnesses, i.ShipDuration)
	}
	dst = appendText(dst, i.Version)
	if i.Extra == 0 {
		return dst
	}
	dst = append(dst, byte(i.Extra))
	if i.Extra&ExtraPort != 0 {
		dst = appendUint16(dst, i.Port)
	}
	if i.Extra&ExtraSteamID != 0 {
		dst = appendUint64(dst, i.SteamID)
	}
	if i.Extra&ExtraSpectator != 0 {
		dst = appendText(appendUint16(dst, i.SpectatorPort), i.SpectatorName)
	}
	if i.Extra&ExtraKeywords != 0 {
		dst = appendText(dst, i.Keywords)
	}
	if i.Extra&ExtraGameID != 0 {
		dst = appendUint64(dst, i.GameID)
	}
	return dst
}

// ParseInfo reads the body of a KindInfo. All fields up to VAC must be there,
// the rest may be cut; surplus bytes are ignored. The texts share one piece of
// memory. The error is ErrMalformed.
func ParseInfo(body []byte) (Info, error) {
	r := reader{s: string(body)}
	i := Info{
		Protocol: r.byte(), Name: r.text(), Map: r.text(), Folder: r.text(), Game: r.text(),
		AppID: r.uint16(), Players: r.byte(), MaxPlayers: r.byte(), Bots: r.byte(),
		Type: ServerType(r.byte()), System: System(r.byte()), Password: r.bool(), VAC: r.bool(),
	}
	if App(i.AppID) == AppTheShip {
		i.ShipMode, i.ShipWitnesses, i.ShipDuration = ShipMode(r.byte()), r.byte(), r.byte()
	}
	if r.short {
		return Info{}, ErrMalformed
	}
	i.Version = r.text()
	if !r.short && r.s != "" {
		i.readExtra(&r, Extra(r.byte()))
	}
	i.Truncated = r.short
	return i, nil
}

// readExtra reads the fields of flags up to the one that is cut. Unknown flags
// are ignored.
func (i *Info) readExtra(r *reader, flags Extra) {
	i.Extra = flags &^ (ExtraPort | ExtraSteamID | ExtraSpectator | ExtraKeywords | ExtraGameID)
	for _, f := range [...]Extra{ExtraPort, ExtraSteamID, ExtraSpectator, ExtraKeywords, ExtraGameID} {
		if flags&f == 0 {
			continue
		}
		was := *i
		switch f {
		case ExtraPort:
			i.Port = r.uint16()
		case ExtraSteamID:
			i.SteamID = r.uint64()
		case ExtraSpectator:
			i.SpectatorPort = r.uint16()
			i.SpectatorName = r.text()
		case ExtraKeywords:
			i.Keywords = r.text()
		case ExtraGameID:
			i.GameID = r.uint64()
		}
		if r.short {
			*i = was
			return
		}
		i.Extra |= f
	}
}
