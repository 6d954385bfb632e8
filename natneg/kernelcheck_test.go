//go:build linux && netns

package natneg_test

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/respawnd/respawnd/daemon/natcheck"
	"github.com/respawnd/respawnd/internal/meeting"
	"github.com/respawnd/respawnd/natneg/natnegtest"
)

func TestNATCheckBehindKernelNATs(t *testing.T) {
	w := newKernelWorld(t, natnegtest.PortRestricted, natnegtest.Symmetric, natnegtest.FullCone)
	for i, want := range []meeting.Router{meeting.PortRestricted, meeting.EachItsOwn, meeting.FullCone} {
		file := filepath.Join(w.dir, "check")
		out, err := w.child("home"+string(rune('0'+i)), "check", file).CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", want, err, out)
			continue
		}
		data, err := os.ReadFile(file)
		var got struct {
			natcheck.Report
			Router string `json:"router"`
		}
		if err == nil {
			err = json.Unmarshal(data, &got)
		}
		if err != nil || got.Router != want.String() || !got.Translated || len(got.Seen) != 4 {
			t.Errorf("%v: got %s, %v", want, data, err)
		}
	}
}

func kernelCheck(t *testing.T) {
	var servers []netip.AddrPort
	for _, a := range kernelServers {
		servers = append(servers, netip.AddrPortFrom(netip.MustParseAddr(a), 27901))
	}
	r, err := natcheck.Run(t.Context(), natcheck.System{Server: servers[0]}, servers)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(os.Getenv(childFile), data, 0o600); err != nil {
		t.Fatal(err)
	}
}
