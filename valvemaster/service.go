package valvemaster

import (
	"context"
	"net/netip"

	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// Describe implements service.Service.
func (*Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Valve-style server lists", Docs: []string{"protocols/valvemaster"}, Shows: true, Origins: []*master.Origin{Origin},
		Dialogue: dialogue.Public(dialogue.Leading(6)),
		Plays:    []service.Play{{Service: "valvemaster", Network: "UDP", Order: service.PlayLists, Family: true, Means: "the server browser of the game stays empty", Run: play}},
		Steps:    []service.Step{{Name: "valvemaster", Needs: []string{"valvemaster"}, Order: service.OrderAlone, Run: findServer}},
		Takes:    []verdicts.Verdict{verdicts.SpeaksValve},
		Connect:  "Half-Life and other games with Valve’s protocol: enter `setmaster add {address}:{port}` in the console, of servers and of players’ games.",
	}
}

// Open opens the sockets of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	conn, err := netserve.ListenPackets(ctx, "udp4", c.Listen, c.ListenOptions())
	if err != nil {
		return nil, err
	}
	s := New(Options{
		Config: *c, Self: env.Counted(dropNames()...), Peers: env.Peers(storage.ScopeLists, env.Verdicts.Servers), Listing: env.Listing,
		Targets: targets{env.Asker},
	})
	r := service.OnSocket(conn, s)
	r.Files = func(put func(string, []byte)) {
		uplink.PutPackets(put, "valvemaster", "all", s.packets(env.Addresses.Outside()))
	}
	r.Callbacks = &service.Callbacks{Origin: Origin, Unlisted: func() []service.Unlisted { return s.unlisted(env.Verdicts.Servers) }}
	return r, nil
}

// targets queries servers over A2S. It implements Targets.
type targets struct{ asker service.Asker }

func (t targets) Watch(a netip.AddrPort) bool {
	return t.asker.Watch(a, "a2s", Origin) == nil
}

func (t targets) Answers(a netip.AddrPort) bool { return t.asker.Answers(a) }

func (t targets) Unwatch(a netip.AddrPort) { t.asker.Unwatch(a, Origin) }

// unlisted returns the servers that send heartbeats but do not answer A2S, or
// have no room in the list. Their game is unknown.
func (s *Server) unlisted(log *verdicts.Log) (list []service.Unlisted) {
	for _, w := range s.Waiting() {
		why := verdicts.Unanswered
		if w.Answers {
			why = askersVerdict(log, w.Addr)
		}
		list = append(list, service.Unlisted{Address: w.Addr, Why: why, First: w.First, Seen: w.Seen})
	}
	return list
}

// askersVerdict returns the last verdict of the querying service on a server
// that answers.
func askersVerdict(log *verdicts.Log, a netip.AddrPort) verdicts.Verdict {
	last := verdicts.Entry{Verdict: verdicts.Asked}
	for _, e := range log.Of(a.Addr()) {
		if e.Service == "probe" && e.Addr == a && e.Last.After(last.Last) {
			last = e
		}
	}
	return last.Verdict
}
