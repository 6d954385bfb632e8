package main

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/qr2"
)

// A player who asks through this machine for another one, as a game does behind a
// relay, stands for the players of other networks.
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

func TestRulesChangeWhatIsNotedOfLocalServers(t *testing.T) {
	registry := master.NewRegistry(master.Limits{})
	d := &daemon{registry: registry, addresses: advertise.New(registry), ruled: make(chan struct{}, 1), book: verdicts.NewLog(zerolog.Nop(), 0), log: zerolog.Nop()}
	w := localWatch{daemon: d}
	at := netip.MustParseAddrPort("127.0.0.1:6500")
	if err := registry.Put(master.Server{Key: master.Key{Source: at}, Game: testGame, Public: at}); err != nil {
		t.Fatal(err)
	}
	w.look()
	everybody := []advertise.Rule{{As: netip.MustParseAddr(adverted)}}
	for i, step := range []struct {
		rules []advertise.Rule
		last  verdicts.Verdict
		notes int
	}{
		{nil, verdicts.OnlyHere, 1},
		{everybody, verdicts.Advertised, 2},
		{everybody, verdicts.Advertised, 2},
		{nil, verdicts.OnlyHere, 3},
	} {
		d.setRules(step.rules)
		select {
		case <-d.ruled:
			w.review()
		default:
		}
		all := d.book.Of(at.Addr())
		if len(all) != step.notes || all[len(all)-1].Verdict != step.last || w.warned != (step.last == verdicts.OnlyHere) {
			t.Errorf("step %d: %+v, warned %v, want %d verdicts, the last %v", i, all, w.warned, step.notes, step.last)
		}
	}
}

func TestServerThatLeftIsNotNotedAsOutOfReach(t *testing.T) {
	registry := master.NewRegistry(master.Limits{})
	d := &daemon{registry: registry, addresses: advertise.New(registry), book: verdicts.NewLog(zerolog.Nop(), 0), log: zerolog.Nop()}
	w := localWatch{daemon: d}
	at := netip.MustParseAddrPort("127.0.0.1:6500")
	for _, leaves := range []bool{true, false} {
		k := master.Key{Source: at}
		if err := registry.Put(master.Server{Key: k, Game: testGame, Public: at}); err != nil {
			t.Fatal(err)
		}
		if leaves {
			registry.Remove(k)
		}
		w.look()
		if noted := len(d.book.Of(at.Addr())) > 0; noted == leaves || w.warned == leaves {
			t.Errorf("server that leaves (%v) before the look: noted %v, warned %v", leaves, noted, w.warned)
		}
	}
}
