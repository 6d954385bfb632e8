package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// shown is what qstat tells about a server, or about the master itself.
type shown struct {
	Protocol, Address, Status, Name, Map string
	Servers, NumPlayers, MaxPlayers      int
}

// askQstat runs qstat for the servers of a game and returns what it shows by
// address.
func askQstat(t *testing.T, d *running, game string) map[string]shown {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), qstat(t), "-json", "-nh", "-gsm,"+game, d.address["legacylist"].String())
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

// answerStatus has a registered host answer the queries of the oldest browsers
// until the test ends.
func (h *host) answerStatus(reply string) {
	h.t.Helper()
	var answering sync.WaitGroup
	answering.Go(func() {
		var buf [2048]byte
		for {
			n, from, err := h.conn.ReadFromUDPAddrPort(buf[:])
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				h.t.Errorf("host %v: %v", h.address(), err)
				return
			}
			if !bytes.HasPrefix(buf[:n], []byte(`\status\`)) {
				continue // the master has questions too
			}
			if _, err := h.conn.WriteToUDPAddrPort([]byte(reply), from); err != nil && !errors.Is(err, net.ErrClosed) {
				h.t.Errorf("host %v: %v", h.address(), err)
			}
		}
	})
	h.t.Cleanup(func() {
		_ = h.conn.Close()
		answering.Wait()
	})
}

func TestQstatShowsRegisteredServers(t *testing.T) {
	qstat(t)
	t.Parallel()
	d := start(t, t.TempDir())
	master := d.address["legacylist"].String()
	if got := askQstat(t, d, testGame); len(got) != 1 || got[master].Servers != 0 || got[master].Status != "online" {
		t.Errorf("before any server registered: %+v, want a master with 0 servers", got)
	}
	want := make(map[string]shown)
	for _, name := range []string{"Arena", "Flags"} {
		h := register(t, d, "hostname", name, "numplayers", "2", "maxplayers", "8", "hostport", "25000")
		h.answerStatus(`\gamename\gmtest\gamever\2.00\location\1\hostname\` + name +
			`\hostport\25000\mapname\gmtmap1\gametype\arena\numplayers\2\maxplayers\8\gamemode\openplaying\final\\queryid\1.1`)
		want[h.address().String()] = shown{
			Protocol: "gps", Address: h.address().String(), Status: "online", Name: name, Map: "gmtmap1", NumPlayers: 2, MaxPlayers: 8,
		}
	}
	want[master] = shown{Protocol: "gsm", Address: master, Status: "online", Servers: len(want)}
	if diff := cmp.Diff(want, askQstat(t, d, "GmTest")); diff != "" {
		t.Errorf("servers that qstat shows (-want +got):\n%s", diff)
	}
	d.stop()
}

func TestQstatIsRefusedWhereItMustProveItsGame(t *testing.T) {
	qstat(t)
	t.Parallel()
	d := start(t, t.TempDir(), variable("legacylist.strict_validate", "true"))
	register(t, d, "hostname", "Arena")
	if got := askQstat(t, d, testGame); len(got) != 1 || got[d.address["legacylist"].String()].Servers != 0 {
		t.Errorf("qstat shows %+v, want no servers", got)
	}
	d.stop()
}

func TestOldListShowsRegisteredServersInEveryEncryption(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	want := []netip.AddrPort{
		register(t, d, "hostname", "Arena", "numplayers", "2").address(),
		register(t, d, "hostname", "Flags", "numplayers", "3").address(),
	}
	register(t, d, "hostname", "Empty", "numplayers", "0")
	slices.SortFunc(want, netip.AddrPort.Compare)
	for enctype := range 3 {
		got, err := askLegacyList(t.Context(), d.address["legacylist"].String(), legacylist.Request{
			Engine: testGame, Secret: testSecret, Enctype: enctype, Mode: legacylist.Compact, Game: testGame, Filter: "(numplayers > 0)",
		})
		slices.SortFunc(got, netip.AddrPort.Compare)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("enctype %d: %v, %v, want %v", enctype, got, err, want)
		}
	}
	d.stop()
}
