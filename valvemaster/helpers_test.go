package valvemaster

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/uplink"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

var masterAddr = netip.MustParseAddr("198.51.100.1")

// sent is a packet that the master sent.
type sent struct {
	data []byte
	to   netip.AddrPort
}

// wire records the packets of the master.
type wire struct{ nettest.Recorder[sent] }

func (w *wire) WritePacket(data []byte, _ netip.Addr, to netip.AddrPort) error {
	w.Keep(sent{slices.Clone(data), to})
	return nil
}

// asker asks servers as a prober does, but knows their answers.
type asker struct {
	registry *master.Registry
	answers  map[netip.AddrPort]map[string]string // of servers that answer
	refuse   map[netip.AddrPort]bool              // addresses that are never asked

	mu      sync.Mutex
	watched map[netip.AddrPort]int
}

func newAsker(r *master.Registry) *asker {
	return &asker{
		registry: r, answers: make(map[netip.AddrPort]map[string]string),
		refuse: make(map[netip.AddrPort]bool), watched: make(map[netip.AddrPort]int),
	}
}

func (k *asker) Watch(a netip.AddrPort) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.refuse[a] {
		return false
	}
	k.watched[a]++
	if rules, ok := k.answers[a]; ok {
		_ = put(k.registry, a, Origin, rules) // a full list is for the prober to tell
	}
	return true
}

func (k *asker) Answers(a netip.AddrPort) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, ok := k.answers[a]
	return ok && k.watched[a] > 0
}

func (k *asker) Unwatch(a netip.AddrPort) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.watched, a)
	k.registry.Remove(master.Key{Source: a})
}

// put lists a server with rules.
func put(r *master.Registry, a netip.AddrPort, origin *master.Origin, rules map[string]string) error {
	srv := master.Server{
		Key: master.Key{Source: a}, Public: a, Game: "tf", Origin: origin, Seen: time.Now(), Lifetime: time.Hour,
		Country: rules["country"], Region: rules["region"],
	}
	var names []string
	var report master.Report
	for name, value := range rules {
		if name != "country" && name != "region" {
			names = append(names, name)
			report.Rule([]byte(value))
		}
	}
	report.SetRules(r.Names(names))
	if err := report.Into(&srv); err != nil {
		return err
	}
	return r.Put(srv)
}

// valve is a Server with all that it works with, and no socket.
type valve struct {
	*Server
	t     testing.TB
	asker *asker
	book  *verdicts.Log
	w     *wire
}

func newValve(t testing.TB, change func(*Options)) *valve {
	t.Helper()
	registry := master.NewRegistry(master.Limits{Servers: 1 << 20, PerAddr: 1 << 16, PerNet: 1 << 16})
	k := newAsker(registry)
	opt := Options{Listing: part.Listing{Registry: registry}, Targets: k, Peers: part.Peers{Verdicts: verdicts.NewLog(zerolog.Nop(), 0)}}
	configs.Defaults(&opt.Config)
	opt.UnprovedRate = 0 // no bound
	if change != nil {
		change(&opt)
		k.registry = opt.Registry
	}
	return &valve{Server: New(opt), t: t, asker: k, book: opt.Verdicts, w: &wire{}}
}

// send hands a packet to the master and returns why it was dropped.
func (v *valve) send(from netip.AddrPort, data []byte) uplink.Drop {
	return v.handle(v.w, netserve.Packet{Data: data, From: from, To: masterAddr})
}

// one hands a packet to the master and returns the one answer.
func (v *valve) one(from netip.AddrPort, data []byte) []byte {
	v.t.Helper()
	v.w.Take()
	if dropped := v.send(from, data); dropped != uplink.NotDropped {
		v.t.Fatalf("packet %q from %v: dropped: %s", data, from, dropped)
	}
	got := v.w.Take()
	if len(got) != 1 || got[0].to != from {
		v.t.Fatalf("packet %q from %v: answers %v, want one to it", data, from, got)
	}
	return got[0].data
}

// challengeFor has a server ask for a challenge.
func (v *valve) challengeFor(a netip.AddrPort) uint32 {
	v.t.Helper()
	c, err := ParseChallenge(v.one(a, ChallengeRequest{}.AppendTo(nil)))
	if err != nil {
		v.t.Fatal(err)
	}
	return c.Challenge
}

func beat(t testing.TB, h Heartbeat) []byte {
	t.Helper()
	b, err := h.AppendTo(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// register has a server that answers with rules send a heartbeat.
func (v *valve) register(addr string, rules map[string]string) netip.AddrPort {
	v.t.Helper()
	a := netip.MustParseAddrPort(addr)
	if rules != nil {
		v.asker.answers[a] = rules
	}
	if dropped := v.send(a, beat(v.t, Heartbeat{Challenge: v.challengeFor(a), Region: AnyRegion})); dropped != uplink.NotDropped {
		v.t.Fatalf("heartbeat of %v: dropped: %s", a, dropped)
	}
	return a
}

// verdict returns the last verdict on an address.
func (v *valve) verdict(a netip.AddrPort) string {
	for _, e := range v.book.Recent(verdicts.DefaultCapacity) {
		if e.Addr == a {
			return e.Verdict.String()
		}
	}
	return "none"
}

// ask requests one page.
func (v *valve) ask(from netip.AddrPort, r ListRequest) List {
	v.t.Helper()
	l, err := ParseList(v.one(from, r.AppendTo(nil)))
	if err != nil {
		v.t.Fatalf("page for %v: %v", from, err)
	}
	return l
}

// walk asks for the whole list as a browser does and returns its pages.
func (v *valve) walk(from string, region byte, filter string) (all []string, pages []List) {
	v.t.Helper()
	a := netip.MustParseAddrPort(from)
	r := ListRequest{Region: region, Seed: Start, Filter: []byte(filter)}
	for range 100_000 {
		l := v.ask(a, r)
		pages = append(pages, l)
		for _, s := range l.Servers {
			all = append(all, s.String())
		}
		if l.Last {
			return all, pages
		}
		if len(l.Servers) == 0 {
			v.t.Fatal("a page without a server and without an end")
		}
		r.Seed = l.Servers[len(l.Servers)-1]
	}
	v.t.Fatal("the list has no end")
	return nil, nil
}

// populate lists n servers on addresses of their own and returns them in the
// order of the list.
func populate(t testing.TB, r *master.Registry, n int) []string {
	t.Helper()
	var out []string
	for i := range n {
		a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{100, byte(64 + i>>16), byte(i >> 8), byte(i)}), 27015)
		if err := put(r, a, Origin, map[string]string{
			"hostname": fmt.Sprintf("Server %d", i), "mapname": "de_dust2", "gamename": "cstrike", "appid": "240",
			"numplayers": "3", "maxplayers": "16", "servertype": "dedicated", "os": "linux", "secure": "1", "keywords": "a,b",
		}); err != nil {
			t.Fatal(err)
		}
		out = append(out, a.String())
	}
	return out
}
