package rig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/respawnd/respawnd/internal/gamespy"
)

// QstatTime has qstat wait for servers as long as they may take on a busy machine, and not
// for a second and a half.
var QstatTime = []string{"-retry", "10", "-interval", "1"}

// masterTime is how many seconds qstat waits for each of three answers. It waits to the end
// for further packets of a master, even if it has the whole list.
const masterTime = "3"

// Quakestat runs qstat and returns its output, and whether that has all parts.
func Quakestat(t *testing.T, parts []string, args ...string) (out string, ok bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), Qstat(t), append([]string{"-mi", masterTime, "-interval", masterTime}, args...)...)
	text, err := cmd.CombinedOutput()
	if out = string(text); err != nil {
		t.Fatalf("quakestat %q: %v\n%s", args, err, out)
	}
	return out, !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(out, p) })
}

// Shown is qstat's output about a server, or about the master itself.
type Shown struct {
	Protocol, Address, Status, Name, Map string
	Servers, NumPlayers, MaxPlayers      int
}

// AskQstat has qstat ask a master for its list and returns its output by address.
func AskQstat(t *testing.T, query string, master netip.AddrPort) map[string]Shown {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), Qstat(t), append(slices.Clone(QstatTime), "-json", "-nh", query, master.String())...)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("quakestat %s: %v\n%s%s", query, err, out, errOut.Bytes())
	}
	var list []Shown
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatalf("quakestat printed %v:\n%s", err, out)
	}
	all := make(map[string]Shown)
	for _, s := range list {
		all[s.Address] = s
	}
	return all
}

// AnswerText makes a host answer text queries as game servers do, until the
// test ends: the status in one packet per part, the last one first, and the
// proof in the last one.
func (h *Host) AnswerText(parts ...string) {
	h.T.Helper()
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
	h.T.Cleanup(func() {
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
			proof = `\validate\` + gamespy.Response(TestSecret, string(s.Value()))
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
