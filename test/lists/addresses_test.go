package lists

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/test/rig"
)

func TestAdvertisedAddress(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("net.advertise_as", rig.Adverted))
	h := rig.Register(t, d, "hostname", "One")
	given := netip.AddrPortFrom(netip.MustParseAddr(rig.Adverted), h.Address().Port())
	rig.WantOnly(t, "this machine", rig.Browse(t, d).MustAsk(0, "", `\hostname`), h.Address())
	b := rig.Browse(t, d)
	rig.WantOnly(t, "an outsider", b.AskAs(rig.Outsider), given)

	message, err := serverbrowse.AppendMessage(nil, given, []byte("cookie"))
	if err != nil {
		t.Fatal(err)
	}
	b.Write(message)
	h.Expect(qr2.KindMessage)
	if got := string(h.Messages[0]); got != "cookie" {
		t.Errorf("the server was sent %q, want the message to its advertised address", got)
	}
	b.Write(serverbrowse.AppendInfoRequest(nil, given))
	if p := b.MustNextOf(serverbrowse.PushServer); p.Entry.Public != given || len(p.Entry.Rules) == 0 {
		t.Errorf("details of the advertised address: %+v, want those of the server", p.Entry)
	}
	d.Stop()
}

// Every service is open to other machines here, on free ports.
func TestServerThatOnlyThisMachineReaches(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("serverbrowse.listen", "0.0.0.0:0"), rig.Variable("qr2.probe", "true"))
	h := rig.Register(t, d, "hostname", "One")
	d.WaitFor("the warning", 0, func(e rig.Entry) bool { return e.Text("level") == "warn" && e.Text("server") == h.Address().String() })
	d.WaitFor("the verdict", 0, rig.VerdictOn(h.Address(), verdicts.OnlyHere.String()))
	d.WaitFor("a later one", 0, rig.VerdictOn(h.Address(), verdicts.Unreachable.String())) // it does not answer probes
	if out := d.Cli("doctor", h.Address().Addr().String()); !strings.Contains(out, "sets net.advertise_as") {
		t.Errorf("doctor, want what to do about the address:\n%s", out)
	}
	d.Stop()
}
