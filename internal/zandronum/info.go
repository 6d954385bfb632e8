package zandronum

import (
	"math"
	"strings"
)

// Mode is a game mode.
type Mode uint8

// The game modes. A mod may change their meaning.
const (
	Cooperative Mode = iota
	Survival
	Invasion
	Deathmatch
	TeamPlay
	Duel
	Terminator
	LastManStanding
	TeamLastManStanding
	Possession
	TeamPossession
	TeamGame
	CaptureTheFlag
	OneFlagCTF
	Skulltag
	Domination
)

var modeNames = [...]string{
	Cooperative:         "Cooperative",
	Survival:            "Survival",
	Invasion:            "Invasion",
	Deathmatch:          "Deathmatch",
	TeamPlay:            "Team Deathmatch",
	Duel:                "Duel",
	Terminator:          "Terminator",
	LastManStanding:     "Last Man Standing",
	TeamLastManStanding: "Team Last Man Standing",
	Possession:          "Possession",
	TeamPossession:      "Team Possession",
	TeamGame:            "Team Game",
	CaptureTheFlag:      "Capture the Flag",
	OneFlagCTF:          "One Flag CTF",
	Skulltag:            "Skulltag",
	Domination:          "Domination",
}

// String returns the name that the mode has by default.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return "unknown"
}

// Teams reports whether the mode has teams by default.
func (m Mode) Teams() bool {
	switch m {
	case TeamPlay, TeamLastManStanding, TeamPossession, TeamGame, CaptureTheFlag, OneFlagCTF, Skulltag, Domination:
		return true
	default:
		return false
	}
}

// NoTeam is the team of a player without a team.
const NoTeam = 255

// Player is one player of a server.
type Player struct {
	Name        string // with colour codes
	Score, Ping int16
	Spectator   bool
	Bot         bool
	Team        uint8 // NoTeam also in modes without teams
	Minutes     uint8 // on the server
}

// Limits are the limits that end a round; 0: no limit.
type Limits struct {
	Frags    int16
	Time     int16 // minutes
	TimeLeft int16 // minutes; sent only with a time limit
	Duels    int16
	Points   int16
	Wins     int16
}

// Info is the status that a game server reports. Flags and Flags2 state which
// fields it sent; the others are zero.
type Info struct {
	Time    uint32 // of the query
	Version string
	Flags   Flags
	Flags2  Flags2

	Name, URL, Email, Map   string
	MaxClients, MaxPlayers  uint8
	PWADs                   []string
	Mode                    Mode
	Instagib, Buckshot      bool
	GameName, IWAD          string
	ForcePassword           bool
	ForceJoinPassword       bool
	Skill, BotSkill         uint8
	OldDMFlags              [3]uint32
	Limits                  Limits
	TeamDamage              float32
	OldTeamScores           [2]int16 // blue, red
	NumPlayers              uint8    // with bots and spectators
	Players                 []Player
	Teams                   uint8
	TeamNames               []string
	TeamColors              []uint32 // 0x00RRGGBB
	TeamScores              []int16
	Testing                 bool
	TestingArchive          string
	DataMD5                 string
	DMFlags                 []uint32 // dmflags, dmflags2, zadmflags, compatflags, zacompatflags, compatflags2
	Security                uint8    // see EnforcesBans
	OptionalWADs            []uint8  // indexes of PWADs
	DEH                     []string
	PWADHashes              []string // MD5, in the order of PWADs
	Country                 string   // three letters; XIP: by address, XUN: unknown
	ModeName, ModeShortName string
	VoiceChat               uint8

	// Truncated reports that the message ended early: a server omits fields that do not fit its
	// buffer. The fields from there on are zero.
	Truncated bool
}

// EnforcesBans reports whether the server claims to enforce the master's ban
// list.
func (i *Info) EnforcesBans() bool { return i.Security&1 != 0 }

// teams reports whether the list of players has a column for the team. Servers
// send the fields about teams only in modes with teams; if none of these fields
// was requested, the mode decides.
func (i *Info) teams() bool { return i.Flags&flagsOfTeams != 0 || i.Mode.Teams() }

// ParseInfo reads the data after KindInfo, or an answer assembled from
// segments. Fields that a server may leave out are no error; an answer that
// ends before its flags is one.
//
// A mod can give any mode teams, and then only the layout of the rest shows
// whether players have one: if the fields do not fill the answer exactly, the
// other layout is tried.
func ParseInfo(body []byte) (*Info, error) {
	i, even, err := parseInfo(body, false)
	if err != nil || even || i.Flags&FlagPlayers == 0 {
		return i, err
	}
	if other, even, err := parseInfo(body, true); err == nil && even {
		return other, nil
	}
	return i, nil
}

// parseInfo also reports whether the fields fill the whole body. otherTeams
// inverts the guess about the team column.
func parseInfo(body []byte, otherTeams bool) (i *Info, even bool, err error) {
	r := &reader{b: body}
	i = &Info{Time: r.uint32(), Version: r.string(), Flags: Flags(r.uint32())}
	if r.short {
		return nil, false, ErrMalformed
	}
	for _, f := range fields {
		if i.Flags&f.flag != 0 {
			f.parse(i, r, otherTeams)
		}
	}
	if i.Flags&FlagExtended != 0 {
		i.parseExtended(r)
	}
	i.Truncated = r.short
	return i, !r.short && len(r.b) == 0, nil
}

// field is one of the fields of an answer, in both directions.
type field struct {
	flag   Flags
	parse  func(i *Info, r *reader, otherTeams bool)
	append func(i *Info, b []byte) []byte
}

// simple makes a field that does not depend on teams.
func simple(flag Flags, parse func(*Info, *reader), app func(*Info, []byte) []byte) field {
	return field{flag, func(i *Info, r *reader, _ bool) { parse(i, r) }, app}
}

func textField(flag Flags, at func(*Info) *string) field {
	return simple(flag,
		func(i *Info, r *reader) { *at(i) = r.string() },
		func(i *Info, b []byte) []byte { return appendString(b, *at(i)) })
}

func byteField(flag Flags, at func(*Info) *uint8) field {
	return simple(flag,
		func(i *Info, r *reader) { *at(i) = r.number() },
		func(i *Info, b []byte) []byte { return append(b, *at(i)) })
}

func boolField(flag Flags, at func(*Info) *bool) field {
	return simple(flag,
		func(i *Info, r *reader) { *at(i) = r.bool() },
		func(i *Info, b []byte) []byte { return append(b, boolByte(*at(i))) })
}

func textsField(flag Flags, at func(*Info) *[]string) field {
	return simple(flag,
		func(i *Info, r *reader) { *at(i) = r.strings(int(r.number())) },
		func(i *Info, b []byte) []byte { return appendCounted(b, *at(i)) })
}

// The order of fields is the order of their flags.
var fields = [...]field{
	textField(FlagName, func(i *Info) *string { return &i.Name }),
	textField(FlagURL, func(i *Info) *string { return &i.URL }),
	textField(FlagEmail, func(i *Info) *string { return &i.Email }),
	textField(FlagMap, func(i *Info) *string { return &i.Map }),
	byteField(FlagMaxClients, func(i *Info) *uint8 { return &i.MaxClients }),
	byteField(FlagMaxPlayers, func(i *Info) *uint8 { return &i.MaxPlayers }),
	textsField(FlagPWADs, func(i *Info) *[]string { return &i.PWADs }),
	simple(FlagMode, (*Info).parseMode, (*Info).appendMode),
	textField(FlagGameName, func(i *Info) *string { return &i.GameName }),
	textField(FlagIWAD, func(i *Info) *string { return &i.IWAD }),
	boolField(FlagForcePassword, func(i *Info) *bool { return &i.ForcePassword }),
	boolField(FlagForceJoinPassword, func(i *Info) *bool { return &i.ForceJoinPassword }),
	byteField(FlagSkill, func(i *Info) *uint8 { return &i.Skill }),
	byteField(FlagBotSkill, func(i *Info) *uint8 { return &i.BotSkill }),
	simple(FlagOldDMFlags, (*Info).parseOldDMFlags, (*Info).appendOldDMFlags),
	simple(FlagLimits, (*Info).parseLimits, (*Info).appendLimits),
	simple(FlagTeamDamage,
		func(i *Info, r *reader) { i.TeamDamage = math.Float32frombits(r.long()) },
		func(i *Info, b []byte) []byte { return appendUint32(b, math.Float32bits(i.TeamDamage)) }),
	simple(FlagOldTeamScores,
		func(i *Info, r *reader) { i.OldTeamScores = [2]int16{r.int16(), r.int16()} },
		func(i *Info, b []byte) []byte { return appendInt16(b, i.OldTeamScores[:]...) }),
	byteField(FlagNumPlayers, func(i *Info) *uint8 { return &i.NumPlayers }),
	{FlagPlayers, (*Info).parsePlayers, (*Info).appendPlayers},
	byteField(FlagTeams, func(i *Info) *uint8 { return &i.Teams }),
	simple(FlagTeamNames,
		func(i *Info, r *reader) { i.TeamNames = r.strings(int(i.Teams)) },
		func(i *Info, b []byte) []byte { return appendEach(b, i.TeamNames) }),
	simple(FlagTeamColors,
		func(i *Info, r *reader) { i.TeamColors = r.longs(int(i.Teams)) },
		func(i *Info, b []byte) []byte { return appendLongs(b, i.TeamColors) }),
	simple(FlagTeamScores, (*Info).parseTeamScores,
		func(i *Info, b []byte) []byte { return appendInt16(b, i.TeamScores...) }),
	simple(FlagTesting,
		func(i *Info, r *reader) { i.Testing, i.TestingArchive = r.bool(), r.string() },
		func(i *Info, b []byte) []byte { return appendString(append(b, boolByte(i.Testing)), i.TestingArchive) }),
	textField(FlagDataMD5, func(i *Info) *string { return &i.DataMD5 }),
	simple(FlagDMFlags,
		func(i *Info, r *reader) { i.DMFlags = r.longs(int(r.number())) },
		func(i *Info, b []byte) []byte { return appendLongs(append(b, byte(len(i.DMFlags))), i.DMFlags) }),
	byteField(FlagSecurity, func(i *Info) *uint8 { return &i.Security }),
	simple(FlagOptionalWADs,
		func(i *Info, r *reader) { i.OptionalWADs = append([]byte(nil), r.take(int(r.number()))...) },
		func(i *Info, b []byte) []byte { return append(append(b, byte(len(i.OptionalWADs))), i.OptionalWADs...) }),
	textsField(FlagDEH, func(i *Info) *[]string { return &i.DEH }),
}

func (i *Info) parseMode(r *reader) {
	i.Mode, i.Instagib, i.Buckshot = Mode(r.number()), r.bool(), r.bool()
}

func (i *Info) appendMode(b []byte) []byte {
	return append(b, byte(i.Mode), boolByte(i.Instagib), boolByte(i.Buckshot))
}

func (i *Info) parseOldDMFlags(r *reader) {
	for k := range i.OldDMFlags {
		i.OldDMFlags[k] = r.long()
	}
}

func (i *Info) appendOldDMFlags(b []byte) []byte { return appendLongs(b, i.OldDMFlags[:]) }

func (i *Info) parseLimits(r *reader) {
	l := &i.Limits
	l.Frags, l.Time = r.int16(), r.int16()
	if l.Time != 0 {
		l.TimeLeft = r.int16()
	}
	l.Duels, l.Points, l.Wins = r.int16(), r.int16(), r.int16()
}

func (i *Info) appendLimits(b []byte) []byte {
	l := &i.Limits
	b = appendInt16(b, l.Frags, l.Time)
	if l.Time != 0 {
		b = appendInt16(b, l.TimeLeft)
	}
	return appendInt16(b, l.Duels, l.Points, l.Wins)
}

func (i *Info) parsePlayers(r *reader, otherTeams bool) {
	teams := i.teams() != otherTeams
	for range i.NumPlayers {
		p := Player{Name: r.string(), Score: r.int16(), Ping: r.int16(), Spectator: r.bool(), Bot: r.bool(), Team: NoTeam}
		if teams {
			p.Team = r.number()
		}
		p.Minutes = r.number()
		if r.short {
			return
		}
		i.Players = append(i.Players, p)
	}
}

func (i *Info) appendPlayers(b []byte) []byte {
	for _, p := range i.Players {
		b = appendInt16(appendString(b, p.Name), p.Score, p.Ping)
		b = append(b, boolByte(p.Spectator), boolByte(p.Bot))
		if i.teams() {
			b = append(b, p.Team)
		}
		b = append(b, p.Minutes)
	}
	return b
}

func (i *Info) parseTeamScores(r *reader) {
	for range i.Teams {
		v := r.int16()
		if r.short {
			return
		}
		i.TeamScores = append(i.TeamScores, v)
	}
}

func (i *Info) parseExtended(r *reader) {
	i.Flags2 = Flags2(r.long())
	if i.Flags2&Flag2PWADHashes != 0 {
		i.PWADHashes = r.strings(int(r.number()))
	}
	if i.Flags2&Flag2Country != 0 {
		i.Country = strings.TrimRight(string(r.take(3)), "\x00")
	}
	if i.Flags2&Flag2ModeName != 0 {
		i.ModeName = r.string()
	}
	if i.Flags2&Flag2ModeShortName != 0 {
		i.ModeShortName = r.string()
	}
	if i.Flags2&Flag2VoiceChat != 0 {
		i.VoiceChat = r.number()
	}
}

// AppendInfo appends the data after KindInfo, with the fields that Flags and
// Flags2 name; the number of players is the length of the list.
func AppendInfo(dst []byte, i *Info) []byte {
	dst = appendString(appendUint32(dst, i.Time), i.Version)
	dst = appendUint32(dst, uint32(i.Flags))
	for _, f := range fields {
		if i.Flags&f.flag != 0 {
			dst = f.append(i, dst)
		}
	}
	if i.Flags&FlagExtended == 0 {
		return dst
	}
	dst = appendUint32(dst, uint32(i.Flags2))
	if i.Flags2&Flag2PWADHashes != 0 {
		dst = appendCounted(dst, i.PWADHashes)
	}
	if i.Flags2&Flag2Country != 0 {
		var country [3]byte
		copy(country[:], i.Country)
		dst = append(dst, country[:]...)
	}
	if i.Flags2&Flag2ModeName != 0 {
		dst = appendString(dst, i.ModeName)
	}
	if i.Flags2&Flag2ModeShortName != 0 {
		dst = appendString(dst, i.ModeShortName)
	}
	if i.Flags2&Flag2VoiceChat != 0 {
		dst = append(dst, i.VoiceChat)
	}
	return dst
}

func appendEach(b []byte, texts []string) []byte {
	for _, t := range texts {
		b = appendString(b, t)
	}
	return b
}

// appendCounted appends at most 255 texts and their number before them.
func appendCounted(b []byte, texts []string) []byte {
	texts = texts[:min(len(texts), math.MaxUint8)]
	return appendEach(append(b, byte(len(texts))), texts)
}

func appendLongs(b []byte, list []uint32) []byte {
	for _, v := range list {
		b = appendUint32(b, v)
	}
	return b
}

func appendInt16(b []byte, list ...int16) []byte {
	for _, v := range list {
		b = appendUint16(b, uint16(v))
	}
	return b
}
