package qr2

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
)

var (
	otherMaster = netip.MustParseAddrPort("192.0.2.33:27900")
	far         = netip.MustParseAddrPort("192.0.2.34:6500")
)

// announcing returns an intake that announces itself to otherMaster, and its beacons until now.
func announcing(t *testing.T) (in *intake, lost *bool, beacons func() []string) {
	t.Helper()
	in = newIntake(t, func(o *Options) {
		o.Announce, o.Version = []string{"master.example.org:27900", "gone.example.org:1"}, "1.2"
	})
	lost = new(bool)
	in.beacon.lookup = func(_ context.Context, host string) ([]netip.Addr, error) {
		if *lost || host != "master.example.org" {
			return nil, errors.New("no such host")
		}
		return []netip.Addr{otherMaster.Addr()}, nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go in.beacon.run(ctx, in.w, 27900)
	return in, lost, func() (list []string) {
		synctest.Wait()
		for _, s := range in.w.Take() {
			list = append(list, s.to.String()+" "+string(s.data))
		}
		return list
	}
}

// ask returns the answer to a question of another master.
func (in *intake) ask(from netip.AddrPort, question string) (string, uplink.Drop) {
	in.w.Take()
	dropped := in.handle(in.w, netserve.Packet{Data: []byte(question), From: from, To: masterAddr})
	var all []string
	for _, s := range in.w.Take() {
		all = append(all, string(s.data))
	}
	return strings.Join(all, "|"), dropped
}

func TestBeacons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, lost, beacons := announcing(t)
		want := []string{otherMaster.String() + ` \heartbeat\27900\gamename\333networks`}
		if got := beacons(); !slices.Equal(got, want) {
			t.Errorf("at the start: %q, want %q", got, want)
		}
		*lost = true // a name that cannot be found keeps its address
		for range 2 * lookupEvery {
			time.Sleep(beaconEvery)
			if got := beacons(); !slices.Equal(got, want) {
				t.Errorf("a minute later: %q, want %q", got, want)
			}
		}
	})
}

// The answers are those of the masters of 333networks, recorded, but for what this one is.
func TestMasterQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, _, beacons := announcing(t)
		beacons()
		_ = in.list.Put(master.Server{Key: master.Key{Source: far}, Game: "gmtest", Origin: Origin, Public: far})
		const (
			basic = `\gamename\333networks\gamever\respawnd-1.2\location\0`
			info  = `\hostname\respawnd\hostport\28900\gametype\Masterserver\mapname\333networks\numplayers\1\maxplayers\1\gamemode\openplaying`
			rules = `\mutators\respawnd`
		)
		asks := netip.AddrPortFrom(otherMaster.Addr(), 27901) // from another port too
		for _, tc := range [][2]string{
			{`\status\`, basic + `\queryid\1.1` + info + `\queryid\1.2` + rules + `\queryid\1.3\final\`},
			{`\secure\ABCDEF`, `\validate\TcGdY/3Q\queryid\2.1\final\`},
			{`\basic\\secure\ABCDEF`, basic + `\queryid\3.1\validate\TcGdY/3Q\queryid\3.2\final\`},
			{`\echo\x`, `\echo_reply\x\queryid\4.1\final\`},
			{`\INFO\`, info + `\queryid\5.1\final\`},
			{`\rules\`, rules + `\queryid\6.1\final\`},
		} {
			if got, dropped := in.ask(asks, tc[0]); got != tc[1] || dropped != uplink.NotDropped {
				t.Errorf("%s: %s, dropped for %q; want %s", tc[0], got, dropped, tc[1])
			}
			time.Sleep(time.Second)
		}
		if got, dropped := in.ask(asks, `\status\x`); got != "" || dropped == uplink.NotDropped {
			t.Errorf("no question: %q", got)
		}
		for range masterBurst {
			in.ask(asks, `\rules\`)
		}
		if got, dropped := in.ask(asks, `\rules\`); got != "" || dropped != uplink.Limited {
			t.Errorf("too many questions: %q, dropped for %q", got, dropped)
		}
	})
}

// Others get no byte, since their address may be forged: only their own echo.
func TestMasterQuestionsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, _, beacons := announcing(t)
		beacons()
		stranger := netip.MustParseAddrPort("203.0.113.9:27900")
		for _, question := range []string{`\status\`, `\basic\`, `\info\`, `\rules\`, `\secure\ABCDEF`} {
			if got, dropped := in.ask(stranger, question); got != "" || dropped == uplink.NotDropped {
				t.Errorf("%s of a stranger: %q", question, got)
			}
		}
		if got, _ := in.ask(stranger, `\echo\x`); got != `\echo\x` {
			t.Errorf("echo: %q", got)
		}
		srv := master.Server{Key: master.Key{Source: stranger}, Game: "333networks", Origin: OldOrigin, Public: stranger, Restored: true}
		_ = in.list.Put(srv)
		if got, _ := in.ask(stranger, `\secure\ABCDEF`); got != "" {
			t.Errorf("a master of the saved list: %q", got)
		}
		srv.Restored = false
		_ = in.list.Put(srv)
		if got, _ := in.ask(stranger, `\secure\ABCDEF`); !strings.HasPrefix(got, `\validate\TcGdY/3Q`) {
			t.Errorf("a listed master: %q", got)
		}
	})
}

func TestAnnounceKey(t *testing.T) {
	for _, bad := range []string{"master.example.org", ":27900", "a:b", "a:0", "a:65536"} {
		if (&Config{Announce: []string{bad}}).checkAnnounce() == nil {
			t.Errorf("%q: no mistake", bad)
		}
	}
	if err := (&Config{Announce: slices.Repeat([]string{"a:1"}, maxAnnounce)}).checkAnnounce(); err != nil {
		t.Error(err)
	}
	if (&Config{Announce: slices.Repeat([]string{"a:1"}, maxAnnounce+1)}).checkAnnounce() == nil {
		t.Error("too many: no mistake")
	}
}
