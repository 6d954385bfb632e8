package q3master

import (
	_ "embed"
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/quake3"
)

// recorded.json holds packets of a server of OpenArena and of a browser.
//
//go:embed testdata/recorded.json
var recordedText []byte

// TestRecorded replays a server that registers and browsers that find it. Only the
// challenge of the answer differs from the recording.
func TestRecorded(t *testing.T) {
	var r struct {
		Challenge, Heartbeat, Info, Status string
		StatusChallenge                    string `json:"status_challenge"`
		Browsers                           []string
	}
	if err := json.Unmarshal(recordedText, &r); err != nil {
		t.Fatal(err)
	}
	openArena, err := games.NewCatalog([]games.Game{
		{Name: "openarena", Facts: games.Facts{Quake3: []games.Quake3{{Name: "Quake3Arena", Tag: "QuakeArena-1", Protocols: []int{71}}}}},
		{Name: "quake3", Facts: games.Facts{Quake3: []games.Quake3{{Name: "Quake3Arena", Tag: "QuakeArena-1", Protocols: []int{66, 67, 68}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	q := newQ3(t, func(o *Options) { o.Listing.Games = openArena })
	if dropped := q.send(one, r.Heartbeat); dropped != "" {
		t.Fatalf("heartbeat dropped: %s", dropped)
	}
	challenge := q.asked(one)
	if dropped := q.send(one, strings.Replace(r.Info, r.Challenge, challenge, 1)); dropped != "" {
		t.Fatalf("info dropped: %s", dropped)
	}
	s := q.listed(one)
	if s == nil || s.Game != "openarena" {
		t.Fatalf("listed as %+v", s)
	}
	for name, want := range map[string]string{"hostname": "^1The ^7Inn", "mapname": "oa_dm1"} {
		if got, _ := s.Field(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	// The browsers request protocols 71 and 68.
	for i, want := range [][]netip.AddrPort{{one}, nil} {
		q.w.Take()
		if dropped := q.send(asker, r.Browsers[i]); dropped != "" {
			t.Fatalf("%q dropped: %s", r.Browsers[i], dropped)
		}
		var list []netip.AddrPort
		for _, p := range q.w.Take() {
			kind, rest, ok := quake3.Cut([]byte(p.data))
			if !ok || kind != quake3.KindServers {
				t.Fatalf("sent %q", p.data)
			}
			if list, _, err = quake3.ParseList(list, rest); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(list, want) {
			t.Errorf("%q: %v, want %v", r.Browsers[i], list, want)
		}
	}
	_, rest, _ := quake3.Cut([]byte(header + r.Status))
	status, err := quake3.ParseStatus(rest)
	if err != nil || len(status.Players) != 0 {
		t.Fatalf("status: %+v, %v", status, err)
	}
	for key, value := range quake3.Pairs(status.Text) {
		if string(key) == "challenge" && string(value) != r.StatusChallenge {
			t.Errorf("the status answers %q, want %q", value, r.StatusChallenge)
		}
	}
}
