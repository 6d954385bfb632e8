package lists

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/test/rig"
)

func TestLANAdviceAsLogFields(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	cards := hostnet.Reachable(hostnet.AddressesOrNone(), hostnet.Route())
	if len(cards) == 0 {
		d.WaitFor("that there is no network", 0, func(e rig.Entry) bool { return strings.HasPrefix(e.Text("message"), "no network found") })
		d.Stop()
		return
	}
	d.WaitFor("the advice", 0, rig.Message("guests reach this machine"))
	lines, _ := d.Log.Since(0)
	likely := 0
	for _, e := range lines {
		if e.Text("message") != "guests reach this machine" {
			continue
		}
		if e["likely"] == true {
			likely++
			if got, want := e.Text("address"), cards[0].Addr().String(); got != want {
				t.Errorf("the likely address is %s, want %s", got, want)
			}
		}
		if e.Text("interface") == "" || e.Text("hosts") == "" || e.Text("page") != "" {
			t.Errorf("line %v, want interface and command, and no page on the loopback address", e)
		}
	}
	if likely != 1 {
		t.Errorf("%d likely addresses, want 1", likely)
	}
	d.Stop()
}

func TestGuestsAreNotAnnounced(t *testing.T) {
	t.Parallel()
	d := rig.StartWithout(t, rig.TestEnv(t.TempDir(), rig.Variable("dns.enabled", "false")))
	d.Stop() // and all is written
	if got := d.Log.String(); strings.Contains(got, "guests") || strings.Contains(got, "no network found") {
		t.Errorf("the log of a daemon that is not for a LAN:\n%s", got)
	}
}

func TestLANAdviceInWords(t *testing.T) {
	t.Parallel()
	var out, errOut bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	lines := &watched{want: "ready", seen: make(chan struct{}), to: &errOut}
	go func() {
		defer close(ended)
		rig.Run(ctx, []string{"serve"}, rig.TestEnv(t.TempDir(), rig.Variable("log.format", "console")), strings.NewReader(""), &out, lines)
	}()
	select {
	case <-lines.seen:
	case <-time.After(rig.Hang):
		t.Error("not ready")
	}
	cancel()
	<-ended
	text := errOut.String()
	for _, part := range []string{"INF guests reach this machine at ", "\n  if it does not answer: let respawnd through this machine's firewall"} {
		if !strings.Contains(text, part) && !strings.Contains(text, "no network found") {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

// watched signals when a text was written.
type watched struct {
	want string
	seen chan struct{}
	to   *bytes.Buffer
}

func (w *watched) Write(p []byte) (int, error) {
	if w.want != "" && bytes.Contains(p, []byte(w.want)) {
		w.want = ""
		close(w.seen)
	}
	return w.to.Write(p)
}

func TestSampleForALANServesOne(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir(), "--config", filepath.Join("..", "..", "configs", "lan.yaml"))
	if got := rig.LookUp(t, d.Address["dns"], "udp4", "ut.ms5.gamespy.com"); got != "127.0.0.1" {
		t.Errorf("a guest who looks up the list of a game gets %s, want our address", got)
	}
	if !d.Address["lan"].IsValid() {
		t.Error("it does not search the networks")
	}
	rig.Register(t, d, "hostname", "of a guest")
	wantListedNames(t, d, "of a guest")
	d.Stop()
}

// wantListedNames fails unless servers of exactly these names are listed.
func wantListedNames(t *testing.T, d *rig.Running, want ...string) {
	t.Helper()
	var got []string
	for _, row := range rig.List(t, d, "", `\hostname`) {
		got = append(got, row["hostname"])
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("servers %q, want %q", got, want)
	}
}
