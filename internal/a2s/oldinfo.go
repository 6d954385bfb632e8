package a2s

import "github.com/respawnd/respawnd/internal/ascii"

// Mod describes the mod that a server runs.
type Mod struct {
	Link, Download  string // URLs
	Version         uint32
	Size            uint32 // bytes
	MultiplayerOnly bool
	OwnDLL          bool // has code of its own
}

// OldInfo is the answer of servers that are older than Info.
//
//	string  address, name, map, folder, game
//	byte    players, most players, protocol, type, system, password, mod
//	        if mod is 1:
//	string  link, download
//	byte    0
//	long    version, size
//	byte    multiplayer only, own DLL
//	byte    VAC, bots
type OldInfo struct {
	Address                 string // as the server knows it, with its port
	Name, Map, Folder, Game string
	Players, MaxPlayers     uint8
	Protocol                uint8
	Type                    ServerType
	System                  System
	Password                bool
	Mod                     *Mod // nil: none
	VAC                     bool
	Bots                    uint8

	// Truncated reports that the message ended after MaxPlayers. The missing
	// fields are zero. Relays (HLTV) with 255 slots send such messages.
	Truncated bool
}

// Info returns the same data in today's form, without App.
func (o *OldInfo) Info() Info {
	return Info{
		Protocol: o.Protocol, Name: o.Name, Map: o.Map, Folder: o.Folder, Game: o.Game,
		Players: o.Players, MaxPlayers: o.MaxPlayers, Bots: o.Bots,
		Type: ServerType(ascii.Lower(byte(o.Type))), System: System(ascii.Lower(byte(o.System))), Password: o.Password, VAC: o.VAC,
		Truncated: o.Truncated,
	}
}

// AppendOldInfo appends a whole KindOldInfo. Truncated is ignored.
func AppendOldInfo(dst []byte, o OldInfo) []byte {
	dst = appendHeader(dst, KindOldInfo)
	for _, s := range [...]string{o.Address, o.Name, o.Map, o.Folder, o.Game} {
		dst = appendText(dst, s)
	}
	dst = append(dst, o.Players, o.MaxPlayers, o.Protocol, byte(o.Type), byte(o.System))
	dst = appendBool(appendBool(dst, o.Password), o.Mod != nil)
	if m := o.Mod; m != nil {
		dst = append(appendText(appendText(dst, m.Link), m.Download), 0)
		dst = appendUint32(appendUint32(dst, m.Version), m.Size)
		dst = appendBool(appendBool(dst, m.MultiplayerOnly), m.OwnDLL)
	}
	return append(appendBool(dst, o.VAC), o.Bots)
}

// ParseOldInfo reads the body of a KindOldInfo. All fields up to MaxPlayers
// must be there, the rest may be cut; surplus bytes are ignored. The error is
// ErrMalformed.
func ParseOldInfo(body []byte) (OldInfo, error) {
	r := reader{s: string(body)}
	o := OldInfo{
		Address: r.text(), Name: r.text(), Map: r.text(), Folder: r.text(), Game: r.text(),
		Players: r.byte(), MaxPlayers: r.byte(),
	}
	if r.short {
		return OldInfo{}, ErrMalformed
	}
	o.Protocol, o.Type, o.System, o.Password = r.byte(), ServerType(r.byte()), System(r.byte()), r.bool()
	if mod := r.byte(); mod == 1 {
		o.Mod = readMod(&r)
	}
	o.VAC, o.Bots = r.bool(), r.byte()
	o.Truncated = r.short
	return o, nil
}

// readMod reads the description of a mod; it returns nil if that is cut.
func readMod(r *reader) *Mod {
	m := Mod{Link: r.text(), Download: r.text()}
	r.byte()
	m.Version, m.Size, m.MultiplayerOnly, m.OwnDLL = r.uint32(), r.uint32(), r.bool(), r.bool()
	if r.short {
		return nil
	}
	return &m
}
