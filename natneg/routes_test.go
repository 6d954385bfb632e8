package natneg

import (
	"slices"
	"testing"
	"testing/synctest"
)

// routed is a player whose game socket leaves by another route than the one for the
// negotiation. Clients tell their local port in port types 2 and 3 alone.
var routed = []knock{
	{carrierB, PortGame, "192.168.1.5:0", 0, ""},
	{carrierA, PortNN1, "192.168.1.5:0", 0, ""},
	{carrierA, PortNN2, "192.168.1.5:6500", 0, ""},
	{carrierA, PortNN3, "192.168.1.5:6500", 0, ""},
}

// orders calls f with each order of the knocks.
func orders(knocks, before []knock, f func([]knock)) {
	if len(knocks) == 0 {
		f(before)
	}
	for i := range knocks {
		rest := slices.Delete(slices.Clone(knocks), i, i+1)
		orders(rest, append(slices.Clone(before), knocks[i]), f)
	}
}

func TestGameSocketOnAnotherRoute(t *testing.T) {
	orders(routed, nil, func(knocks []knock) {
		synctest.Test(t, func(t *testing.T) {
			st := newStation(t, DefaultOptions(), "")
			st.inits(77, 0, alice)
			for _, k := range knocks {
				st.knock(1, k)
			}
			st.pass(gameWait - wheelStep)
			st.wantTold(map[string][]string{})
			st.pass(2 * wheelStep)
			st.wantTold(map[string][]string{alice: {carrierB}, carrierA: {alice}})
			if got := st.deliver(0, carrierA, connectAckPacket(77, 1)); got != notDropped {
				t.Errorf("connect receipt: dropped as %q", got)
			}
		})
	})
}

// A stranger who knows the cookie and the local address gets no half of a client: not while
// the client sends it itself, and not where two claim it.
func TestHalfOfAClientIsNotTakenFromIt(t *testing.T) {
	stranger := routed[0]
	stranger.from = mallory
	tests := map[string]struct {
		knocks []knock
		want   map[string][]string
	}{
		"the client sends it too": {
			append(slices.Clone(routed[1:]), stranger, knock{carrierA, PortGame, "192.168.1.5:0", 0, ""}),
			map[string][]string{alice: {carrierA}, carrierA: {alice}},
		},
		"two addresses claim it":     {append(slices.Clone(routed), stranger), map[string][]string{}},
		"the stranger comes first":   {append([]knock{stranger}, routed...), map[string][]string{}},
		"another local address":      {append(slices.Clone(routed[1:]), knock{mallory, PortGame, "192.168.1.6:0", 0, ""}), map[string][]string{}},
		"no local address":           {[]knock{{carrierA, PortNN1, "0.0.0.0:0", 0, ""}, {mallory, PortGame, "0.0.0.0:0", 0, ""}}, map[string][]string{}},
		"it is the partner's socket": {append(slices.Clone(routed[1:]), knock{alice, PortGame, "192.168.1.5:0", 0, ""}), map[string][]string{}},
		"another local port":         {append(slices.Clone(routed[1:]), knock{mallory, PortGame, "192.168.1.5:6501", 0, ""}), map[string][]string{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := newStation(t, DefaultOptions(), "")
				st.inits(77, 0, alice)
				for _, k := range tc.knocks {
					st.knock(1, k)
				}
				st.pass(gameWait + completeWait)
				st.wantTold(tc.want)
			})
		})
	}
}

// What a partner was told stays, until the client begins again.
func TestIntroducedPlayerKeepsItsRoute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStation(t, DefaultOptions(), "")
		st.inits(77, 0, alice)
		for _, k := range routed {
			st.knock(1, k)
		}
		st.pass(gameWait + wheelStep)
		st.wantTold(map[string][]string{alice: {carrierB}, carrierA: {alice}})
		again := knock{carrierA, PortGame, "192.168.1.5:0", 0, ""}
		if got := st.knock(1, again); got != dropOtherAddress {
			t.Errorf("dropped as %q, want %q", got, dropOtherAddress)
		}
		st.pass(connectGaps[0])
		st.wantTold(map[string][]string{alice: {carrierB}, carrierA: {alice}})

		for index, from := range []string{alice, carrierA} {
			st.deliver(0, from, connectAckPacket(77, byte(index)))
		}
		st.pass(reorderWindow + wheelStep)
		st.post.Take()
		st.inits(77, 0, alice)
		for _, k := range append(slices.Clone(routed[1:]), again) {
			st.knock(1, k)
		}
		st.wantTold(map[string][]string{alice: {carrierA}, carrierA: {alice}})
	})
}

// The tests of its router show nothing of another route, where the game's packets come in.
func TestRouterOfAnotherRouteIsNotTested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStation(t, DefaultOptions(), "198.51.100.1:40000")
		for _, k := range routed {
			st.knock(1, k)
		}
		st.pass(gameWait + wheelStep)
		near := st.of(TypeTest, carrierA)
		if len(near) != 1 {
			t.Fatalf("%d tests, want 1", len(near))
		}
		near[0].data[typeAt] = byte(TypeTestAck)
		st.deliver(0, carrierA, near[0].data)
		st.pass(completeWait)
		if got := st.of(TypeTest, ""); len(got) != 0 {
			t.Errorf("sent %+v, want no further test", got)
		}
	})
}
