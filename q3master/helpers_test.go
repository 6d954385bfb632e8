package q3master

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

const header = "\xff\xff\xff\xff"

var (
	masterAddr = netip.MustParseAddr("198.51.100.1")
	one        = netip.MustParseAddrPort("192.0.2.1:27960")
	two        = netip.MustParseAddrPort("192.0.2.2:27960")
	six        = netip.MustParseAddrPort("[2001:db8::1]:27960")
	asker      = netip.MustParseAddrPort("203.0.113.9:4000")
)

// sent is a packet that the master sent.
type sent struct {
	data string
	from netip.Addr
	to   netip.AddrPort
}

type wire struct{ nettest.Recorder[sent] }

func (w *wire) WritePacket(data []byte, from netip.Addr, to netip.AddrPort) error {
	w.Keep(sent{string(data), from, to})
	return nil
}

// catalogue has two games that share a tag, and one with a tag of its own.
func catalogue(t testing.TB) *games.Catalog {
	t.Helper()
	c, err := games.NewCatalog([]games.Game{
		{Name: "quake3", Secrets: []string{"paYVJ7"}, Facts: games.Facts{Quake3: []games.Quake3{{Name: "Quake3Arena", Tag: "QuakeArena-1", Protocols: []int{66, 67, 68}}}}},
		{Name: "jk3", Secrets: []string{"e4F2N7"}, Facts: games.Facts{Quake3: []games.Quake3{{Name: "Quake3Arena", Tag: "QuakeArena-1", Protocols: []int{25, 26}}}}},
		{Name: "rtcwet", Facts: games.Facts{Quake3: []games.Quake3{{
			Name: "et", Tag: "EnemyTerritory-1", Flatline: "ETFlatline-1", Protocols: []int{84}, Whole: true,
		}}}},
		{Name: "xonotic", Facts: games.Facts{Quake3: []games.Quake3{{Name: "Xonotic", Protocols: []int{3}}}}},
		{Name: "secret", Secrets: []string{"abcdef"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// q3 is a Server with all that it works with, and no socket.
type q3 struct {
	*Server
	t    testing.TB
	book *verdicts.Log
	w    *wire
}

func newQ3(t testing.TB, change func(*Options)) *q3 {
	t.Helper()
	opt := Options{
		Registration: part.Registration{
			Listing: part.Listing{Registry: master.NewRegistry(master.Limits{Servers: 1 << 20, PerAddr: 1 << 16, PerNet: 1 << 16}), Games: catalogue(t)},
			Peers:   part.Peers{Verdicts: verdicts.NewLog(zerolog.Nop(), 0)},
		},
	}
	configs.Defaults(&opt.Config)
	if change != nil {
		change(&opt)
	}
	return &q3{New(opt), t, opt.Verdicts, &wire{}}
}

// reload changes the live configuration.
func (q *q3) reload(change func(*Config)) {
	c := *q.live.Load()
	change(&c)
	q.Reload(&c)
}

// send hands a packet to the master and returns why it was dropped.
func (q *q3) send(from netip.AddrPort, text string) string {
	p := netserve.Packet{Data: []byte(header + text), From: from, To: masterAddr}
	dropped := q.Handle(q.w, p, time.Now())
	if dropped != uplink.NotDropped {
		q.Dropped(p, dropped)
	}
	return dropped.String()
}

// beat sends a heartbeat and returns the challenge of the getinfo.
func (q *q3) beat(from netip.AddrPort, tag string) string {
	q.t.Helper()
	q.w.Take()
	if dropped := q.send(from, "heartbeat "+tag+"\n"); dropped != "" {
		q.t.Fatalf("heartbeat dropped: %s", dropped)
	}
	return q.asked(from)
}

// asked returns the challenge of the one packet that was sent, a getinfo.
func (q *q3) asked(to netip.AddrPort) string {
	q.t.Helper()
	out := q.w.Take()
	if len(out) != 1 || out[0].to != to || out[0].from != masterAddr {
		q.t.Fatalf("sent %v, want one getinfo to %v", out, to)
	}
	c, ok := strings.CutPrefix(out[0].data, header+"getinfo ")
	if !ok || len(c) != uplink.ChallengeSize || strings.ContainsAny(c, "\\/;\"% ") {
		q.t.Fatalf("sent %q", out[0].data)
	}
	return c
}

// infoOf returns an infoResponse; of each key of more, key and value in turn, the last value
// counts, and empty ones are left out.
func infoOf(challenge string, more ...string) string {
	values := map[string]string{
		"challenge": challenge, "protocol": "68", "sv_maxclients": "8", "clients": "3", "hostname": "Inn", "mapname": "q3dm17", "gametype": "0",
	}
	for i := 0; i < len(more); i += 2 {
		values[more[i]] = more[i+1]
	}
	text := "infoResponse\n"
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if values[key] != "" {
			text += `\` + key + `\` + values[key]
		}
	}
	return text
}

// register sends a heartbeat and its info, and returns why the info was dropped.
func (q *q3) register(from netip.AddrPort, tag string, more ...string) string {
	q.t.Helper()
	return q.send(from, infoOf(q.beat(from, tag), more...))
}

// listed returns the record of a server.
func (q *q3) listed(a netip.AddrPort) *master.Server {
	srv, ok := q.opt.Registry.Get(q.KeyOf(a))
	if !ok {
		return nil
	}
	return srv
}

// verdict returns the last verdict on an address.
func (q *q3) verdict(a netip.AddrPort) string {
	for _, e := range slices.Backward(q.book.Of(a.Addr())) {
		if e.Addr == a {
			return e.Verdict.String()
		}
	}
	return "none"
}

// pass lets time pass and does Serve's work of each second. It needs synctest.
func (q *q3) pass(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(uplink.TickEvery)
		q.Expire(q.w, time.Now())
	}
}

// list requests a list and returns its servers in their order, or why it was dropped.
func (q *q3) list(from netip.AddrPort, request string) string {
	q.t.Helper()
	q.w.Take()
	if dropped := q.send(from, request); dropped != "" {
		return dropped
	}
	var servers []netip.AddrPort
	last := false
	for _, p := range q.w.Take() {
		kind, rest, _ := quake3.Cut([]byte(p.data))
		if want := strings.HasPrefix(request, "getserversExt"); p.to != from || last || (kind == quake3.KindServersExt) != want {
			q.t.Fatalf("sent %v", p)
		}
		var err error
		if servers, last, err = quake3.ParseList(servers, rest); err != nil {
			q.t.Fatal(err)
		}
	}
	if !last {
		q.t.Fatal("no end mark came")
	}
	text := fmt.Sprint(servers)
	return text[1 : len(text)-1]
}
