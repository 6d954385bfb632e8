package quickmatch

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/games"
)

// newRedAlert returns a machine of Red Alert 3 whose random numbers are 0, with members n0 to n9.
func newRedAlert() *machine {
	m := newMachine(games.QuickRedAlert, limits{announce: 30 * time.Second, maxPlayers: 100}, func(int) int { return 0 })
	m.announced = start
	for i := range 10 {
		m.arrive(fmt.Sprint("n", i), netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}))
	}
	return m
}

// seek lets a member search, and returns what the program says.
func seek(m *machine, i int, more string) []string {
	ip := fmt.Sprint(0xC0000200 + i)
	out, _ := m.message(fmt.Sprint("n", i), `\CINFO\NumPlayers\2\Points\1000\PointsStddev\50\PointRange\100\IP\`+ip+`\Side\1\Color\-1\NAT\0\Maps\0110\LadID\1`+more, start)
	return texts(out)
}

// The example dialogue. It was made from the layout and was not recorded.
func TestRedAlert(t *testing.T) {
	m := newRedAlert()
	if got := seek(m, 1, ""); !slices.Equal(got, []string{"n1: MBOT:WORKING 1"}) {
		t.Errorf("the first search: %q", got)
	}
	if got := seek(m, 2, `\Points\1099\Side\7`); !slices.Equal(got, []string{"n2: MBOT:WORKING 2", "n1: MBOT:WORKING 2"}) {
		t.Errorf("the second search: %q", got)
	}
	out, _ := m.tick(start.Add(30 * time.Second))
	const match = "MBOT:MATCHED 1 2000 1 n1 3221225985 1 -1 0 -1 1000 0 n2 3221225986 7 -1 0 -1 1099 1"
	if got := texts(out); !slices.Equal(got, []string{"n1: " + match, "n2: " + match}) {
		t.Errorf("the match: %q", got)
	}
	seek(m, 3, `\LadID\2\NumPlayers\4`)
	out, _ = m.tick(start.Add(60 * time.Second))
	if got := texts(out); !slices.Equal(got, []string{"n3: MBOT:POOLSIZE 2 1"}) {
		t.Errorf("announced: %q", got)
	}
}

func TestRedAlertMatches(t *testing.T) {
	for name, tt := range map[string]struct {
		searches []string
		want     string // who gets a match, in its order
	}{
		"out of reach":      {[]string{"", `\Points\1100`}, ""},
		"one reaches":       {[]string{"", `\Points\1150\PointRange\1000`}, "n0 n1"},
		"deviation":         {[]string{`\PointsStddev\100`, `\Points\1140`}, "n0 n1"},
		"the nearest":       {[]string{"", `\Points\1060`, `\Points\1020`}, "n0 n2"},
		"no common map":     {[]string{"", `\Maps\1001`}, ""},
		"other ladder":      {[]string{"", `\LadID\2`}, ""},
		"four strangers":    {[]string{`\LadID\2\NumPlayers\4`, `\LadID\2\NumPlayers\4\Points\9`, `\LadID\2\NumPlayers\4`, `\LadID\2\NumPlayers\4`}, "n0 n1 n2 n3"},
		"three strangers":   {[]string{`\LadID\2\NumPlayers\4`, `\LadID\2\NumPlayers\4`, `\LadID\2\NumPlayers\4`}, ""},
		"two teams":         {[]string{team(2), team(3), team(0), team(1)}, "n0 n2 n1 n3"},
		"a team and a half": {[]string{team(1), team(0), team(3), team(0)}, ""},
		"own teammate":      {[]string{team(0), team(1), team(2), team(3)}, ""},
	} {
		m := newRedAlert()
		for i, search := range tt.searches {
			seek(m, i, search)
		}
		var got []string
		out, _ := m.tick(start.Add(time.Second))
		for _, s := range out {
			if strings.HasPrefix(s.text, "MBOT:MATCHED ") {
				got = append(got, s.nick)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %v, want %s", name, got, tt.want)
		}
	}
}

// team is the search of a player who wants to play with another one.
func team(mate int) string { return fmt.Sprintf(`\LadID\3\NumPlayers\4\teammate1\n%d`, mate) }

// No player is directed to another address than that of a player, in either order of its bytes.
func TestRedAlertAddress(t *testing.T) {
	for ip, want := range map[string]string{"3221225985": "3221225985", "-1073741311": "3221225985", "16908480": "16908480", "1": "3221225985", "0": "3221225985"} {
		m := newRedAlert()
		seek(m, 1, `\IP\`+ip)
		seek(m, 2, "")
		out, _ := m.tick(start.Add(time.Second))
		if len(out) != 2 || !strings.Contains(out[0].text, " n1 "+want+" ") {
			t.Errorf("address %s: %q, want %s", ip, texts(out), want)
		}
	}
}

func TestRedAlertRefuses(t *testing.T) {
	for more, want := range map[string]string{`\NumPlayers\8`: "MBOT:BADCINFO", `\NumPlayers\3`: "MBOT:BADCINFO", `\Maps\000`: "MBOT:BADMAPS"} {
		if got := seek(newRedAlert(), 1, more); !slices.Equal(got, []string{"n1: " + want}) {
			t.Errorf("%s: %q, want %s", more, got, want)
		}
	}
	m := newRedAlert() // keys that are missing have values of the game
	if out, _ := m.message("n1", `\CINFO\IP\3221225985\Maps\1`, start); !slices.Equal(texts(out), []string{"n1: MBOT:WORKING 1"}) {
		t.Errorf("a short search: %q", texts(out))
	}
	if p := m.waiting["n1"]; p.points != 1000 || p.players != 2 || p.ladder != ladderPair {
		t.Errorf("a short search: %+v", p)
	}
}

// BenchmarkRound is a round of 1,000 players of whom none accepts another, which takes longest.
func BenchmarkRound(b *testing.B) {
	const players = 1000
	for name, style := range map[string]games.QuickStyle{"generals": games.QuickGenerals, "redalert": games.QuickRedAlert} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				m := newMachine(style, limits{announce: time.Hour, maxPlayers: players}, func(int) int { return 0 })
				m.announced = start
				for i := range players {
					nick, ip := fmt.Sprint("n", i), netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)})
					m.arrive(nick, ip)
					m.message(nick, cinfoOf("Points", fmt.Sprint(1000*(i+1)), "PointsMin", "100", "PointsMax", "100"), start)
				}
				if len(m.waiting) != players {
					b.Fatalf("%d players wait", len(m.waiting))
				}
				b.StartTimer()
				m.tick(start.Add(time.Second))
			}
		})
	}
}
