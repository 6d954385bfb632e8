package probe

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/verdicts"
	wire "github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/probe/probetest"
)

// denied is a server of Zandronum that answers every query with a refusal.
func denied(kind wire.Kind) probetest.Talk {
	return tells(func(q wire.Query) [][]byte { return [][]byte{wire.AppendDenial(nil, kind, q.Time)} })
}

// The state of every server that an operator named is reported.
func TestStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		own := netip.MustParseAddrPort("192.0.2.99:27900")
		w := newWorld(t, func(o *Options) {
			o.Verdicts = verdicts.NewLog(zerolog.New(&log), 0)
			o.Own = func(a netip.AddrPort) bool { return a == own }
			o.Broadcast = func(a netip.Addr) bool { return a == netip.MustParseAddr("192.0.2.255") }
		})
		s := NewStatics(w.p, func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no such host") }, nil, zerolog.Nop())
		talks := map[string]probetest.Talk{
			"192.0.2.1:10666": denied(wire.KindBanned), "192.0.2.2:10666": denied(wire.KindTooSoon), "192.0.2.3:10666": nil,
			"192.0.2.4:10666": tells(func(q wire.Query) [][]byte { return [][]byte{infoMessage(everything(q.Time))} }),
		}
		for at, talk := range talks {
			w.says(netip.MustParseAddrPort(at), talk)
		}
		named := []Named{
			{Zandronum, "192.0.2.1:10666", ""},
			{Zandronum, "192.0.2.2:10666", ""},
			{Zandronum, "192.0.2.3:10666", ""},
			{Zandronum, "192.0.2.4:10666", ""},
			{A2S, own.String(), ""},
			{A2S, "192.0.2.255:27015", ""},
			{A2S, "nowhere.example:27015", ""},
			{A2S, "224.0.0.1:27015", ""},
		}
		s.Set(named)
		if got := s.States()[0]; got.Answers || got.Why != "not asked yet" {
			t.Errorf("at first: %+v, want that it was not asked yet", got)
		}
		w.pass(3 * time.Minute)
		type state struct {
			Answers bool
			Why     string
		}
		got := make(map[string]state)
		for _, st := range s.States() {
			got[st.Address] = state{st.Answers, st.Why}
		}
		if diff := cmp.Diff(map[string]state{
			"192.0.2.1:10666":       {false, "bans this master's address"},
			"192.0.2.2:10666":       {false, "says that it was asked too soon"},
			"192.0.2.3:10666":       {false, "no answer"},
			"192.0.2.4:10666":       {true, ""},
			own.String():            {false, "this address is never asked: it is one of this daemon's own"},
			"192.0.2.255:27015":     {false, "this address is never asked: it is the broadcast address of a network of this machine"},
			"224.0.0.1:27015":       {false, "this address is never asked: it is not the one of a machine, or its port is below 1024"},
			"nowhere.example:27015": {false, "the name of its host has no IPv4 address here"},
		}, got); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
		for _, want := range []string{"server bans this master's address", "server says that it was asked too soon", "server listed"} {
			if n := strings.Count(log.String(), `"message":"`+want+`"`); n != 1 {
				t.Errorf("%d lines say %q, want 1:\n%s", n, want, log.String())
			}
		}
	})
}
