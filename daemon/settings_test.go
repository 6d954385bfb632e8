package daemon

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/valvemaster"
)

// testService is a service with the values that a test sets.
type testService struct {
	Listen   string `key:"listen" listen:"udp 1000"`
	MaxConns int    `key:"max_conns" range:"0 to 10000"`
}

// firstService lists servers of Valve's master, later than secondService.
type firstService testService

func (*firstService) Describe() service.Descriptor {
	return service.Descriptor{
		Stage: service.StageViews, Origins: []*master.Origin{valvemaster.Origin}, AskEvery: time.Minute, Expire: time.Minute,
		Further: []string{"192.0.2.1:1"},
	}
}

func (*firstService) Open(context.Context, *service.Env) (*service.Running, error) {
	return nil, errors.ErrUnsupported
}

type secondService testService

func (*secondService) Describe() service.Descriptor {
	return service.Descriptor{Expire: time.Hour, Private: true, Further: []string{"192.0.2.2:2"}, Sockets: map[string]int{"second.pairs": 300}}
}

func (*secondService) Open(context.Context, *service.Env) (*service.Running, error) {
	return nil, errors.ErrUnsupported
}

// testConfig has two services and one that is not part of the build.
type testConfig struct {
	First  firstService  `key:"first"`
	Second secondService `key:"second"`
	Later  struct {
		Listen string `key:"listen" listen:"tcp 3000"`
	} `key:"later"`
	shared Shared
}

func (c *testConfig) Shared() Shared { return c.shared }

func TestList(t *testing.T) {
	c := &testConfig{}
	c.First.Listen, c.Later.Listen = ":1", ":3"
	var names []string
	for _, e := range List(c) {
		names = append(names, e.Name)
		if e.On != (e.Name == "first") || e.Key != e.Name+".listen" {
			t.Errorf("%s: on %v, key %q", e.Name, e.On, e.Key)
		}
	}
	if want := []string{"second", "first"}; !slices.Equal(names, want) {
		t.Errorf("List() = %q, want %q: the earlier stage first", names, want)
	}
	if got := Missing(c); !slices.Equal(got, []string{"later.listen"}) {
		t.Errorf("Missing() = %q, want later.listen", got)
	}
}

func TestSettings(t *testing.T) {
	c := &testConfig{shared: Shared{Trusted: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}}
	off := newSettings(c)
	c.First.Listen = ":1"
	on := newSettings(c)
	if got := on.askEvery(); len(off.askEvery()) > 0 || len(got) != 1 || got[valvemaster.Origin] != time.Minute {
		t.Error("askEvery() does not follow the service of the origin")
	}
	if got := on.noting(valvemaster.Origin) + " " + on.noting(master.Found); got != "first lan" {
		t.Errorf("noting() = %q, want the service, or the origin where there is none", got)
	}
	further := func(e *Entry) []string { return e.Further }
	if got := each(on, further); !slices.Equal(got, []string{"192.0.2.1:1"}) {
		t.Errorf("each() = %q, want what the service that is on says", got)
	}
	if off.limits().Expire != time.Hour || !off.private() {
		t.Error("limits() and private() do not ask the services that are off")
	}
	if !on.trusted(netip.MustParseAddr("192.0.2.7")) || on.trusted(netip.MustParseAddr("198.51.100.1")) {
		t.Error("trusted() is not the networks of the configuration")
	}
}

func TestHosts(t *testing.T) {
	udp := func(addresses ...string) (list []configs.Listener) {
		for _, a := range addresses {
			list = append(list, configs.Listener{Service: a, Network: "udp", Address: a})
		}
		return list
	}
	for name, tc := range map[string]struct {
		list []configs.Listener
		want string
	}{
		"none":      {nil, ""},
		"the same":  {udp("127.0.0.1:1", "127.0.0.1:2"), "127.0.0.1"},
		"different": {udp("127.0.0.1:1", ":2"), ""},
		"TCP apart": {append(udp("127.0.0.1:1"), configs.Listener{Network: "tcp", Address: ":3"}), "127.0.0.1"},
	} {
		if got := udpHost(tc.list); got != tc.want {
			t.Errorf("%s: udpHost() = %q, want %q", name, got, tc.want)
		}
	}
	named := service.Descriptor{Nouns: []noun.Noun{noun.GameSpy}}
	s := &settings{entries: []Entry{{Name: "off", Descriptor: named}, {Name: "127.0.0.1:1", On: true, Descriptor: named}}}
	one := udp("127.0.0.1:1")
	if got := s.hostOf(one, noun.GameSpy) + s.hostOf(nil, noun.GameSpy) + s.hostOf(one, noun.Chat); got != "127.0.0.1" {
		t.Errorf("hostOf() = %q, want the host, and nothing for a service that is off", got)
	}
}
