package lists

import (
	"encoding/json"
	"net"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/probe"
	"github.com/respawnd/respawnd/probe/probetest"
	"github.com/respawnd/respawnd/test/rig"
)

// zanTeller is a game server that answers queries and knows no master.
func zanTeller(t *testing.T, tell func(zandronum.Query) [][]byte) string {
	t.Helper()
	return rig.NewZanPeer(t, &rig.Running{}, rig.Home, tell).Address().String()
}

func TestQueryZandronum(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"in one message": 0, "in pieces": 90} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			info := rig.ZanInfo("Colours \x1c[Gold]and\x1cc bells\a\u009b\u202e")
			address := zanTeller(t, rig.Tells(info, size))
			out := rig.Cli(t, nil, "query", "zandronum", address)
			for _, want := range []string{"Colours and bells??", "MAP01", "Capture the Flag", "one.wad;two.pk3", "PLAYER", "Ann", "Bob[2J", "TEAM", "#ff0000"} {
				if !strings.Contains(out, want) {
					t.Errorf("query lacks %q:\n%s", want, out)
				}
			}
			if i := strings.IndexFunc(out, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x9b || r == 0x202e }); i >= 0 {
				t.Errorf("query prints what moves the cursor: %.20q", out[i:])
			}
			var got struct {
				Protocol, Address string
				Rules             map[string]string
				Players           []map[string]string `json:"player_list"`
				Teams             []map[string]string `json:"team_list"`
			}
			out = rig.Cli(t, nil, "query", "zandronum", address, "--json")
			if err := json.Unmarshal([]byte(out), &got); err != nil {
				t.Fatalf("query --json: %v:\n%s", err, out)
			}
			if got.Protocol != "zandronum" || got.Address != address || got.Rules["hostname"] != "Colours and bells??" ||
				got.Rules["numplayers"] != "2" || len(got.Players) != 2 || got.Players[1]["score_"] != "-2" ||
				len(got.Teams) != 2 || got.Teams[0]["team_t"] != "Blue" {
				t.Errorf("query --json: %+v", got)
			}
		})
	}
}

func TestQueryOfAServerWithoutPlayers(t *testing.T) {
	t.Parallel()
	info := rig.ZanInfo("Empty")
	info.Players, info.NumPlayers, info.TeamNames, info.TeamColors, info.TeamScores, info.Teams = nil, 0, nil, nil, nil, 0
	address := zanTeller(t, rig.Tells(info, 0))
	if out := rig.Cli(t, nil, "query", "zandronum", address); strings.Contains(out, "PLAYER") || strings.Contains(out, "TEAM\t") {
		t.Errorf("query shows tables that are empty:\n%s", out)
	}
	if out := rig.Cli(t, nil, "query", "zandronum", address, "--json"); !strings.Contains(out, `"player_list": []`) {
		t.Errorf("query --json, want an empty list of players:\n%s", out)
	}
}

func TestQueryTellsWhyThereIsNoAnswer(t *testing.T) {
	t.Parallel()
	deny := func(k zandronum.Kind) func(zandronum.Query) [][]byte {
		return func(q zandronum.Query) [][]byte { return [][]byte{zandronum.AppendDenial(nil, k, q.Time)} }
	}
	silent := zanTeller(t, nil)
	for name, tc := range map[string]struct {
		code  int
		args  []string
		parts []string
	}{
		"silence":         {commands.ExitFailure, []string{"zandronum", silent, "--timeout", "50ms"}, []string{"no answer", silent, "50ms"}},
		"too soon":        {commands.ExitFailure, []string{"zandronum", zanTeller(t, deny(zandronum.KindTooSoon))}, []string{"too soon"}},
		"banned":          {commands.ExitFailure, []string{"zandronum", zanTeller(t, deny(zandronum.KindBanned))}, []string{"banned"}},
		"no such host":    {commands.ExitFailure, []string{"zandronum", net.JoinHostPort("192.0.2.1.", "70000")}, []string{"70000"}},
		"other protocol":  {commands.ExitUsage, []string{"quake9", silent}, []string{"quake9", "known: gs1, gs3, a2s, ssq, zandronum", "--help"}},
		"without a port":  {commands.ExitUsage, []string{"zandronum", "127.0.0.1"}, []string{"port"}},
		"no time at all":  {commands.ExitUsage, []string{"zandronum", silent, "--timeout", "0s"}, []string{"--timeout"}},
		"without address": {commands.ExitUsage, []string{"zandronum"}, []string{"arg"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig.Refused(t, tc.code, nil, append([]string{"query"}, tc.args...), tc.parts...)
		})
	}
}

func TestQueryInEveryProtocol(t *testing.T) {
	t.Parallel()
	for _, p := range probe.Protocols() {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			address := probetest.Listen(t, probetest.Arena("cstrike").Speaks(p.String())).Address().String()
			out := rig.Cli(t, nil, "query", p.String(), address)
			wanted := []string{"Arena of cstrike", "de_dust", "PLAYER", "Bob the second", "-2"}
			players, score := 2, "14"
			switch p {
			case probe.IDTech4: // it tells no scores
				wanted, score = wanted[:4], ""
			case probe.NWN: // it tells no names
				wanted, players = wanted[:2], 0
			default:
			}
			for _, want := range wanted {
				if !strings.Contains(out, want) {
					t.Errorf("query %v lacks %q:\n%s", p, want, out)
				}
			}
			var got struct {
				Protocol, Address string
				Rules             map[string]string
				Players           []map[string]string `json:"player_list"`
			}
			if err := json.Unmarshal([]byte(rig.Cli(t, nil, "query", p.String(), address, "--json")), &got); err != nil {
				t.Fatal(err)
			}
			if got.Protocol != p.String() || got.Address != address || got.Rules["hostname"] != "Arena of cstrike" || got.Rules["numplayers"] != "2" ||
				len(got.Players) != players || players > 0 && got.Players[0]["score_"] != score {
				t.Errorf("query %v --json: %+v", p, got)
			}
			silent := probetest.Listen(t, nil).Address().String()
			rig.Refused(t, commands.ExitFailure, nil, []string{"query", p.String(), silent, "--timeout", "50ms"}, "no answer", silent, "50ms")
		})
	}
}
