package master

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/respawnd/respawnd/internal/racetest"
)

// crowdSource returns the address of a server, of which each address has 256.
func crowdSource(addr, port int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(addr >> 8), byte(addr), 1}), uint16(1000+port))
}

// gone returns the servers that were replaced since the last call.
func gone(r *Registry) (all []*Server) {
	for {
		select {
		case s := <-r.Replaced():
			all = append(all, s)
		default:
			return all
		}
	}
}

// 782 addresses fill the list of the defaults; a server of an address that has
// none gets in, and one more of theirs does not.
func TestNewcomerGetsIntoAFullList(t *testing.T) {
	const full, addresses = 20_000, 80
	r := NewRegistry(Limits{Servers: full})
	for i := range full {
		mustPut(t, r, at("gmtest", crowdSource(i%addresses, i/addresses), 1))
	}
	if got := gone(r); len(got) > 0 || r.Len() != full {
		t.Fatalf("%d servers were replaced and %d are listed before the list was full", len(got), r.Len())
	}
	if err := r.Put(at("gmtest", crowdSource(0, 300), 1)); !errors.Is(err, ErrFull) {
		t.Errorf("one more of those who filled the list: got %v, want ErrFull", err)
	}
	newcomer := at("gmtest", addrPort("192.0.2.1:6500"), 1)
	mustPut(t, r, newcomer)
	replaced := gone(r)
	if len(replaced) != 1 || replaced[0].Key.Source.Port() != 1249 || r.ReplacedTotal() != 1 {
		t.Errorf("replaced are %v, want the newest server of a full address", replaced)
	}
	if _, listed := r.Get(newcomer.Key); !listed || r.Len() != full {
		t.Errorf("the newcomer is listed: %v, of %d servers", listed, r.Len())
	}
}

func TestNewcomersReplace(t *testing.T) {
	exempt := netip.MustParsePrefix("172.16.0.0/12")
	lim := Limits{Servers: 10, PerAddr: 6, PerNet: 12, Exempt: exempt.Contains}
	type servers []string // "address:port", in the order in which they come
	nine := servers{"10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3", "10.0.0.1:4", "10.0.1.1:1", "10.0.2.1:1", "10.0.3.1:1", "10.0.4.1:1", "10.0.5.1:1"}
	tests := map[string]struct {
		listed   servers
		origin   *Origin // of those on 10.0.0.1
		restored bool    // of those on 10.0.0.1
		newcomer string
		replaced string // empty: none
		err      error
	}{
		"below 90 %":                         {listed: nine[:8], newcomer: "192.0.2.1:1"},
		"at 90 %":                            {listed: nine, newcomer: "192.0.2.1:1", replaced: "10.0.0.1:4"},
		"newcomer of the largest":            {listed: nine, newcomer: "10.0.0.1:5"},
		"newcomer of the largest, full":      {listed: append(servers{"10.0.6.1:1"}, append(nine[4:9:9], nine[:4]...)...), newcomer: "10.0.0.1:5", err: ErrFull},
		"newcomer of the largest network":    {listed: nine, newcomer: "10.0.0.2:1", replaced: "10.0.0.1:4"},
		"network of many addresses":          {listed: servers{"10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1", "10.0.0.4:1", "10.0.0.5:1", "10.0.0.6:1", "10.0.1.1:1", "10.0.2.1:1", "10.0.3.1:1"}, newcomer: "192.0.2.1:1", replaced: "10.0.0.6:1"},
		"all alike":                          {listed: append(nine[3:9:9], "10.0.6.1:1", "10.0.7.1:1", "10.0.8.1:1", "10.0.9.1:1"), newcomer: "192.0.2.1:1", err: ErrFull},
		"restored servers stay":              {listed: nine, restored: true, newcomer: "192.0.2.1:1"},
		"servers named by an operator stay":  {listed: nine, origin: Static, newcomer: "192.0.2.1:1"},
		"servers of the network here stay":   {listed: nine, origin: Found, newcomer: "192.0.2.1:1"},
		"exempt servers stay":                {listed: servers{"172.16.0.1:1", "172.16.0.1:2", "172.16.0.1:3", "10.0.1.1:1", "10.0.2.1:1", "10.0.3.1:1", "10.0.4.1:1", "10.0.5.1:1", "10.0.6.1:1"}, newcomer: "192.0.2.1:1"},
		"exempt newcomers replace any other": {listed: append(servers{"172.16.0.1:1"}, nine[1:]...), newcomer: "172.16.0.1:2", replaced: "10.0.0.1:4"},
		"newcomer at its own limit": {
			listed:   servers{"10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3", "10.0.0.1:4", "10.0.0.1:5", "10.0.0.1:6", "10.0.1.1:1", "10.0.2.1:1", "10.0.3.1:1"},
			newcomer: "10.0.0.1:7", err: ErrTooManyHere,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := NewRegistry(lim)
			largest := netip.MustParseAddr("10.0.0.1")
			for _, a := range tt.listed {
				s := at("gmtest", addrPort(a), 1)
				if s.Key.Source.Addr() == largest {
					s.Origin, s.Restored = tt.origin, tt.restored
				}
				mustPut(t, r, s)
			}
			if err := r.Put(at("gmtest", addrPort(tt.newcomer), 1)); !errors.Is(err, tt.err) {
				t.Errorf("Put(%s): got %v, want %v", tt.newcomer, err, tt.err)
			}
			got := ""
			for _, s := range gone(r) {
				got += s.Key.Source.String()
			}
			if got != tt.replaced {
				t.Errorf("replaced: got %q, want %q", got, tt.replaced)
			}
		})
	}
}

// A restored server may be replaced once it has reported, and then as the
// newest; a change of the exemption of an address takes effect.
func TestReplaceableServersChange(t *testing.T) {
	var exempt netip.Prefix
	lim := Limits{Servers: 4, PerAddr: 3, PerNet: 8, Exempt: func(a netip.Addr) bool { return exempt.Contains(a) }}
	r := NewRegistry(lim)
	restored := at("gmtest", addrPort("10.0.0.1:1"), 1)
	restored.Restored = true
	mustPut(t, r, restored)
	mustPut(t, r, at("gmtest", addrPort("10.0.0.1:2"), 1))
	restored.Restored = false
	mustPut(t, r, restored)
	mustPut(t, r, at("gmtest", addrPort("10.0.1.1:1"), 1))
	want := func(newcomer, replaced string) {
		t.Helper()
		mustPut(t, r, at("gmtest", addrPort(newcomer), 1))
		got := ""
		for _, s := range gone(r) {
			got += s.Key.Source.String()
		}
		if got != replaced {
			t.Errorf("%s replaced %q, want %q", newcomer, got, replaced)
		}
	}
	want("10.0.2.1:1", "10.0.0.1:1")
	mustPut(t, r, restored)
	exempt = netip.MustParsePrefix("10.0.0.1/32") // noticed by the list when it checks
	if err := r.Put(at("gmtest", addrPort("10.0.3.1:1"), 1)); !errors.Is(err, ErrFull) {
		t.Errorf("with all others exempt: got %v, want ErrFull", err)
	}
	exempt = netip.Prefix{}
	r.SetLimits(lim)
	want("10.0.3.1:1", "10.0.0.1:1")
}

// Without a reader of Replaced, the list still counts.
func TestReplacedWithoutReader(t *testing.T) {
	racetest.Skip(t, "fills a list")
	r := NewRegistry(Limits{Servers: 20_000, PerAddr: 10_000, PerNet: 20_000})
	for i := range 9000 {
		mustPut(t, r, at("gmtest", netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), uint16(1+i)), 1))
		mustPut(t, r, at("gmtest", netip.AddrPortFrom(netip.MustParseAddr("10.1.0.1"), uint16(1+i)), 1))
	}
	for i := range maxReplaced + 10 {
		mustPut(t, r, at("gmtest", crowdSource(1000+i, 0), 1))
	}
	if got := r.ReplacedTotal(); got != maxReplaced+10 {
		t.Errorf("ReplacedTotal: got %d, want %d", got, maxReplaced+10)
	}
	if got := len(gone(r)); got != maxReplaced {
		t.Errorf("%d servers wait for a reader, want %d", got, maxReplaced)
	}
}

// BenchmarkNewcomerToAFullList lists and removes servers of addresses that have
// none while 782 addresses fill the list.
func BenchmarkNewcomerToAFullList(b *testing.B) {
	r := NewRegistry(Limits{})
	for i := range 200_000 {
		if err := r.Put(at("gmtest", crowdSource(i%782, i/782), 1)); err != nil {
			b.Fatal(err)
		}
	}
	i := 0
	for b.Loop() {
		i++
		s := at("gmtest", netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, byte(i >> 16), byte(i >> 8), byte(i)}), 1), 1)
		if err := r.Put(s); err != nil {
			b.Fatal(err)
		}
		if i%2 == 0 {
			r.Remove(s.Key)
		}
	}
}

// Servers that are known from another master leave for those that report here: at the
// same address, and where an address, a network or the list has no room.
func TestFederatedGiveWay(t *testing.T) {
	lim := Limits{Servers: 20, PerAddr: 3, PerNet: 4}
	tests := map[string]struct {
		told, reported []string // in this order
		next           string
		federated      bool // the next one is
		err            error
		left           int // federated ones that remain
	}{
		"same address":                     {told: []string{"10.0.0.1:1"}, next: "10.0.0.1:1"},
		"told of one that reports":         {reported: []string{"10.0.0.1:1"}, next: "10.0.0.1:1", federated: true, err: ErrTaken},
		"full address":                     {told: []string{"10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3"}, next: "10.0.0.1:4", left: 2},
		"address full of reported ones":    {told: []string{"10.0.0.2:1"}, reported: []string{"10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3"}, next: "10.0.0.1:4", err: ErrTooManyHere, left: 1},
		"full network":                     {told: []string{"10.0.0.2:1", "10.0.0.2:2", "10.0.0.3:1", "10.0.0.4:1"}, next: "10.0.0.1:4", left: 3},
		"one more told of in full network": {reported: []string{"10.0.0.2:1", "10.0.0.2:2", "10.0.0.3:1", "10.0.0.4:1"}, next: "10.0.0.1:4", federated: true, err: ErrTooManyHere},
	}
	for name, tc := range tests {
		r := NewRegistry(lim)
		put := func(a string, o *Origin) error {
			s := at("gmtest", addrPort(a), uint32(o.Number))
			s.Origin = o
			return r.Put(s)
		}
		for _, a := range tc.told {
			if err := put(a, Federated); err != nil {
				t.Fatal(err)
			}
		}
		for _, a := range tc.reported {
			if err := put(a, fromQR2); err != nil {
				t.Fatal(err)
			}
		}
		origin := fromQR2
		if tc.federated {
			origin = Federated
		}
		if err := put(tc.next, origin); !errors.Is(err, tc.err) {
			t.Errorf("%s: got %v, want %v", name, err, tc.err)
		}
		if s, ok := r.At(addrPort(tc.next)); tc.err == nil && (!ok || s.Origin != origin) {
			t.Errorf("%s: listed is %v", name, s)
		}
		left := 0
		for _, s := range r.All() {
			if s.Origin == Federated {
				left++
			}
		}
		if left != tc.left || len(r.federated) != left {
			t.Errorf("%s: %d federated servers are left, %d in the index, want %d", name, left, len(r.federated), tc.left)
		}
	}
}

// A full list makes room for reporting servers, and none for federated ones.
func TestFederatedInAFullList(t *testing.T) {
	r := NewRegistry(Limits{Servers: 10})
	for i := range 10 {
		s := at("gmtest", crowdSource(i, 0), 1)
		s.Origin = Federated
		mustPut(t, r, s)
	}
	for i := range 10 {
		mustPut(t, r, at("gmtest", crowdSource(100+i, 0), 1))
	}
	told := at("gmtest", crowdSource(300, 0), 1)
	told.Origin = Federated
	if err := r.Put(told); !errors.Is(err, ErrFull) {
		t.Errorf("a told server in a full list: %v, want ErrFull", err)
	}
	if len(r.federated) != 0 || r.Len() != 10 {
		t.Errorf("%d of %d servers are federated, want none", len(r.federated), r.Len())
	}
}

// A server with another source than public address takes that of a federated one.
func TestFederatedPublicAddress(t *testing.T) {
	r := NewRegistry(Limits{})
	told := at("gmtest", addrPort("10.0.0.1:10666"), 1)
	told.Origin = Federated
	mustPut(t, r, told)
	own := at("gmtest", addrPort("10.0.0.1:5555"), 2)
	own.Public = told.Public
	mustPut(t, r, own)
	if s, ok := r.Find(told.Public); !ok || s.Key != own.Key || r.Len() != 1 {
		t.Errorf("listed: %+v, %d servers", s, r.Len())
	}
}
