package playtest

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/operator"
)

var server = netip.MustParseAddr("192.0.2.1")

func TestNames(t *testing.T) {
	errNone := errors.New("no such host")
	answers := map[string]netip.Addr{"a": server, "b": netip.AddrFrom16(server.As16()), "c": netip.MustParseAddr("192.0.2.9")}
	for _, tc := range []struct {
		names  string
		failed string
	}{
		{"a b", ""},
		{"a c", "c leads to [192.0.2.9], not to 192.0.2.1"},
		{"a none", "none has no address"},
	} {
		target := &Target{
			Address: server, Names: strings.Fields(tc.names), Port: func(games.Service) uint16 { return 0 },
			Lookup: func(_ context.Context, name string) ([]netip.Addr, error) {
				if a, ok := answers[name]; ok {
					return []netip.Addr{a}, nil
				}
				return nil, errNone
			},
		}
		target.Game.Name = "gmtest"
		var got []Result
		if err := Run(t.Context(), target, func(r Result) error { got = append(got, r); return nil }); err != nil {
			t.Fatal(err)
		}
		want := []Result{{Step: "names", Needed: true, Failed: tc.failed}}
		if tc.failed == "" {
			want[0].Remark = "all 2 lead to 192.0.2.1"
		} else {
			want[0].Means = "the game looks for its services elsewhere: respawnd point gmtest --to 192.0.2.1"
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.names, d)
		}
	}
}

// A service that the game needs and no server has fails, with the remark of the
// catalogue.
func TestServiceThatIsMissing(t *testing.T) {
	target := &Target{
		Port: func(games.Service) uint16 { return 0 }, Built: func(s games.Service) bool { return s != "maplist" && s != "race" },
	}
	target.Game.Needs, target.Game.Uses, target.Game.Via = []games.Service{"maplist", "qr2"}, []games.Service{"race"}, "Nothing helps."
	var got []Result
	if err := Run(t.Context(), target, func(r Result) error { got = append(got, r); return nil }); err != nil {
		t.Fatal(err)
	}
	want := []Result{{
		Step: "maplist: its official map list", Needed: true, Failed: "servers of this version do not have it. Nothing helps",
		Means: "the game cannot be played online there",
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("results (-want +got):\n%s", d)
	}
}

// TestKnown checks that the test of every game ends with what is known of it, and that it fails
// where answers of the services are not enough.
func TestKnown(t *testing.T) {
	served := func(games.Service) games.Served { return games.Running }
	for _, g := range catalogue(t).All() {
		target := &Target{Game: g, Port: func(games.Service) uint16 { return 0 }, Known: g.Outlooks(served, nil)}
		var lines []string
		failed := false
		if err := Run(t.Context(), target, func(r Result) error {
			lines = append(lines, r.Failed+r.Remark)
			failed = failed || r.Failed != "" && r.Needed
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(lines, "\n")
		for _, line := range g.Says(served, nil) {
			if line, _, _ = strings.Cut(line, ": see there"); !strings.Contains(text, line) {
				t.Errorf("%s: %q is not in:\n%s", g.Name, line, text)
			}
		}
		useless := len(target.Known) > 0 && !slices.ContainsFunc(target.Known, func(o games.Outlook) bool { return !o.Useless() })
		if want := useless || g.Platform() != "" && !g.Outlook(served, nil).Word.Good(); failed != want {
			t.Errorf("%s: failed %v, want %v:\n%s", g.Name, failed, want, text)
		}
	}
}

func catalogue(t *testing.T) *games.Catalog {
	t.Helper()
	c, err := operator.ReadGames("")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestHTTPS checks that web services are tested over https for games that ask so, on its port.
func TestHTTPS(t *testing.T) {
	var at string
	target := &Target{
		Address: server, Port: func(games.Service) uint16 { return 80 }, HTTPS: 443,
		Steps: []service.Play{{Service: "webservices", HTTPS: true, Run: func(_ context.Context, _ games.Game, address string) (string, error) { at = address; return "", nil }}},
	}
	for asks, want := range map[bool]string{true: "192.0.2.1:443", false: ""} {
		at = ""
		target.Game.Editions = []games.Edition{{HTTPS: asks}}
		if err := Run(t.Context(), target, func(Result) error { return nil }); err != nil || at != want {
			t.Errorf("asks over https %v: tested %q, %v, want %q", asks, at, err, want)
		}
	}
}

func TestExplain(t *testing.T) {
	s := &step{Network: "UDP"}
	at := netip.AddrPortFrom(server, 27900)
	for _, tc := range []struct {
		err  error
		want string
	}{
		{context.DeadlineExceeded, "no answer from UDP 192.0.2.1:27900: the service is off there, or a firewall drops it"},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, "no answer from UDP 192.0.2.1:27900: the service is off there, or a firewall drops it"},
		{syscall.ECONNREFUSED, "nothing listens on UDP 192.0.2.1:27900: " + syscall.ECONNREFUSED.Error()},
		{errors.New("odd\nanswer"), "UDP 192.0.2.1:27900: odd: answer"},
	} {
		if got := s.explain(tc.err, at); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.err, got, tc.want)
		}
	}
}

// TestUses checks which services are tested for a game.
func TestUses(t *testing.T) {
	unknown, known := &Target{}, &Target{}
	known.Game.Needs, known.Game.Uses = []games.Service{"q3master"}, []games.Service{"gpcm"}
	for service, want := range map[games.Service][2]bool{"qr2": {true, false}, "gpcm": {true, true}, "q3master": {false, true}} {
		s := &step{Service: service, Family: service == "q3master"}
		if got := [2]bool{unknown.uses(s), known.uses(s)}; got != want {
			t.Errorf("%s: used by an unknown game, by a known one: %v, want %v", service, got, want)
		}
	}
}
