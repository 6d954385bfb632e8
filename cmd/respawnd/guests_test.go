package main

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/hostnet"
)

func TestLANAdviceAsLogFields(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	cards := hostnet.Reachable(hostnet.AddressesOrNone(), hostnet.Route())
	if len(cards) == 0 {
		d.waitFor("that there is no network", 0, func(e entry) bool { return strings.HasPrefix(e.text("message"), "no network found") })
		d.stop()
		return
	}
	d.waitFor("the advice", 0, message("guests reach this machine"))
	lines, _ := d.log.since(0)
	likely := 0
	for _, e := range lines {
		if e.text("message") != "guests reach this machine" {
			continue
		}
		if e["likely"] == true {
			likely++
			if got, want := e.text("address"), cards[0].Addr().String(); got != want {
				t.Errorf("the likely address is %s, want %s", got, want)
			}
		}
		if e.text("interface") == "" || e.text("hosts") == "" || e.text("page") != "" {
			t.Errorf("line %v, want interface and command, and no page on the loopback address", e)
		}
	}
	if likely != 1 {
		t.Errorf("%d likely addresses, want 1", likely)
	}
	d.stop()
}

func TestGuestsAreNotAnnounced(t *testing.T) {
	t.Parallel()
	d := startWithout(t, testEnv(t.TempDir(), variable("dns.enabled", "false")))
	d.stop() // and all is written
	if got := d.log.String(); strings.Contains(got, "guests") || strings.Contains(got, "no network found") {
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
		run(ctx, []string{"serve"}, testEnv(t.TempDir(), variable("log.format", "console")), strings.NewReader(""), &out, lines)
	}()
	select {
	case <-lines.seen:
	case <-time.After(hang):
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
	d := start(t, t.TempDir(), "--config", filepath.Join("..", "..", "configs", "lan.yaml"))
	if got := lookUp(t, d.address["dns"], "udp4", "ut.ms5.gamespy.com"); got != "127.0.0.1" {
		t.Errorf("a guest who looks up the list of a game gets %s, want our address", got)
	}
	if !d.address["lan"].IsValid() {
		t.Error("it does not search the networks")
	}
	register(t, d, "hostname", "of a guest")
	wantListedNames(t, d, "of a guest")
	d.stop()
}

// wantListedNames fails unless servers of exactly these names are listed.
func wantListedNames(t *testing.T, d *running, want ...string) {
	t.Helper()
	var got []string
	for _, row := range list(t, d, "", `\hostname`) {
		got = append(got, row["hostname"])
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("servers %q, want %q", got, want)
	}
}
