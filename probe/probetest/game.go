// Package probetest provides game servers for tests: they answer the queries of
// every protocol of package probe, as real ones do, with challenges and in
// several packets. Other clients get the same answers, so a test can compare
// their results with the prober's.
//
// It is for tests only, sends no queries and does not register.
package probetest

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/a2s"
	"github.com/respawnd/respawnd/internal/ssq"
	"github.com/respawnd/respawnd/internal/zandronum"
)

// Game is the status of a server in every protocol.
type Game struct {
	Name    string // of the server
	Map     string
	Game    string // as GameSpy's protocols name it; A2S: the folder
	Title   string // A2S: full name of the game; GameSpy: the game type
	Version string

	MaxPlayers int
	Password   bool
	Players    []Player
	Rules      [][2]string // further ones
}

// Player is one player of a Game.
type Player struct {
	Name    string
	Score   int
	Seconds int // time on the server
}

// Arena returns a game with two players.
func Arena(game string) *Game {
	return &Game{
		Name: "Arena of " + game, Map: "de_dust", Game: game, Title: "Capture", Version: "1.0.0.22", MaxPlayers: 16,
		Players: []Player{{"Ann", 14, 135}, {"Bob the second", -2, 3601}},
		Rules:   [][2]string{{"sv_gravity", "800"}, {"mp_timelimit", "20"}},
	}
}

// Talk returns the packets of the answer to a query; none: silence. It is
// called by one goroutine at a time.
type Talk func(question []byte) [][]byte

// Speaks returns the Talk of the game in a protocol: gs1, gs3, a2s, ssq, zandronum,
// quake3, idtech4, nwn, quake2, quakeworld, unreal2, ase or battlefield. The game must not be
// modified meanwhile. It panics for other words.
func (g *Game) Speaks(protocol string) Talk {
	switch protocol {
	case "gs1":
		return g.gs1
	case "gs3":
		return g.gs3
	case "a2s":
		return g.a2s
	case "ssq":
		return g.ssq
	case "zandronum":
		return g.zandronum
	case "quake3":
		return g.quake3
	case "idtech4":
		return g.idTech4
	case "nwn":
		return g.nwn
	case "quake2":
		return g.quake2
	case "quakeworld":
		return g.quakeWorld
	case "unreal2":
		return g.unreal2
	case "ase":
		return g.ase
	case "battlefield":
		return g.battlefield
	default:
		panic("probetest: no protocol " + protocol)
	}
}

func (g *Game) password() string {
	if g.Password {
		return "1"
	}
	return "0"
}

func (g *Game) rules() [][2]string {
	return append([][2]string{
		{"gamename", g.Game},
		{"hostname", g.Name},
		{"mapname", g.Map},
		{"gametype", g.Title},
		{"gamever", g.Version},
		{"numplayers", strconv.Itoa(len(g.Players))},
		{"maxplayers", strconv.Itoa(g.MaxPlayers)},
		{"password", g.password()},
	}, g.Rules...)
}

// gs1 answers \status\ and its sections in two packets. Games call the points of
// a player score_ or frags_; here are both.
func (g *Game) gs1(question []byte) [][]byte {
	if len(question) == 0 || question[0] != '\\' {
		return nil
	}
	var first, last strings.Builder
	for _, r := range g.rules() {
		fmt.Fprintf(&first, `\%s\%s`, r[0], r[1])
	}
	first.WriteString(`\queryid\7.1`)
	for i, p := range g.Players {
		fmt.Fprintf(&last, `\player_%d\%s\score_%d\%d\frags_%d\%d\time_%d\%d`, i, p.Name, i, p.Score, i, p.Score, i, p.Seconds/60)
	}
	last.WriteString(`\final\\queryid\7.2`)
	return [][]byte{[]byte(first.String()), []byte(last.String())}
}

// gs3Challenge is the challenge of the server.
const gs3Challenge = -1234567

// gs3 answers the query for a split answer once it carries the challenge or,
// like early servers, without one.
func (g *Game) gs3(question []byte) [][]byte {
	if len(question) < 7 || question[0] != 0xFE || question[1] != 0xFD {
		return nil
	}
	key := question[3:7]
	challenge := int32(gs3Challenge)
	switch {
	case question[2] == 0x09:
		return [][]byte{append(append([]byte{0x09}, key...), fmt.Sprintf("%d\x00", challenge)...)}
	case question[2] != 0x00:
		return nil
	case string(question[7:]) == "\xFF\xFF\xFF\x01":
	case len(question) != 15 || binary.BigEndian.Uint32(question[7:]) != uint32(challenge):
		return nil
	}
	header := append(append([]byte{0x00}, key...), "splitnum\x00"...)
	rules := append(append([]byte(nil), header...), 0x00, 0x00)
	for _, r := range g.rules() {
		rules = append(rules, r[0]+"\x00"+r[1]+"\x00"...)
	}
	players := append(header, 0x81, 0x01)
	column := func(name string, value func(Player) string) {
		players = append(players, name+"\x00\x00"...)
		for _, p := range g.Players {
			players = append(players, value(p)+"\x00"...)
		}
		players = append(players, 0x00)
	}
	if len(g.Players) > 0 {
		column("player_", func(p Player) string { return p.Name })
		column("score_", func(p Player) string { return strconv.Itoa(p.Score) })
		column("time_", func(p Player) string { return strconv.Itoa(p.Seconds / 60) })
	}
	return [][]byte{append(players, 0x00, 0x02, 0x00), append(rules, 0x00)}
}

// Challenge is the challenge of a server in A2S.
const Challenge = 0xEA5E080A

// a2s answers all three requests once they carry the challenge, the last one in
// several packets, in reverse order.
func (g *Game) a2s(question []byte) [][]byte {
	q, err := a2s.ParseRequest(question)
	switch {
	case err != nil:
		return nil
	case q.Challenge != Challenge:
		return [][]byte{a2s.AppendChallenge(nil, Challenge)}
	}
	switch q.Kind {
	case a2s.InfoRequest:
		return [][]byte{a2s.AppendInfo(nil, g.Info())}
	case a2s.PlayersRequest:
		p := a2s.Players{Count: uint8(len(g.Players))}
		for i, one := range g.Players {
			p.List = append(p.List, a2s.Player{Index: uint8(i), Name: one.Name, Score: int32(one.Score), Seconds: float32(one.Seconds) + 0.5})
		}
		return [][]byte{a2s.AppendPlayers(nil, p)}
	case a2s.RulesRequest:
		return g.a2sRules()
	default:
		return nil
	}
}

// Info returns the info of the server in A2S.
func (g *Game) Info() a2s.Info {
	return a2s.Info{
		Protocol: 17, Name: g.Name, Map: g.Map, Folder: g.Game, Game: g.Title, AppID: 240,
		Players: uint8(len(g.Players)), MaxPlayers: uint8(g.MaxPlayers), Type: a2s.Dedicated, System: a2s.Linux,
		Password: g.Password, VAC: true, Version: g.Version, Extra: a2s.ExtraPort | a2s.ExtraKeywords, Port: 27015, Keywords: "alltalk",
	}
}

func (g *Game) a2sRules() [][]byte {
	r := a2s.Rules{Count: uint16(len(g.Rules))}
	for _, one := range g.Rules {
		r.List = append(r.List, a2s.Rule{Name: one[0], Value: one[1]})
	}
	message := a2s.AppendRules(nil, r)
	parts, err := a2s.Splitter{Format: a2s.Source, ID: 77, Size: max(len(message)/2+1, 16)}.Split(message)
	if err != nil {
		return nil
	}
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return parts
}

// ssq answers a SELECT of columns of info or players, and SP rules. The first
// answer is the token that the client must repeat.
func (g *Game) ssq(question []byte) (packets [][]byte) {
	h, body, err := ssq.ParseHeader(question)
	if err != nil {
		return nil
	}
	q, err := ssq.ParseQuery(body)
	if err != nil {
		return nil
	}
	answer, err := ssq.Split(new([ssq.MaxPacket]byte), h.ID, g.ssqTable(&q).AppendTo(nil))
	if err != nil {
		return nil
	}
	for p := range answer {
		packets = append(packets, append([]byte(nil), p...))
	}
	return packets
}

func (g *Game) ssqTable(q *ssq.Query) ssq.Table {
	const token = "mytoken"
	if q.Token != token {
		return ssq.Table{Columns: []string{ssq.TokenColumn}, Rows: [][]string{{token}}}
	}
	var rows []map[string]string
	fields := q.Columns()
	switch {
	case q.Name == "rules":
		for _, r := range g.Rules {
			rows = append(rows, map[string]string{"rulename": r[0], "rulevalue": r[1]})
		}
	case len(fields) > 0 && fields[0] == "playername":
		for _, p := range g.Players {
			rows = append(rows, map[string]string{
				"playername": p.Name, "frags": strconv.Itoa(p.Score), "playerping": "50",
				"playertime": string(ssq.AppendDuration(nil, time.Duration(p.Seconds)*time.Second)),
			})
		}
	default:
		rows = []map[string]string{{
			"hostname": g.Name, "map": g.Map, "game": g.Game, "hostip": "192.0.2.1:6500",
			"numplayers": strconv.Itoa(len(g.Players)), "maxplayers": strconv.Itoa(g.MaxPlayers),
		}}
	}
	t := ssq.Table{Columns: fields}
	for _, r := range rows {
		var row []string
		for _, f := range fields {
			row = append(row, r[f])
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// zandronum answers the launcher query in one message.
func (g *Game) zandronum(question []byte) [][]byte {
	kind, body := zandronum.ParseKind(zandronum.Decode(nil, question, 100))
	if kind != zandronum.KindQuery {
		return nil
	}
	info := &zandronum.Info{
		Time: zandronum.ParseQuery(body).Time, Version: g.Version, Flags: zandronum.AllFlags, Name: g.Name, Map: g.Map,
		MaxClients: uint8(g.MaxPlayers), MaxPlayers: uint8(g.MaxPlayers), IWAD: "doom2.wad", GameName: "DOOM II",
		ForcePassword: g.Password, NumPlayers: uint8(len(g.Players)), DMFlags: []uint32{0, 0, 0, 0, 0, 0},
	}
	for _, p := range g.Players {
		info.Players = append(info.Players, zandronum.Player{
			Name: p.Name, Score: int16(p.Score), Minutes: uint8(p.Seconds / 60), Team: zandronum.NoTeam,
		})
	}
	message := zandronum.AppendInfo(binary.LittleEndian.AppendUint32(nil, uint32(zandronum.KindInfo)), info)
	return [][]byte{zandronum.Encode(nil, message)}
}
