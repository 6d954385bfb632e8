package gpcm

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// TestDialogues plays scripts in which several players talk to the service.
// The lines of a script:
//
//	# anything                       a comment
//	rule auto_accept ...             rules of the game
//	account Ann                      makes an account; the ids are 1, 2, 3...
//	buddies Ann Ben                  each is on the list of the other
//	login Ann 11 \quiet\1            signs in with a revision, and perhaps more
//	Ann > \status\1...               a message, without its end; $K is the session
//	                                 key, $S the signature of the last request, {NUL} a NUL
//	Ann < \bm\...                    a message of the service to her, after that
//	Ann end                          the service closes the connection
func TestDialogues(t *testing.T) {
	files, err := filepath.Glob("testdata/dialogues/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("dialogues: %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
			got := play(t, want)
			if *update {
				if err := os.WriteFile(file, []byte(strings.Join(got, "\n")+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("dialogue (-written +now):\n%s", diff)
			}
		})
	}
}

// stageplay is a script on its way.
type stageplay struct {
	*fixture
	people map[string]storage.Profile
	peers  map[string]*peer
	out    []string
}

// play returns the script with the service's messages added.
func play(t *testing.T, script []string) []string {
	s := &stageplay{people: make(map[string]storage.Profile), peers: make(map[string]*peer)}
	s.fixture = start(t, nil)
	for _, line := range script {
		words := strings.SplitN(line, " ", 3)
		if len(words) > 1 && (words[1] == "<" || words[1] == "end") {
			continue // it comes from the service
		}
		s.out = append(s.out, line)
		if len(words) < 2 || words[0] == "#" {
			continue
		}
		s.step(words)
	}
	return s.out
}

// hearAll writes down the service's messages to all players after it has carried out a
// player's request.
func (s *stageplay) hearAll(asked string) {
	s.hear(asked)
	for _, name := range slices.Sorted(maps.Keys(s.peers)) {
		if name != asked {
			s.hear(name)
		}
	}
}

func (s *stageplay) step(words []string) {
	s.t.Helper()
	switch verb, name := words[0], words[1]; verb {
	case "rule":
		s.reload(func(c *Config) {
			c.AutoAccept = strings.Contains(words[1], "auto_accept")
			c.SymmetricDelete = strings.Contains(words[1], "symmetric_delete")
		})
	case "account":
		s.people[name] = s.register(name)
	case "buddies":
		s.befriend(s.people[name].ID, s.people[words[2]].ID)
	case "login":
		number, more, _ := strings.Cut(words[2], " ")
		revision, err := strconv.Atoi(number)
		if err != nil {
			s.t.Fatal(err)
		}
		p := s.connect()
		p.login(name, testPassword, fmt.Sprintf(`\productid\11\gamename\gmtest\namespaceid\1\sdkrevision\%d%s`, revision, more))
		if revision&knowsLists != 0 {
			s.out = append(s.out, name+" < "+p.recv(), name+" < "+p.recv())
		}
		p.key = field(p.want(`\lc\2\`), "sesskey")
		s.peers[name] = p
		s.hearAll(name)
	default:
		p := s.peers[verb]
		if p == nil {
			s.t.Fatalf("%s is not signed in", verb)
		}
		text := strings.NewReplacer("$S", p.sig, "{NUL}", "\x00").Replace(words[2])
		p.send("%s", text+`\final\`)
		s.hearAll(verb)
	}
}

// hear writes down the service's messages to a player.
func (s *stageplay) hear(name string) {
	p := s.peers[name]
	if p.trySend(`\getprofile\\sesskey\`+p.key+`\profileid\2147483647`+fenceID) != nil {
		p.key = ""
	}
	for {
		m, err := p.tryRecv(p.timeout)
		if err != nil {
			s.out = append(s.out, name+" end")
			_ = p.conn.Close()
			delete(s.peers, name)
			return
		}
		if strings.HasSuffix(m, fenceID) {
			return
		}
		if strings.HasPrefix(m, `\bm\2`) {
			_, p.sig, _ = strings.Cut(strings.TrimSuffix(m, `\final\`), "|signed|")
		}
		s.out = append(s.out, name+" < "+settle(m))
	}
}

// TestEventsAreSafeForClients writes events that would harm a client.
func TestEventsAreSafeForClients(t *testing.T) {
	var b []byte
	for _, e := range []presence.Event{
		presence.Message{From: 1, Kind: presence.Text, Text: "a\x00b\\c"},
		presence.Message{From: 1, Kind: presence.Text, Text: "final"},
		presence.Message{From: 1, Kind: presence.UTM, Text: "ID"},
		presence.BuddyRequest{From: 1, Reason: "x|signed|y|signed", Signature: noSignature},
		presence.StatusChanged{From: 1, Status: presence.Status{State: 2, Text: "a|ls|b\x00", Location: "|p|9"}},
		presence.StatusChanged{From: 1, Status: presence.Status{State: 2, Text: "ls", Location: "ip"}},
		presence.StatusChanged{From: 1, Status: presence.Status{State: 1, Rich: &presence.Rich{Text: "product", GameType: "a\\b"}}},
		presence.Invite{From: 1, Product: 3, Location: "x\\y\x00"},
	} {
		b = appendEvent(b, e, 63)
		b = append(b, '\n')
	}
	want := strings.Join([]string{
		`\bm\1\f\1\date\{date}\msg\ab/c\final\`,
		`\bm\1\f\1\date\{date}\msg\final \final\`,
		`\bm\5\f\1\date\{date}\msg\ID \final\`,
		`\bm\2\f\1\date\{date}\msg\x/signed|y/signed|signed|00000000000000000000000000000000\final\`,
		`\bm\100\f\1\msg\|s|2|ss|a/ls/b|ls|/p/9|ip|0|p|0|qm|0\final\`,
		`\bm\100\f\1\msg\|s|2|ss|ls |ls|ip |ip|0|p|0|qm|0\final\`,
		`\bsi\\state\1\profile\1\bip\0\bport\0\hostip\0\hprivip\0\qport\0\hport\0\sessflags\0\rstatus\product \gameType\a/b\gameVnt\\gameMn\\product\0\qmodeflags\0\final\`,
		`\bm\101\f\1\date\{date}\msg\|p|3|l|x/y\final\`,
	}, "\n") + "\n"
	if diff := cmp.Diff(want, settle(string(b))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
