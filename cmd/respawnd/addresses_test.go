package main

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/qr2"
)

// A client that asks through this machine for another one, as a game does
// behind a relay, represents the players of other networks.
const (
	outsider = "203.0.113.9"
	adverted = "203.0.113.5"
)

// askAs asks for the list on behalf of another address.
func (b *browser) askAs(address string) serverbrowse.Reply {
	b.t.Helper()
	r := serverbrowse.ListRequest{
		Protocol: 1, Encoding: 3, For: testGame, From: testGame, Challenge: b.challenge, Fields: `\hostname`,
		Options: serverbrowse.AlternateIP, Source: netip.MustParseAddr(address),
	}
	msg, err := r.AppendTo(nil)
	if err != nil {
		b.t.Fatal(err)
	}
	b.write(msg)
	return b.reply(r.Options)
}

// wantOnly fails unless a list has one server, at the address.
func wantOnly(t *testing.T, who string, r serverbrowse.Reply, want netip.AddrPort) {
	t.Helper()
	if len(r.Entries) != 1 || r.Entries[0].Public != want {
		t.Errorf("list for %s: %+v, want one server at %v", who, r.Entries, want)
	}
}

func TestAdvertisedAddress(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir(), variable("net.advertise_as", adverted))
	h := register(t, d, "hostname", "One")
	given := netip.AddrPortFrom(netip.MustParseAddr(adverted), h.address().Port())
	wantOnly(t, "this machine", browse(t, d).ask(0, "", `\hostname`), h.address())
	b := browse(t, d)
	wantOnly(t, "an outsider", b.askAs(outsider), given)

	message, err := serverbrowse.AppendMessage(nil, given, []byte("cookie"))
	if err != nil {
		t.Fatal(err)
	}
	b.write(message)
	h.expect(qr2.KindMessage)
	if got := string(h.messages[0]); got != "cookie" {
		t.Errorf("the server was sent %q, want the message to its advertised address", got)
	}
	b.write(serverbrowse.AppendInfoRequest(nil, given))
	if p := b.nextOf(serverbrowse.PushServer); p.Entry.Public != given || len(p.Entry.Rules) == 0 {
		t.Errorf("details of the advertised address: %+v, want those of the server", p.Entry)
	}
	d.stop()
}

// Every service is open to other machines here, on free ports.
func TestServerThatOnlyThisMachineReaches(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir(), variable("serverbrowse.listen", "0.0.0.0:0"), variable("qr2.probe", "true"))
	h := register(t, d, "hostname", "One")
	d.waitFor("the warning", 0, func(e entry) bool { return e.text("level") == "warn" && e.text("server") == h.address().String() })
	d.waitFor("the verdict", 0, verdictOn(h.address(), verdicts.OnlyHere.String()))
	d.waitFor("a later one", 0, verdictOn(h.address(), verdicts.Unreachable.String())) // it does not answer probes
	if out := d.cli("doctor", h.address().Addr().String()); !strings.Contains(out, "sets net.advertise_as") {
		t.Errorf("doctor, want what to do about the address:\n%s", out)
	}
	d.stop()
}
