package gpsp

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// recorded is a recording of original clients: their requests, the replies of a
// scripted server that they accepted, and their results for other replies.
type recorded struct {
	Sessions map[string][]struct{ Request, Reply string } // by build of the client
	// Reactions are replies, and whether the client took them.
	Reactions []struct {
		Command, Reply string
		Accepted       bool
	}
}

func loadRecorded(t testing.TB) recorded {
	t.Helper()
	b, err := os.ReadFile("testdata/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	var r recorded
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Sessions) != 4 || len(r.Reactions) < 30 {
		t.Fatalf("%d sessions, %d reactions", len(r.Sessions), len(r.Reactions))
	}
	return r
}

// commandOf returns the name of a request.
func commandOf(text string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(text, `\`), `\`)
	return name
}

// The reader of the tests is as strict as the clients are.
func TestStrictReaderJudgesAsTheClient(t *testing.T) {
	names := map[string]string{"suggest": "uniquesearch", "find": "pmatch"}
	for _, r := range loadRecorded(t).Reactions {
		command := r.Command
		if n, ok := names[command]; ok {
			command = n
		}
		if err := acceptable(command, r.Reply); (err == nil) != r.Accepted {
			t.Errorf("%s %q: %v; the client accepted it: %v", command, r.Reply, err, r.Accepted)
		}
	}
}

// deviations are where our replies to the recorded requests have other data than those
// of the scripted server: it ignored criteria, made up suggestions, wrote hidden
// e-mails in two ways and listed an impossible buddy.
func deviations(command, reply string) string {
	switch {
	case command == "search" && strings.Contains(reply, `Alice2`):
		return `\bsrdone\\more\0\final\`
	case command == "uniquesearch":
		return `\us\5\nick\Zed\nick\Zed1\nick\Zed2\nick\Zed2000\nick\Zed4\usdone\\final\`
	case command == "others":
		return strings.Replace(reply, `\email\\`, `\email\[hidden]\`, 1)
	case command == "profilelist": // a profile is never on its own list
		return `\profilelist\\count\1\o\1001\pldone\\final\`
	}
	return reply
}

func TestRecordedSessions(t *testing.T) {
	for build, session := range loadRecorded(t).Sessions {
		t.Run(build, func(t *testing.T) {
			f := start(t, nil)
			f.account(t, "alice@example.com", "secret", storage.Profile{
				ID: 1001, Nick: "Alice", UniqueNicks: unique(1, "AliceNew"), FirstName: "Al", LastName: "Ice",
				PublicMask: accounts.DefaultPublicMask,
			}, nil)
			alice := presence.Status{State: presence.Playing, Text: "Playing/now", Product: 11}
			bob := presence.Status{State: presence.Away, Text: "AFK", Product: 11}
			if strings.HasSuffix(build, "_nsi") { // the scripted server did not understand their status
				alice = presence.Status{State: presence.Online, Text: "Online", Product: 11}
				bob = alice
			}
			f.signIn(t, 1001, 70001, alice)
			for i, exchange := range session {
				command := commandOf(exchange.Request)
				got := f.ask(t, exchange.Request)
				if err := acceptable(command, got); err != nil {
					t.Errorf("%s: %q: %v", command, got, err)
				}
				want := deviations(command, exchange.Reply)
				if command == "uniquesearch" { // one of the suggestions has the year in it
					got = strings.Replace(got, fmt.Sprintf("Zed%d", time.Now().Year()), "Zed2000", 1)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", exchange.Request, diff)
				}
				if i == 0 { // Bob is there now
					if err := f.store.AddBuddy(t.Context(), 1002, 1001); err != nil {
						t.Fatal(err)
					}
					f.signIn(t, 1002, 70002, bob)
				}
			}
		})
	}
}
