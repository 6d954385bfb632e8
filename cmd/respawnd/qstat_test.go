package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/master/legacylist"
)

// qstat returns the path of a server browser of the time, which Debian still
// has. Where CI is set it must be there.
func qstat(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("quakestat")
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") != "":
		t.Fatalf("CI is set and quakestat is missing: install Debian's package qstat: %v", err)
	}
	t.Skip("quakestat is not installed; Debian's package is qstat")
	return ""
}

// qstatTime has qstat wait for servers as long as they may take on a busy machine, and not
// for a second and a half.
var qstatTime = []string{"-retry", "10", "-interval", "1"}

// masterTimes are times in seconds that qstat waits for each of three answers. It waits to
// the end for further packets of a master, even if it has the whole list: it gets little
// time at first, and more if something is missing.
var masterTimes = []string{"0.1", "0.5", "2", "10"}

// quakestat runs qstat until its output has all parts, and returns the output and whether
// it had them.
func quakestat(t *testing.T, browser string, parts []string, args ...string) (out string, ok bool) {
	t.Helper()
	for _, seconds := range masterTimes {
		text, err := exec.CommandContext(t.Context(), browser, append([]string{"-mi", seconds, "-interval", seconds}, args...)...).CombinedOutput()
		if out = string(text); err != nil {
			t.Fatalf("quakestat %q: %v\n%s", args, err, out)
		}
		if !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(out, p) }) {
			return out, true
		}
	}
	return out, false
}

// shown is qstat's output about a server, or about the master itself.
type shown struct {
	Protocol, Address, Status, Name, Map string
	Servers, NumPlayers, MaxPlayers      int
}

// askQstat runs qstat for the servers of a game and returns its output by address.
func askQstat(t *testing.T, d *running, game string) map[string]shown {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), qstat(t), append(slices.Clone(qstatTime), "-json", "-nh", "-gsm,"+game, d.address["legacylist"].String())...)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("quakestat: %v\n%s%s", err, out, errOut.Bytes())
	}
	var list []shown
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatalf("quakestat printed %v:\n%s", err, out)
	}
	all := make(map[string]shown)
	for _, s := range list {
		all[s.Address] = s
	}
	return all
}

// answerText makes a host answer text queries as game servers do, until the
// test ends: the status in one packet per part, the last one first, and the
// proof in the last one.
func (h *host) answerText(parts ...string) {
	h.t.Helper()
	var answering sync.WaitGroup
	query := 0
	answering.Go(func() {
		h.Serve(func(b []byte, from netip.AddrPort) {
			query++
			for _, p := range textAnswer(b, query, parts) {
				_ = h.SendTo(p, from) // the test has ended if it fails
			}
		})
	})
	h.t.Cleanup(func() {
		_ = h.Close()
		answering.Wait()
	})
}

// textAnswer returns the packets that answer a text query, none if it is not
// one.
func textAnswer(packet []byte, query int, parts []string) (out [][]byte) {
	if !bytes.HasPrefix(packet, []byte(`\`)) {
		return nil // of the newer protocol
	}
	var answer []string
	proof := ""
	for s := gamespy.ScanFields(packet); s.Next(); {
		switch string(s.Key()) {
		case "status":
			answer = parts
		case "secure":
			proof = `\validate\` + gamespy.Response(testSecret, string(s.Value()))
		}
	}
	if answer == nil && proof == "" {
		return nil
	}
	for i, part := range answer[:max(len(answer)-1, 0)] {
		out = append(out, fmt.Appendf(nil, `%s\queryid\%d.%d`, part, query, i+1))
	}
	last := proof
	if len(answer) > 0 {
		last = answer[len(answer)-1] + proof
	}
	out = append(out, fmt.Appendf(nil, `%s\final\\queryid\%d.%d`, last, query, len(out)+1))
	slices.Reverse(out)
	return out
}

// TestQstatShowsServersOfBothProtocols registers a server of each protocol;
// both answer the text queries of an old browser, as the servers of its time
// do.
func TestQstatShowsServersOfBothProtocols(t *testing.T) {
	qstat(t)
	t.Parallel()
	d := start(t, t.TempDir())
	master := d.address["legacylist"].String()
	if got := askQstat(t, d, testGame); len(got) != 1 || got[master].Servers != 0 || got[master].Status != "online" {
		t.Errorf("before any server registered: %+v, want a master with 0 servers", got)
	}
	newer := register(t, d, "hostname", "Arena", "numplayers", "2", "maxplayers", "8", "hostport", "25000")
	newer.answerText(`\gamename\gmtest\gamever\2.00\location\1\hostname\Arena\hostport\25000\mapname\gmtmap1` +
		`\gametype\arena\numplayers\2\maxplayers\8\gamemode\openplaying`)
	older := newHost(t, d.address["qr2"])
	older.answerText(
		`\gamename\gmtest\gamever\1.00\location\1\hostname\Flags\hostport\7777\mapname\harbour\gametype\ctf\numplayers\1\maxplayers\16`,
		`\gamemode\openplaying\player_0\Ann\frags_0\3\ping_0\40\team_0\0`,
	)
	older.textBeat("")
	d.waitFor("the registration", 0, verdictOn(older.address(), "listed"))
	want := map[string]shown{
		newer.address().String(): {Protocol: "gps", Status: "online", Name: "Arena", Map: "gmtmap1", NumPlayers: 2, MaxPlayers: 8},
		older.address().String(): {Protocol: "gps", Status: "online", Name: "Flags", Map: "harbour", NumPlayers: 1, MaxPlayers: 16},
		master:                   {Protocol: "gsm", Status: "online", Servers: 2},
	}
	for a, s := range want {
		s.Address = a
		want[a] = s
	}
	if diff := cmp.Diff(want, askQstat(t, d, "GmTest")); diff != "" {
		t.Errorf("servers that qstat shows (-want +got):\n%s", diff)
	}
	d.stop()
}

func TestQstatWithoutProofIsRefused(t *testing.T) {
	qstat(t)
	t.Parallel()
	d := start(t, t.TempDir(), variable("legacylist.strict_validate", "true"))
	register(t, d, "hostname", "Arena")
	if got := askQstat(t, d, testGame); len(got) != 1 || got[d.address["legacylist"].String()].Servers != 0 {
		t.Errorf("qstat shows %+v, want no servers", got)
	}
	d.stop()
}

func TestLegacyListInEveryEncryption(t *testing.T) {
	quick(t)
	t.Parallel()
	d := start(t, t.TempDir())
	want := []netip.AddrPort{
		register(t, d, "hostname", "Arena", "numplayers", "2").address(),
		register(t, d, "hostname", "Flags", "numplayers", "3").address(),
	}
	register(t, d, "hostname", "Empty", "numplayers", "0")
	slices.SortFunc(want, netip.AddrPort.Compare)
	for enctype := range 3 {
		got, err := legacyList(t, d, legacylist.Request{
			Engine: testGame, Secret: testSecret, Enctype: enctype, Mode: legacylist.Compact, Game: testGame, Filter: "(numplayers > 0)",
		})
		slices.SortFunc(got, netip.AddrPort.Compare)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("enctype %d: %v, %v, want %v", enctype, got, err, want)
		}
	}
	d.stop()
}
