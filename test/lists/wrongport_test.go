package lists

import (
	"fmt"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/test/rig"
)

// For a server whose packets are dropped as foreign, doctor names the right
// port if this daemon has one.
func TestWrongPortIsReported(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("log.level", "debug"))
	announcement := zanChallenge(rig.ZanString)
	for _, tt := range []struct {
		to      string
		packet  []byte
		verdict verdicts.Verdict
		home    string
	}{
		{"qr2", announcement, verdicts.SpeaksZandronum, "zanmaster"},
		{"qr2", []byte("q"), verdicts.SpeaksValve, "valvemaster"},
		{"zanmaster", []byte(`\heartbeat\6500\gamename\` + rig.TestGame), verdicts.SpeaksQR1, "qr2"},
		{"valvemaster", []byte("\xFF\xFF\xFF\xFFheartbeat QuakeArena-1\n"), verdicts.SpeaksQuake3, "q3master"},
		{"q3master", []byte("\xFF\xFF\xFF\xFFheartbeat\n\\hostname\\x\n"), verdicts.SpeaksQuake2, "q2master"},
		{"q3master", []byte("a\n1\n0\n"), verdicts.SpeaksQuakeWorld, "qwmaster"},
		{"qr2", []byte(strings.Repeat("x", 5000)), verdicts.TooLong, ""},
	} {
		h := rig.NewHost(t, d.Address[tt.to])
		h.Raw(tt.packet)
		d.WaitFor("the verdict", 0, rig.VerdictOn(h.Address(), tt.verdict.String()))
		out := d.Cli("doctor", "127.0.0.1")
		at := strings.Index(out, "packet from "+h.Address().String()+": "+tt.verdict.String())
		if at < 0 || strings.Contains(out, "do not arrive") {
			t.Errorf("doctor does not tell of %v from %v:\n%s", tt.verdict, h.Address(), out)
			continue
		}
		entry, _, _ := strings.Cut(out[at:], "\n\n")
		advice := ""
		if tt.home != "" {
			advice = fmt.Sprintf("Use port %d:", d.Address[tt.home].Port())
		}
		if !strings.Contains(entry, advice) || (advice == "" && strings.Contains(entry, "Use port")) {
			t.Errorf("doctor: %s\nwant the advice %q", entry, advice)
		}
	}
	d.Stop()
}

// What comes to the port of qr2 for a service that is off gets no advice that cannot help.
func TestGuestsThatAreOff(t *testing.T) {
	t.Parallel()
	d := rig.StartWithout(t, rig.TestEnv(t.TempDir(), rig.Variable("log.level", "debug"), rig.Variable("q2master.listen", ""), rig.Variable("qwmaster.listen", "")))
	for packet, verdict := range map[string]verdicts.Verdict{
		"\xFF\xFF\xFF\xFFheartbeat\n\\hostname\\x\n": verdicts.SpeaksOther, "a\n1\n0\n": verdicts.SpeaksOther, "\xFF\xFF\xFF\xFFheartbeat QuakeArena-1\n": verdicts.ChallengeSent,
	} {
		h := rig.NewHost(t, d.Address["qr2"])
		h.Raw([]byte(packet))
		d.WaitFor("the verdict", 0, rig.VerdictOn(h.Address(), verdict.String()))
	}
	d.Stop()
}
