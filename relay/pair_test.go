package relay

import (
	"net/netip"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

const (
	alice    = "203.0.113.1:1000"
	alice2   = "203.0.113.1:1001"
	aliceToo = "203.0.113.2:1000" // of her carrier's second address
	bob      = "203.0.113.9:2000"
	mallory  = "198.51.100.66:666"
)

// pairOf returns a pair of Alice and Bob without ports.
func pairOf(t testing.TB, o Options) *pair {
	t.Helper()
	o.Registerer = nil
	p := &pair{server: newServer(t, o), opened: time.Second}
	p.legs[0].seen = []netip.Addr{netip.MustParseAddr("203.0.113.1"), netip.MustParseAddr("203.0.113.2")}
	p.legs[1].seen = []netip.Addr{netip.MustParseAddr("203.0.113.9")}
	p.legs[0].source, p.legs[1].source = &source{}, &source{}
	return p
}

// come has a packet come to a leg at a time.
func (p *pair) come(leg int, from string, size int, now time.Duration) (to netip.AddrPort, dropped string) {
	dropped = direction{p, leg}.route(netserve.Packet{From: netip.MustParseAddrPort(from), Data: make([]byte, size)}, &to, now)
	return to, dropped
}

func TestRoute(t *testing.T) {
	o, _ := defaults(func(o *Options) {
		o.Own = func(a netip.AddrPort) bool { return a.Port() == 27901 }
	})
	p := pairOf(t, o)
	for i, step := range []struct {
		leg     int
		from    string
		to      string
		dropped string
	}{
		{0, mallory, "", dropStranger},
		{1, alice, "", dropStranger}, // not to Bob's port
		{0, "203.0.113.1:27901", "", dropLoop},
		{0, alice, "", dropNoPartner},
		{0, alice2, "", dropOtherPort},
		{0, aliceToo, "", dropOtherPort},
		{0, mallory, "", dropStranger},
		{1, bob, alice, ""},
		{0, alice, bob, ""},
		{0, alice2, "", dropOtherPort},
		{1, alice, "", dropStranger},
		{1, bob, alice, ""},
	} {
		to, dropped := p.come(step.leg, step.from, 10, 2*time.Second)
		if dropped != step.dropped || to.IsValid() != (step.to != "") || step.to != "" && to.String() != step.to {
			t.Errorf("step %d: to %v, dropped %q; want to %q, dropped %q", i, to, dropped, step.to, step.dropped)
		}
	}
	if p.legs[0].packets.Load() != 1 || p.legs[1].bytes.Load() != 20 {
		t.Errorf("counted %d packets of Alice, %d bytes of Bob; want 1, 20", p.legs[0].packets.Load(), p.legs[1].bytes.Load())
	}
	p.over.Store(true)
	if _, dropped := p.come(0, alice, 10, 2*time.Second); dropped != dropEnded {
		t.Errorf("dropped as %q after the end", dropped)
	}
}

func TestCarrierAddress(t *testing.T) {
	o, _ := defaults(nil)
	p := pairOf(t, o)
	p.come(1, bob, 1, time.Second)
	if to, dropped := p.come(0, aliceToo, 1, time.Second); dropped != "" || to.String() != bob {
		t.Errorf("from the second address: to %v, dropped %q", to, dropped)
	}
}

// Two pairs cannot feed each other: a port of ours is no player.
func TestPortsOfThisRelayAreNoPlayers(t *testing.T) {
	o, _ := defaults(nil)
	for name, tc := range map[string]struct {
		own  string
		want string
	}{
		"another port":    {"203.0.113.9:2001", dropNoPartner},
		"another address": {"203.0.113.8:2000", dropNoPartner},
		"our port":        {bob, dropLoop},
	} {
		p := pairOf(t, o)
		p.server.own[netip.MustParseAddrPort(tc.own)] = 1
		if _, dropped := p.come(1, bob, 1, time.Second); dropped != tc.want {
			t.Errorf("%s: dropped as %q, want %q", name, dropped, tc.want)
		}
	}
}

func TestRates(t *testing.T) {
	const second, size = time.Second, 1000
	for name, tc := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"pair":    {func(o *Options) { o.PairRate = 10 * size }, dropPairRate},
		"address": {func(o *Options) { o.AddrRate = 10 * size }, dropAddrRate},
		"all":     {func(o *Options) { o.TotalRate = 10 * size }, dropTotalRate},
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := defaults(tc.change)
			p := pairOf(t, o)
			p.come(0, alice, 0, second)
			p.come(1, bob, 0, second)
			for i := range 10 {
				if _, dropped := p.come(0, alice, size, second); dropped != "" {
					t.Fatalf("packet %d dropped as %q", i, dropped)
				}
			}
			if _, dropped := p.come(0, alice, 1, second); dropped != tc.want {
				t.Errorf("dropped as %q, want %q", dropped, tc.want)
			}
			_, dropped := p.come(1, bob, 1, second)
			if wantBob := map[bool]string{true: "", false: tc.want}[name == "address"]; dropped != wantBob {
				t.Errorf("Bob's dropped as %q, want %q", dropped, wantBob)
			}
			if _, dropped := p.come(0, alice, size, second+second/5); dropped != "" {
				t.Errorf("dropped as %q after a fifth of a second, want passed on", dropped)
			}
		})
	}
	o, _ := defaults(func(o *Options) { o.AddrRate = size })
	p := pairOf(t, o)
	p.legs[0].source.trusted = true
	p.come(1, bob, 0, second)
	for range 3 {
		if _, dropped := p.come(0, alice, size, second); dropped != "" {
			t.Errorf("packet of a trusted address dropped as %q", dropped)
		}
	}
}

func TestEnding(t *testing.T) {
	const opened = time.Second // see pairOf
	o, _ := defaults(nil)
	live := o.Config
	for name, tc := range map[string]struct {
		last, now time.Duration
		change    func(*Options, *Config)
		want      end
		over      bool
	}{
		"just opened":       {0, opened, nil, 0, false},
		"waits":             {0, opened + joinWait - 1, nil, 0, false},
		"unused":            {0, opened + joinWait, nil, endUnused, true},
		"plays":             {opened + joinWait, opened + joinWait + live.Idle - 1, nil, 0, false},
		"idle":              {opened + joinWait, opened + joinWait + live.Idle, nil, endIdle, true},
		"long":              {opened + live.MaxTime - 2, opened + live.MaxTime - 1, nil, 0, false},
		"too long":          {opened + live.MaxTime - 1, opened + live.MaxTime, nil, endTime, true},
		"banned":            {opened + 1, opened + 2, func(o *Options, _ *Config) { o.Banned = func(a netip.Addr) bool { return a.String() == "203.0.113.2" } }, endBanned, true},
		"off":               {opened + 1, opened + 2, func(_ *Options, c *Config) { c.Enabled = false }, endOff, true},
		"idle sooner, live": {opened + 1, opened + 1 + 10*time.Second, func(_ *Options, c *Config) { c.Idle = 10 * time.Second }, endIdle, true},
	} {
		o, live := o, live
		if tc.change != nil {
			tc.change(&o, &live)
		}
		p := pairOf(t, o)
		p.last.Store(int64(tc.last))
		if why, over := p.ending(tc.now, &live); over != tc.over || over && why != tc.want {
			t.Errorf("%s: ended %v by %v, want %v by %v", name, over, why, tc.over, tc.want)
		}
	}
}

// Whatever comes, a packet is passed on only to the other player, and only if it came
// from the first source that a player's address had; see Route.
func FuzzRoute(f *testing.F) {
	sources := []string{alice, alice2, aliceToo, bob, mallory, "203.0.113.9:2001", "127.0.0.1:27901"}
	f.Add([]byte{0, 0x13, 1, 0x10, 0x12})
	f.Fuzz(func(t *testing.T, steps []byte) {
		o, _ := defaults(func(o *Options) { o.Metrics = nil; o.PairRate = 4096 })
		p := pairOf(t, o)
		var first [2]string
		came, passed := 0, 0
		for _, b := range steps {
			leg, from, size := int(b>>4)%2, sources[int(b&15)%len(sources)], int(b)*4
			to, dropped := p.come(leg, from, size, time.Second)
			a := netip.MustParseAddrPort(from)
			for _, seen := range p.legs[leg].seen {
				if first[leg] == "" && seen == a.Addr() {
					first[leg] = from
				}
			}
			came += size
			if dropped != "" {
				continue
			}
			passed += size
			if from != first[leg] || to.String() != first[1-leg] {
				t.Fatalf("passed from %s to %v; the players are %q", from, to, first)
			}
		}
		if passed > min(came, 4096) {
			t.Fatalf("%d of %d bytes were passed on within a moment, want at most 4096", passed, came)
		}
	})
}
