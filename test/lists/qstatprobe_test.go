package lists

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/probe/probetest"
	"github.com/respawnd/respawnd/test/rig"
)

// told is the part of a game server's answers that qstat and query both report.
type told struct {
	Name, Map           string
	Players, MaxPlayers int
	Scores              map[string]int // by player
	Rules               map[string]string
}

// TestQstatAndTheProberAgree queries the game servers of the prober's tests
// with qstat and with the prober: both must report the same.
func TestQstatAndTheProberAgree(t *testing.T) {
	path := rig.Qstat(t)
	t.Parallel()
	// gs4 is qstat's name for gs3 with a challenge.
	for option, protocol := range map[string]string{"-a2s": "a2s", "-gs3": "gs3", "-gs4": "gs3", "-gps": "gs1"} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			g := probetest.Arena("cstrike")
			address := probetest.Listen(t, g.Speaks(protocol)).Address().String()
			want := told{
				Name: g.Name, Map: g.Map, Players: 2, MaxPlayers: 16, Scores: map[string]int{"Ann": 14, "Bob the second": -2},
				Rules: map[string]string{"sv_gravity": "800", "mp_timelimit": "20"},
			}
			if diff := cmp.Diff(want, toldByQstat(t, path, option, address, want.Rules)); diff != "" {
				t.Errorf("qstat %s (-want +got):\n%s", option, diff)
			}
			if diff := cmp.Diff(want, toldByQuery(t, protocol, address, want.Rules)); diff != "" {
				t.Errorf("query %s (-want +got):\n%s", protocol, diff)
			}
		})
	}
}

// toldByQstat asks a server with qstat. Of its rules only the wanted ones count.
func toldByQstat(t *testing.T, path, option, address string, rules map[string]string) told {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), path, append(slices.Clone(rig.QstatTime), "-json", "-nh", "-R", "-P", option, address)...).Output()
	if err != nil {
		t.Fatalf("quakestat: %v\n%s", err, out)
	}
	var list []struct {
		rig.Shown
		Rules   map[string]any
		Players []struct {
			Name  string
			Score int
		}
	}
	if err := json.Unmarshal(out, &list); err != nil || len(list) != 1 {
		t.Fatalf("quakestat printed %v:\n%s", err, out)
	}
	s := list[0]
	got := told{Name: s.Name, Map: s.Map, Players: s.NumPlayers, MaxPlayers: s.MaxPlayers, Scores: map[string]int{}, Rules: map[string]string{}}
	for _, p := range s.Players {
		got.Scores[p.Name] = p.Score
	}
	for name, value := range s.Rules {
		if _, wanted := rules[name]; wanted {
			got.Rules[name], _ = value.(string)
		}
	}
	return got
}

// toldByQuery asks a server with our own command.
func toldByQuery(t *testing.T, protocol, address string, rules map[string]string) told {
	t.Helper()
	var answer struct {
		Rules   map[string]string
		Players []map[string]string `json:"player_list"`
	}
	if err := json.Unmarshal([]byte(rig.Cli(t, nil, "query", protocol, address, "--json")), &answer); err != nil {
		t.Fatal(err)
	}
	number := func(text string) int { n, _ := strconv.Atoi(text); return n }
	got := told{
		Name: answer.Rules["hostname"], Map: answer.Rules["mapname"], Players: number(answer.Rules["numplayers"]),
		MaxPlayers: number(answer.Rules["maxplayers"]), Scores: map[string]int{}, Rules: map[string]string{},
	}
	for _, p := range answer.Players {
		got.Scores[p["player_"]] = number(p["score_"])
	}
	for name := range rules {
		got.Rules[name] = answer.Rules[name]
	}
	return got
}
