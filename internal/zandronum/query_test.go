package zandronum

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/nettest"
)

type exchange struct {
	Request string
	Wire    string
	Replies []string
	Plain   []string
	Decoded map[string]any
}

func exchanges(t testing.TB) (list []exchange) {
	t.Helper()
	readJSON(t, "testdata/queries.json", &list)
	if len(list) == 0 {
		t.Fatal("testdata/queries.json is empty")
	}
	return list
}

// answer reassembles the answer of an exchange as a launcher does.
func answer(t *testing.T, e exchange) (Kind, []byte) {
	t.Helper()
	var a Assembly
	for i, wire := range e.Replies {
		message := Decode(nil, nettest.Unhex(t, wire), MaxInfo)
		if !bytes.Equal(message, nettest.Unhex(t, e.Plain[i])) {
			t.Fatalf("Decode of reply %d: got %x, want %s", i, message, e.Plain[i])
		}
		kind, body := ParseKind(message)
		if kind != KindSegment {
			return kind, body
		}
		s, err := ParseSegment(body)
		if err != nil {
			t.Fatalf("ParseSegment(%x): %v", body, err)
		}
		if again := AppendSegment(nil, s); !bytes.Equal(again, message) {
			t.Errorf("AppendSegment: got %x, want %x", again, message)
		}
		whole, err := a.Add(s)
		if err != nil {
			t.Fatalf("Add of segment %d: %v", i, err)
		}
		if whole != nil {
			return KindInfo, whole
		}
	}
	t.Fatal("the answer is not complete")
	return 0, nil
}

func TestRecordedAnswersOfARealServer(t *testing.T) {
	for n, e := range exchanges(t) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			if got := Decode(nil, nettest.Unhex(t, e.Wire), MaxInfo); !bytes.Equal(got, nettest.Unhex(t, e.Request)) {
				t.Fatalf("Decode of the query: got %x, want %s", got, e.Request)
			}
			kind, body := answer(t, e)
			if kind != KindInfo {
				time, ok := ParseDenial(body)
				want := AppendDenial(nil, kind, time)
				if !ok || !bytes.Equal(want, nettest.Unhex(t, e.Plain[0])) || number(e.Decoded["response"]) != float64(kind) {
					t.Errorf("denial %s: got %d %d", e.Plain[0], kind, time)
				}
				return
			}
			i, err := ParseInfo(body)
			if err != nil {
				t.Fatalf("ParseInfo(%x): %v", body, err)
			}
			delete(e.Decoded, "response")
			if diff := cmp.Diff(plainJSON(t, e.Decoded), plainJSON(t, described(i))); diff != "" {
				t.Errorf("ParseInfo (-recorded +got):\n%s", diff)
			}
			if again := AppendInfo(nil, i); i.Flags&FlagPlayers == 0 || i.Flags&FlagMode != 0 {
				if !bytes.Equal(again, body) {
					t.Errorf("AppendInfo(ParseInfo()): got %x, want %x", again, body)
				}
			}
		})
	}
}

func number(v any) float64 { f, _ := v.(float64); return f }

func plainJSON(t *testing.T, v any) (m map[string]any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// described writes an answer as the recordings do.
func described(i *Info) map[string]any {
	m := map[string]any{"time": i.Time, "version": i.Version, "flags": fmt.Sprintf("%#08x", uint32(i.Flags))}
	if i.Flags < 0x10000000 {
		m["flags"] = fmt.Sprintf("0x%08x", uint32(i.Flags))
	}
	bit := func(b bool) int {
		n, _ := strconv.Atoi(strings.NewReplacer("true", "1", "false", "0").Replace(strconv.FormatBool(b)))
		return n
	}
	add := func(f Flags, set func()) {
		if i.Flags&f != 0 {
			set()
		}
	}
	list := func(s []string) []string { return append([]string{}, s...) }
	add(FlagName, func() { m["name"] = i.Name })
	add(FlagURL, func() { m["url"] = i.URL })
	add(FlagEmail, func() { m["email"] = i.Email })
	add(FlagMap, func() { m["mapname"] = i.Map })
	add(FlagMaxClients, func() { m["maxclients"] = i.MaxClients })
	add(FlagMaxPlayers, func() { m["maxplayers"] = i.MaxPlayers })
	add(FlagPWADs, func() { m["pwads"] = list(i.PWADs) })
	add(FlagMode, func() {
		m["gametype"], m["instagib"], m["buckshot"] = i.Mode, bit(i.Instagib), bit(i.Buckshot)
	})
	add(FlagGameName, func() { m["gamename"] = i.GameName })
	add(FlagIWAD, func() { m["iwad"] = i.IWAD })
	add(FlagForcePassword, func() { m["forcepassword"] = bit(i.ForcePassword) })
	add(FlagForceJoinPassword, func() { m["forcejoinpassword"] = bit(i.ForceJoinPassword) })
	add(FlagSkill, func() { m["gameskill"] = i.Skill })
	add(FlagBotSkill, func() { m["botskill"] = i.BotSkill })
	add(FlagOldDMFlags, func() { m["dmflags_old"] = i.OldDMFlags })
	add(FlagLimits, func() {
		l := i.Limits
		m["fraglimit"], m["timelimit"], m["duellimit"], m["pointlimit"], m["winlimit"] = l.Frags, l.Time, l.Duels, l.Points, l.Wins
		if l.Time != 0 {
			m["timeleft"] = l.TimeLeft
		}
	})
	add(FlagTeamDamage, func() { m["teamdamage"] = i.TeamDamage })
	add(FlagOldTeamScores, func() { m["teamscores"] = i.OldTeamScores })
	add(FlagNumPlayers, func() { m["numplayers"] = i.NumPlayers })
	add(FlagPlayers, func() {
		players := []map[string]any{}
		for _, p := range i.Players {
			v := map[string]any{
				"name": p.Name, "score": p.Score, "ping": p.Ping, "spectator": bit(p.Spectator), "bot": bit(p.Bot), "minutes": p.Minutes,
			}
			if p.Team != NoTeam {
				v["team"] = p.Team
			}
			players = append(players, v)
		}
		m["players"] = players
	})
	add(FlagTeams, func() { m["teams"] = i.Teams })
	add(FlagTeamNames, func() { m["teamnames"] = i.TeamNames })
	add(FlagTeamColors, func() {
		colors := []string{}
		for _, c := range i.TeamColors {
			colors = append(colors, fmt.Sprintf("0x%08x", c))
		}
		m["teamcolors"] = colors
	})
	add(FlagTeamScores, func() { m["teamscores_all"] = i.TeamScores })
	add(FlagTesting, func() { m["testing"], m["testing_archive"] = bit(i.Testing), i.TestingArchive })
	add(FlagDataMD5, func() { m["data_md5"] = i.DataMD5 })
	add(FlagDMFlags, func() { m["all_dmflags"] = i.DMFlags })
	add(FlagSecurity, func() { m["security"] = i.Security })
	add(FlagOptionalWADs, func() {
		wads := []int{}
		for _, w := range i.OptionalWADs {
			wads = append(wads, int(w))
		}
		m["optional_wads"] = wads
	})
	add(FlagDEH, func() { m["deh"] = list(i.DEH) })
	if i.Flags&FlagExtended != 0 {
		m["flags2"] = fmt.Sprintf("0x%08x", uint32(i.Flags2))
		for f, set := range map[Flags2]func(){
			Flag2PWADHashes:    func() { m["pwad_hashes"] = list(i.PWADHashes) },
			Flag2Country:       func() { m["country"] = i.Country },
			Flag2ModeName:      func() { m["gamemode_name"] = i.ModeName },
			Flag2ModeShortName: func() { m["gamemode_shortname"] = i.ModeShortName },
			Flag2VoiceChat:     func() { m["voicechat"] = i.VoiceChat },
		} {
			if i.Flags2&f != 0 {
				set()
			}
		}
	}
	return m
}

func TestQueryBothWays(t *testing.T) {
	tests := map[string]Query{
		"everything":         {AllFlags, 0xAABBCCDD, AllFlags2, true},
		"without more flags": {FlagName | FlagNumPlayers, 7, 0, false},
		"segmented":          {FlagName, 7, 0, true},
	}
	for name, q := range tests {
		t.Run(name, func(t *testing.T) {
			kind, body := ParseKind(AppendQuery(nil, q))
			if got := ParseQuery(body); kind != KindQuery || got != q {
				t.Errorf("ParseQuery(AppendQuery()): got %d %+v, want %d %+v", kind, got, KindQuery, q)
			}
		})
	}
	_, body := ParseKind(AppendQuery(nil, Query{Flags: AllFlags}))
	if got := ParseQuery(body[:8]).Flags2; got != 0xFFFFFFFF {
		t.Errorf("further flags that are not stated: got %#x, want all", got)
	}
}

// everything is an answer with all fields.
func everything() *Info {
	return &Info{
		Time: 1, Version: "3.2", Flags: AllFlags, Flags2: AllFlags2,
		Name: "name", URL: "url", Email: "mail", Map: "MAP01", MaxClients: 32, MaxPlayers: 16, PWADs: []string{"a.wad", "b.pk3"},
		Mode: CaptureTheFlag, Instagib: true, GameName: "DOOM II", IWAD: "doom2.wad", ForcePassword: true, Skill: 3, BotSkill: 1,
		OldDMFlags: [3]uint32{1, 2, 3}, Limits: Limits{Frags: 20, Time: 10, TimeLeft: 4, Wins: 2}, TeamDamage: 0.5,
		OldTeamScores: [2]int16{3, -1}, NumPlayers: 2, Players: []Player{{"ann", 5, 30, false, false, 0, 7}, {"bob", -2, 60, true, true, NoTeam, 1}},
		Teams: 2, TeamNames: []string{"Blue", "Red"}, TeamColors: []uint32{0xBF, 0xBF0000}, TeamScores: []int16{3, -1},
		Testing: true, TestingArchive: "x.zip", DMFlags: []uint32{1, 2, 3, 4, 5, 6}, Security: 1, OptionalWADs: []uint8{1},
		DEH: []string{"p.deh"}, PWADHashes: []string{"aa", "bb"}, Country: "FIN", ModeName: "CTF", ModeShortName: "ctf", VoiceChat: 1,
	}
}

func TestInfoBothWays(t *testing.T) {
	want := everything()
	got, err := ParseInfo(AppendInfo(nil, want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ParseInfo(AppendInfo()) (-want +got):\n%s", diff)
	}
}

func TestInfoEndsEarly(t *testing.T) {
	info := everything()
	info.Flags &^= FlagPlayers // a layout that is guessed may fit by chance
	whole := AppendInfo(nil, info)
	for n := range whole {
		i, err := ParseInfo(whole[:n])
		if n < 12 { // time, version, flags
			if err == nil {
				t.Errorf("ParseInfo of %d bytes: no error", n)
			}
			continue
		}
		if err != nil || !i.Truncated {
			t.Fatalf("ParseInfo of %d bytes: truncated %t, %v", n, i.Truncated, err)
		}
	}
	if i, err := ParseInfo(whole[:40]); err != nil || i.Name != "name" || i.Map != "MAP01" || i.NumPlayers != 0 {
		t.Errorf("ParseInfo of 40 bytes: got %+v, %v", i, err)
	}
}

// A mod made deathmatch a mode with teams; only the layout shows it.
func TestPlayersOfAModThatChangedTheModes(t *testing.T) {
	for _, mode := range []Mode{Deathmatch, CaptureTheFlag} {
		want := &Info{
			Version: "3.2", Flags: FlagMode | FlagNumPlayers | FlagPlayers, Mode: TeamPlay, NumPlayers: 3,
			Players: []Player{{"a", 1, 1, false, false, 1, 3}, {"bb", 1, 1, false, false, 0, 4}, {"", 2, 1, false, false, 1, 5}},
		}
		if mode.Teams() {
			want.Mode = Deathmatch
			for i := range want.Players {
				want.Players[i].Team = NoTeam
			}
		}
		body := AppendInfo(nil, want)
		body[len("\x00\x00\x00\x003.2\x00")+4] = byte(mode)
		want.Mode = mode
		got, err := ParseInfo(body)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("players in changed %v (-want +got):\n%s", mode, diff)
		}
	}
}

func TestSegmentsInAnyOrder(t *testing.T) {
	body := AppendInfo(nil, everything())
	var segments []Segment
	const size = 50
	count := (len(body) + size - 1) / size
	for i := range count {
		piece := body[i*size : min((i+1)*size, len(body))]
		segments = append(segments, Segment{byte(i), byte(count), uint16(i * size), uint16(len(body)), piece})
	}
	var a Assembly
	for i, s := range slices.Backward(segments) {
		whole, err := a.Add(s)
		if err != nil || (whole != nil) != (i == 0) {
			t.Fatalf("Add(%d): complete %t, %v", i, whole != nil, err)
		}
		if i > 0 {
			continue
		}
		if !bytes.Equal(whole, body) {
			t.Errorf("segments put together: got %x, want %x", whole, body)
		}
	}
}

func TestBadSegments(t *testing.T) {
	good := Segment{0, 2, 0, 8, []byte("abcd")}
	tests := map[string]Segment{
		"beyond the whole":    {1, 2, 6, 8, []byte("abcd")},
		"number beyond count": {2, 2, 4, 8, []byte("abcd")},
		"empty":               {1, 2, 4, 8, nil},
		"whole too large":     {1, 2, 4, MaxInfo + 1, []byte("abcd")},
		"no pieces at all":    {0, 0, 0, 4, []byte("abcd")},
	}
	for name, s := range tests {
		t.Run(name, func(t *testing.T) {
			_, body := ParseKind(AppendSegment(nil, s))
			if _, err := ParseSegment(body); err == nil {
				t.Errorf("ParseSegment(%x): no error", body)
			}
		})
	}
	var a Assembly
	if _, err := a.Add(good); err != nil {
		t.Fatal(err)
	}
	if whole, err := a.Add(Segment{1, 2, 4, 9, []byte("abcd")}); err == nil || whole != nil {
		t.Errorf("Add of a piece of another answer: got %q, %v", whole, err)
	}
	for _, other := range []Segment{{7, 9, 4, 8, []byte("abcd")}, {1, 9, 4, 8, []byte("abcd")}} {
		if whole, err := a.Add(other); err == nil || whole != nil {
			t.Errorf("Add of a piece with another count: got %q, %v", whole, err)
		}
	}
	if whole, _ := a.Add(good); whole != nil {
		t.Errorf("Add of a piece that has come: got %q", whole)
	}
	if whole, err := a.Add(Segment{1, 2, 4, 8, []byte("efgh")}); err != nil || string(whole) != "abcdefgh" {
		t.Errorf("Add of the last piece: got %q, %v", whole, err)
	}
}

func FuzzParseInfo(f *testing.F) {
	f.Add(AppendInfo(nil, everything()))
	for _, e := range exchanges(f) {
		if b := nettest.Unhex(f, e.Plain[0]); len(b) > 8 {
			f.Add(b[4:])
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		i, err := ParseInfo(body)
		if err != nil || i.Truncated {
			return
		}
		again, err := ParseInfo(AppendInfo(nil, i))
		if err != nil {
			t.Fatalf("ParseInfo(AppendInfo(%+v)): %v", i, err)
		}
		if i.Flags&FlagPlayers == 0 { // with players the guess about teams may differ
			if diff := cmp.Diff(i, again); diff != "" && i.TeamDamage == i.TeamDamage {
				t.Fatalf("ParseInfo(AppendInfo()) (-want +got):\n%s", diff)
			}
		}
	})
}

func FuzzParseSegment(f *testing.F) {
	_, body := ParseKind(AppendSegment(nil, Segment{0, 2, 0, 8, []byte("abcd")}))
	f.Add(body, body)
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var a Assembly
		for _, b := range [][]byte{first, second} {
			s, err := ParseSegment(b)
			if err != nil {
				return
			}
			if whole, err := a.Add(s); err == nil && len(whole) > MaxInfo {
				t.Fatalf("whole of %d bytes", len(whole))
			}
		}
	})
}
