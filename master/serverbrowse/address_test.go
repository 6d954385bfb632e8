package serverbrowse

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/master"
)

// newAddresses returns the table of a machine on 10.0.0.5/24 whose servers are
// advertised as 203.0.113.5.
func newAddresses(reg *master.Registry) *advertise.Table {
	table := advertise.New(reg)
	table.SetRules([]advertise.Rule{{As: netip.MustParseAddr("203.0.113.5")}})
	table.SetNetworks([]hostnet.Address{{Prefix: netip.MustParsePrefix("10.0.0.5/24")}})
	return table
}

// askFrom requests a list as a machine with another address.
func askFrom(address string, change func(*ListRequest)) ListRequest {
	return request(func(r *ListRequest) {
		if address != "" {
			r.Options, r.Source = AlternateIP, netip.MustParseAddr(address)
		}
		if change != nil {
			change(r)
		}
	})
}

func startWithAddresses(t *testing.T, messenger master.Messenger) *fixture {
	return start(t, func(o *Options) {
		o.Registry = master.NewRegistry(master.Limits{})
		o.Addresses, o.Messenger = newAddresses(o.Registry), messenger
	})
}

func TestAddressesByAsker(t *testing.T) {
	f := startWithAddresses(t, nil)
	put(t, f.reg, "gmtest", "127.0.0.1:7001", []string{"hostname", "Here"}, nil)
	put(t, f.reg, "gmtest", "10.0.0.20:7002", []string{"hostname", "Near"}, nil)
	put(t, f.reg, "gmtest", "192.0.2.1:7003", []string{"hostname", "Far"}, nil)
	for asker, want := range map[string][]string{
		"":            {"10.0.0.20:7002", "127.0.0.1:7001", "192.0.2.1:7003"},
		"127.0.0.9":   {"10.0.0.20:7002", "127.0.0.1:7001", "192.0.2.1:7003"},
		"10.0.0.9":    {"10.0.0.20:7002", "10.0.0.5:7001", "192.0.2.1:7003"},
		"203.0.113.9": {"192.0.2.1:7003", "203.0.113.5:7001", "203.0.113.5:7002"},
	} {
		for range 2 { // the second time from the cache
			b := f.connect(t)
			var got []string
			for _, e := range b.ask(askFrom(asker, nil)).Entries {
				got = append(got, e.Public.String())
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("list for %q (-want +got):\n%s", asker, diff)
			}
			for _, address := range got {
				b.write(AppendInfoRequest(nil, netip.MustParseAddrPort(address)))
				if p := b.next(); p.Entry.Public.String() != address || len(p.Entry.Rules) == 0 {
					t.Errorf("%q asks for details of %s: %+v, want those of a server there", asker, address, p.Entry)
				}
			}
		}
	}
}

func TestListsWithoutPrivateServersAreShared(t *testing.T) {
	f := startWithAddresses(t, nil)
	put(t, f.reg, "gmtest", "192.0.2.1:7003", nil, func(s *master.Server) { s.Local = []netip.AddrPort{netip.MustParseAddrPort("192.168.0.2:1")} })
	r := request(nil)
	at, err := f.srv.asked(&r, "gmtest", 6500)
	if err != nil {
		t.Fatal(err)
	}
	var seen []*view
	for _, asker := range []string{"127.0.0.1", "10.0.0.9", "203.0.113.9", "192.168.7.7"} {
		at.key.asker = f.srv.opt.Addresses.Asker(netip.MustParseAddr(asker))
		v, err := f.srv.view(at)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, v)
	}
	if got := slices.Compact(seen); len(got) != 1 {
		t.Errorf("%d lists were made, want one for everybody", len(got))
	}
}

func TestPrivateAddress(t *testing.T) {
	f := startWithAddresses(t, nil)
	put(t, f.reg, "gmtest", "192.0.2.1:7003", []string{"hostname", "Far"}, func(s *master.Server) {
		for _, a := range []string{"172.17.0.1:6500", "192.168.7.2:6500", "127.0.0.1:6500"} {
			s.Local = append(s.Local, netip.MustParseAddrPort(a))
		}
	})
	for asker, want := range map[string]string{
		"":            "172.17.0.1:6500",
		"203.0.113.9": "172.17.0.1:6500",
		"192.168.7.9": "192.168.7.2:6500",
	} {
		b := f.connect(t)
		reply := b.ask(askFrom(asker, nil))
		if len(reply.Entries) != 1 || reply.Entries[0].Local.String() != want {
			t.Errorf("list for %q: %+v, want the private address %s", asker, reply.Entries, want)
		}
		b.write(AppendInfoRequest(nil, netip.MustParseAddrPort("192.0.2.1:7003")))
		if p := b.next(); p.Entry.Local.String() != want {
			t.Errorf("details for %q: private address %v, want %s", asker, p.Entry.Local, want)
		}
	}
}

func TestUpdatesAndMessagesUseTheGivenAddress(t *testing.T) {
	relay := &messenger{}
	f := startWithAddresses(t, relay)
	put(t, f.reg, "gmtest", "127.0.0.1:7001", []string{"hostname", "Here"}, nil)
	b := f.connect(t)
	reply := b.subscribe(func(r *ListRequest) { r.Options |= AlternateIP; r.Source = netip.MustParseAddr("203.0.113.9") })
	if len(reply.Entries) != 1 || reply.Entries[0].Public.String() != "203.0.113.5:7001" {
		t.Fatalf("list %+v, want the server at 203.0.113.5:7001", reply.Entries)
	}
	put(t, f.reg, "gmtest", "127.0.0.1:7001", []string{"hostname", "Changed"}, nil)
	if p := b.next(); p.Kind != PushServer || p.Entry.Public.String() != "203.0.113.5:7001" {
		t.Errorf("pushed %+v, want a change of 203.0.113.5:7001", p)
	}
	message, err := AppendMessage(nil, netip.MustParseAddrPort("203.0.113.5:7001"), []byte("join"))
	if err != nil {
		t.Fatal(err)
	}
	b.write(message)
	key := master.Key{Source: netip.MustParseAddrPort("127.0.0.1:7001"), Instance: 1}
	b.write(AppendInfoRequest(nil, netip.MustParseAddrPort("203.0.113.5:7001"))) // its answer comes after the message
	if p := b.next(); p.Kind != PushServer {
		t.Errorf("details: %+v", p)
	}
	relay.mu.Lock()
	if want := []string{"127.0.0.1:7001 join"}; !slices.Equal(relay.got, want) {
		t.Errorf("messages %q, want %q", relay.got, want)
	}
	relay.mu.Unlock()
	f.reg.Remove(key)
	if p := b.next(); p.Kind != PushDelete || p.Address.String() != "203.0.113.5:7001" {
		t.Errorf("pushed %+v, want that 203.0.113.5:7001 is gone", p)
	}
}
