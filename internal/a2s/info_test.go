package a2s

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// documentedInfos are the examples of the documentation and of a DayZ server,
// whose 8 bytes of SteamID are often misread as 4.
var documentedInfos = map[string]Info{
	"info_css": {
		Protocol: 2, Name: "game2xs.com Counter-Strike Source #1", Map: "de_dust", Folder: "cstrike",
		Game: "Counter-Strike: Source", AppID: 240, Players: 5, MaxPlayers: 16, Bots: 4,
		Type: Dedicated, System: Linux, Version: "1.0.0.22",
	},
	"info_ship": {
		Protocol: 7, Name: "Ship Server", Map: "batavier", Folder: "ship", Game: "The Ship", AppID: 2400,
		Players: 1, MaxPlayers: 5, Type: Listen, System: Windows,
		ShipMode: ShipElimination, ShipWitnesses: 3, ShipDuration: 3, Version: "1.0.0.4",
	},
	"info_sin": {
		Protocol: 47, Name: "Sensemann SiN DM", Map: "paradox", Folder: "SiN 1", Game: "SiN 1", AppID: 1309,
		MaxPlayers: 16, Type: Listen, System: Windows, Version: "1.0.0.0",
	},
	"info_ragdoll": {
		Protocol: 252, Name: "The Dude's dojo", Map: "Soccer", Folder: "RDKFSoccer", Game: "RagDollKungFu: Soccer",
		AppID: 1002, Players: 1, MaxPlayers: 4, System: Windows, Version: "2.3.0.0",
	},
	"dayz_info": {
		Protocol: 17, Name: "DayZ US - NY 6053 (1st Person Only)", Map: "chernarusplus", Folder: "dayz", Game: "DayZ",
		Players: 35, MaxPlayers: 60, Type: Dedicated, System: Windows, VAC: true, Version: "1.23.157045",
		Extra: ExtraPort | ExtraSteamID | ExtraKeywords | ExtraGameID, Port: 10100, SteamID: 90180520258649091,
		Keywords: "battleye,no3rd,shard001,lqs0,etm4.200000,entm4.000000,14:09", GameID: 221100,
	},
}

func TestInfosAsDocumented(t *testing.T) {
	for name, want := range documentedInfos {
		got, err := ParseInfo(bodyOf(t, name, KindInfo))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", name, err, diff)
		}
		if packet := AppendInfo(nil, want); !bytes.Equal(packet, packetOf(t, name)) {
			t.Errorf("AppendInfo(%s) = %x, want %x", name, packet, packetOf(t, name))
		}
	}
}

func TestGameIDTellsTheGame(t *testing.T) {
	for name, want := range map[string]App{"info_css": AppCSSource, "info_ship": AppTheShip, "dayz_info": AppDayZ} {
		info := documentedInfos[name]
		if got := info.App(); got != want {
			t.Errorf("%s: App() = %d, want %d", name, got, want)
		}
	}
	if got := (&Info{AppID: 7, Extra: ExtraGameID, GameID: 0xABCDEF00_0135F1AC}).App(); got != 0x35F1AC {
		t.Errorf("App() of a GameID with other bits = %#x", got)
	}
}

// extended is an Info with every fact there is.
func extended() Info {
	i := documentedInfos["dayz_info"]
	i.Password = true
	i.Extra |= ExtraSpectator
	i.SpectatorPort, i.SpectatorName = 27020, "TV"
	i.SteamID, i.GameID = 1<<63+5, 1<<40+221100
	return i
}

func TestExtraFacts(t *testing.T) {
	known := []Extra{ExtraPort, ExtraSteamID, ExtraSpectator, ExtraKeywords, ExtraGameID}
	for flags := range Extra(255) {
		want := extended()
		want.Extra = flags
		for _, f := range known {
			if flags&f == 0 {
				want.clear(f)
			}
		}
		packet := AppendInfo(nil, want)
		got, err := ParseInfo(packet[headerSize+1:])
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("extra %#x: error %v (-want +got):\n%s", flags, err, diff)
		}
	}
}

// clear makes the fields of a flag zero.
func (i *Info) clear(f Extra) {
	switch f {
	case ExtraPort:
		i.Port = 0
	case ExtraSteamID:
		i.SteamID = 0
	case ExtraSpectator:
		i.SpectatorPort, i.SpectatorName = 0, ""
	case ExtraKeywords:
		i.Keywords = ""
	case ExtraGameID:
		i.GameID = 0
	}
}

func TestExtraOfNothingIsNotSent(t *testing.T) {
	packet := packetOf(t, "info_css")
	got, err := ParseInfo(append(packet, 0)[headerSize+1:])
	if diff := cmp.Diff(documentedInfos["info_css"], got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

func TestInfoCutAnywhere(t *testing.T) {
	for name, whole := range map[string]Info{
		"extended": extended(), "css": documentedInfos["info_css"], "ship": documentedInfos["info_ship"],
	} {
		body := AppendInfo(nil, whole)[headerSize+1:]
		must := whole
		must.Version, must.Extra = "", 0
		need := len(AppendInfo(nil, must)) - headerSize - 1 - len("\x00")
		for n := range body {
			got, err := ParseInfo(body[:n:n])
			if (err == nil) != (n >= need) {
				t.Fatalf("%s cut at %d: error %v, the first %d bytes are needed", name, n, err, need)
			}
			if err != nil {
				if !errors.Is(err, ErrMalformed) || got != (Info{}) {
					t.Errorf("%s cut at %d: %+v, %v", name, n, got, err)
				}
				continue
			}
			// A message that ends with the version or with its flags is whole.
			want := whole
			want.Truncated = n != need+len(whole.Version)+1
			want.Extra = got.Extra
			if n <= need+len(whole.Version) {
				want.Version = ""
			}
			for _, f := range []Extra{ExtraPort, ExtraSteamID, ExtraSpectator, ExtraKeywords, ExtraGameID} {
				if got.Extra&f == 0 {
					want.clear(f)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" || got.Extra&^whole.Extra != 0 {
				t.Fatalf("%s cut at %d, extra %#x (-want +got):\n%s", name, n, got.Extra, diff)
			}
		}
	}
}

func TestTypesAndSystemsHaveNames(t *testing.T) {
	for v, want := range map[ServerType]string{'d': "dedicated", 'D': "dedicated", 'l': "listen", 'L': "listen", 'p': "proxy", 'P': "proxy", 0: "unknown"} {
		if got := v.String(); got != want {
			t.Errorf("ServerType(%q) = %q, want %q", byte(v), got, want)
		}
	}
	for v, want := range map[System]string{'l': "linux", 'L': "linux", 'w': "windows", 'W': "windows", 'm': "mac", 'o': "mac", 'x': "unknown"} {
		if got := v.String(); got != want {
			t.Errorf("System(%q) = %q, want %q", byte(v), got, want)
		}
	}
	for v, want := range map[ShipMode]string{ShipHunt: "Hunt", ShipTeamElimination: "Team Elimination", 6: "unknown"} {
		if got := v.String(); got != want {
			t.Errorf("ShipMode(%d) = %q, want %q", v, got, want)
		}
	}
}

// documentedOld is the example of the documentation, which states upper-case
// types and has lower-case ones.
var documentedOld = OldInfo{
	Address: "77.111.194.110:27015", Name: "FR - VeryGames.net - Deatmatch - only surf_ski - ngR", Map: "surf_ski",
	Folder: "cstrike", Game: "Counter-Strike", Players: 12, MaxPlayers: 18, Protocol: 47, Type: Dedicated, System: Linux,
	Mod: &Mod{Link: "www.counter-strike.net", Version: 1, Size: 184000000, OwnDLL: true}, VAC: true,
}

func TestOldInfoAsDocumented(t *testing.T) {
	got, err := ParseOldInfo(bodyOf(t, "oldinfo", KindOldInfo))
	if diff := cmp.Diff(documentedOld, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if packet := AppendOldInfo(nil, documentedOld); !bytes.Equal(packet, packetOf(t, "oldinfo")) {
		t.Errorf("AppendOldInfo = %x, want %x", packet, packetOf(t, "oldinfo"))
	}
}

func TestOldInfoInTheFormOfToday(t *testing.T) {
	old := documentedOld
	old.Type, old.System, old.Password, old.Bots = 'D', 'W', true, 3
	want := Info{
		Protocol: 47, Name: old.Name, Map: "surf_ski", Folder: "cstrike", Game: "Counter-Strike", Players: 12, MaxPlayers: 18,
		Bots: 3, Type: Dedicated, System: Windows, Password: true, VAC: true,
	}
	if diff := cmp.Diff(want, old.Info()); diff != "" {
		t.Errorf("Info() (-want +got):\n%s", diff)
	}
	old.Type = 0
	if got := old.Info().Type; got != 0 {
		t.Errorf("type 0 became %d", got)
	}
}

func TestOldInfoCutAnywhere(t *testing.T) {
	plain := documentedOld
	plain.Mod, plain.MaxPlayers, plain.Type = nil, 255, 'P'
	for name, whole := range map[string]OldInfo{"mod": documentedOld, "relay with 255 slots": plain} {
		body := AppendOldInfo(nil, whole)[headerSize+1:]
		need := len(whole.Address) + len(whole.Name) + len(whole.Map) + len(whole.Folder) + len(whole.Game) + 5 + 2
		for n := range body {
			got, err := ParseOldInfo(body[:n:n])
			switch {
			case n < need && !errors.Is(err, ErrMalformed), n >= need && err != nil:
				t.Fatalf("%s cut at %d of %d: %v", name, n, need, err)
			case err == nil && (!got.Truncated || got.Name != whole.Name || got.MaxPlayers != whole.MaxPlayers):
				t.Errorf("%s cut at %d: %+v", name, n, got)
			case got.Mod != nil && *got.Mod != *whole.Mod:
				t.Errorf("%s cut at %d: mod %+v", name, n, *got.Mod)
			}
		}
	}
}

func BenchmarkParseInfo(b *testing.B) {
	body := AppendInfo(nil, extended())[headerSize+1:]
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseInfo(body); err != nil {
			b.Fatal(err)
		}
	}
}
