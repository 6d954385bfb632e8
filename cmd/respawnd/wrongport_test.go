package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/verdicts"
)

// For a server whose packets are dropped as foreign, doctor names the right
// port if this daemon has one.
func TestWrongPortIsReported(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir(), variable("log.level", "debug"))
	announcement := zanChallenge(zanString)
	for _, tt := range []struct {
		to      string
		packet  []byte
		verdict verdicts.Verdict
		home    string
	}{
		{"qr2", announcement, verdicts.SpeaksZandronum, "zanmaster"},
		{"qr2", []byte("q"), verdicts.SpeaksValve, "valvemaster"},
		{"zanmaster", []byte(`\heartbeat\6500\gamename\` + testGame), verdicts.SpeaksQR1, "qr2"},
		{"valvemaster", []byte("\xFF\xFF\xFF\xFFheartbeat QuakeArena-1\n"), verdicts.SpeaksQuake3, "q3master"},
		{"qr2", []byte(strings.Repeat("x", 5000)), verdicts.TooLong, ""},
	} {
		h := newHost(t, d.address[tt.to])
		h.raw(tt.packet)
		d.waitFor("the verdict", 0, verdictOn(h.address(), tt.verdict.String()))
		out := d.cli("doctor", "127.0.0.1")
		at := strings.Index(out, "packet from "+h.address().String()+": "+tt.verdict.String())
		if at < 0 || strings.Contains(out, "do not arrive") {
			t.Errorf("doctor does not tell of %v from %v:\n%s", tt.verdict, h.address(), out)
			continue
		}
		entry, _, _ := strings.Cut(out[at:], "\n\n")
		advice := ""
		if tt.home != "" {
			advice = fmt.Sprintf("Use port %d:", d.address[tt.home].Port())
		}
		if !strings.Contains(entry, advice) || (advice == "" && strings.Contains(entry, "Use port")) {
			t.Errorf("doctor: %s\nwant the advice %q", entry, advice)
		}
	}
	d.stop()
}
