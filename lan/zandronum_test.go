package lan

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	zan "github.com/respawnd/respawnd/internal/zandronum"
)

// zandronumQuestions returns the ports on which a round queries servers of
// Zandronum.
func zandronumQuestions(t *testing.T, out []question) (ports []uint16) {
	t.Helper()
	for _, q := range out {
		kind, _ := zan.ParseKind(zan.Decode(nil, q.data, 64))
		if kind != zan.KindQuery || !isZandronumPort(q.to.Port()) {
			continue
		}
		if q.to.Addr() != hall.Broadcast {
			t.Errorf("asked %v", q.to)
		}
		ports = append(ports, q.to.Port())
	}
	return ports
}

// kindHeader returns the number with which a message of a kind begins.
func kindHeader(kind zan.Kind) []byte { return zan.AppendDenial(nil, kind, 0)[:4] }

func denial(kind zan.Kind, key uint32) []byte {
	return zan.Encode(nil, zan.AppendDenial(nil, kind, key))
}

func TestRoundAsksForZandronum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFinder(t, func(o *Options) { o.FoundZandronum = func(netip.AddrPort) {} })
		want := []uint16{10666, 10667, 10668, 10669, 10670, 10671, 10672, 10673}
		if got := zandronumQuestions(t, f.round(netip.Addr{})); !slices.Equal(got, want) {
			t.Errorf("asked on %v, want %v", got, want)
		}
		time.Sleep(zandronumEvery - time.Second)
		if got := zandronumQuestions(t, f.round(netip.Addr{})); got != nil {
			t.Errorf("asked again on %v, too soon for the servers", got)
		}
		time.Sleep(time.Second)
		if got := zandronumQuestions(t, f.round(netip.Addr{})); !slices.Equal(got, want) {
			t.Errorf("asked later on %v, want %v", got, want)
		}
		f = newFinder(t, nil)
		if got := zandronumQuestions(t, f.round(netip.Addr{})); got != nil {
			t.Errorf("asked on %v, without a taker for the servers", got)
		}
	})
}

// A server that answers, or denies the query, is forwarded once, when it may be
// queried again.
func TestZandronumThatAnswersIsHandedOn(t *testing.T) {
	t.Run("short rounds", func(t *testing.T) { handsOn(t, 5*time.Second) })
	t.Run("long rounds", func(t *testing.T) { handsOn(t, time.Hour) })
}

func handsOn(t *testing.T, every time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		heard := make(chan netip.AddrPort, 100)
		f := newFinder(t, func(o *Options) {
			o.Every = every
			o.FoundZandronum = func(a netip.AddrPort) { heard <- a }
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		w := &wire{}
		go func() { defer close(ended); f.search(ctx, w, netip.Addr{}) }()
		time.Sleep(3 * time.Second)
		f.mu.Lock()
		key := f.zandronum.key
		f.mu.Unlock()
		info := zan.Encode(nil, zan.AppendInfo(kindHeader(zan.KindInfo), &zan.Info{Time: key, Version: "3.2", Flags: zan.FlagName, Name: "x"}))
		for name, tc := range map[string]struct {
			from   string
			packet []byte
			want   string
		}{
			"info":            {"192.0.2.10:10666", info, ""},
			"again":           {"192.0.2.10:10666", info, ""},
			"too soon":        {"192.0.2.11:10667", denial(zan.KindTooSoon, key), ""},
			"banned":          {"192.0.2.12:10673", denial(zan.KindBanned, key), ""},
			"of another key":  {"192.0.2.13:10666", denial(zan.KindTooSoon, key+1), dropUseless},
			"outside":         {"198.51.100.1:10666", info, dropStranger},
			"another port":    {"192.0.2.14:10674", info, dropStranger},
			"another message": {"192.0.2.15:10666", zan.Encode(nil, []byte{1, 2, 3, 4}), dropStranger},
		} {
			if got := say(f, tc.from, tc.packet); got != tc.want {
				t.Errorf("%s: dropped %q, want %q", name, got, tc.want)
			}
		}
		if len(heard) != 0 {
			t.Errorf("%d handed on at once", len(heard))
		}
		time.Sleep(2 * zandronumRest)
		cancel()
		<-ended
		close(heard)
		got := slices.SortedFunc(func(yield func(netip.AddrPort) bool) {
			for a := range heard {
				if !yield(a) {
					return
				}
			}
		}, netip.AddrPort.Compare)
		want := []netip.AddrPort{
			netip.MustParseAddrPort("192.0.2.10:10666"), netip.MustParseAddrPort("192.0.2.11:10667"), netip.MustParseAddrPort("192.0.2.12:10673"),
		}
		if !slices.Equal(got, want) {
			t.Errorf("handed on %v, want %v", got, want)
		}
	})
}

func TestWaitingServersAreBounded(t *testing.T) {
	f := newFinder(t, func(o *Options) {
		o.FoundZandronum = func(netip.AddrPort) {}
		o.Networks = func() ([]Network, error) {
			return []Network{{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParseAddr("10.255.255.255")}}, nil
		}
	})
	f.round(netip.Addr{})
	key := f.zandronum.key
	full := 0
	for i := range maxWaiting + 10 {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 10666)
		if _, dropped := f.take(netserve.Packet{Data: denial(zan.KindTooSoon, key), From: from}, time.Now()); dropped == dropFull {
			full++
		}
	}
	if full != 10 || len(f.zandronum.waiting) != maxWaiting {
		t.Errorf("%d wait and %d were dropped, want %d and 10", len(f.zandronum.waiting), full, maxWaiting)
	}
}
