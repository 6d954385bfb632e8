package foomaster

import (
	"bytes"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
)

const (
	game      = "foogame" // of all servers, in the catalogue
	maxPacket = 1400
	perPacket = 60 // servers
)

// Beginnings of packets.
const (
	beat = "foo beat "
	ask  = "foo ask "
	info = "foo info "
	list = "foo list"
	head = "foo servers "
)

// options configure a server.
type options struct {
	Config
	part.Registration
}

// server is the master.
type server struct {
	uplink.Master
	opt    options
	newest atomic.Pointer[string] // as configured now
}

// newServer returns a server. Nothing runs until Serve is called.
func newServer(opt options) *server {
	s := &server{opt: opt}
	s.Master = uplink.New(uplink.Options{
		Registration: opt.Registration, Readers: opt.Readers, MaxPacket: maxPacket, Handle: s.handle,
		List: uplink.ListForm{Entry: entry, Append: appendLists},
		Dialect: uplink.Dialect{
			Service: name, Origin: Origin, Instance: 0x464F4F31,
			Question: func(b []byte, c uplink.Challenge, _ string) []byte { return append(append(b, ask...), c[:]...) },
		},
	})
	s.Reload(&opt.Config)
	return s
}

// Reload applies the live keys at once.
func (s *server) Reload(c *Config) {
	s.Keeper.Reload(c.Config, c.ListConfig, 1)
	s.newest.Store(&c.Newest)
}

// handle returns why the packet was dropped, if it was.
func (s *server) handle(w netserve.PacketWriter, p netserve.Packet, port uint16, now time.Time) uplink.Drop {
	text, informs := bytes.CutPrefix(p.Data, []byte(info))
	switch {
	case s.Banned(p.From.Addr()):
		return uplink.Banned
	case informs:
		return s.info(p, text, now)
	case bytes.HasPrefix(p.Data, []byte(beat)):
		return s.heartbeat(w, p, port, now)
	case bytes.Equal(p.Data, []byte(list)):
		return s.list(w, p, now)
	default:
		return uplink.Foreign
	}
}

// heartbeat asks a server to prove its address: the source of a heartbeat may be forged.
func (s *server) heartbeat(w netserve.PacketWriter, p netserve.Packet, port uint16, now time.Time) uplink.Drop {
	if !s.MaySend(p.From.Addr(), len(ask)+uplink.ChallengeSize, len(p.Data), now) {
		return uplink.Limited
	}
	s.Challenge(w, port, p.From, p.To, "", now)
	return uplink.NotDropped
}

// info lists a server whose answer brings its challenge back.
func (s *server) info(p netserve.Packet, text []byte, now time.Time) uplink.Drop {
	challenge, rules, _ := bytes.Cut(text, []byte("\n"))
	v, dropped := s.Answer(p.From, uplink.Same(challenge), now)
	if dropped != uplink.NotDropped {
		return dropped
	}
	_, known := s.opt.Games.Lookup(game)
	l := uplink.Listing{Game: game, Foreign: !known}
	for line := range bytes.Lines(rules) {
		key, value, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte("="))
		if !ok {
			return uplink.Malformed
		}
		l.Names, l.Values = append(l.Names, string(key)), append(l.Values, string(value))
	}
	return s.List(v, l)
}

// list sends the list. It is longer than the request, and has budgets.
func (s *server) list(w netserve.PacketWriter, p netserve.Packet, now time.Time) uplink.Drop {
	if !s.MayList(p.From.Addr(), now) {
		return uplink.NoBudget
	}
	all := uplink.Wanted{Name: game, Picks: uplink.Picks{Empty: true, Full: true}}
	for _, lines := range s.Lister.Answer(all, s.opt.Addresses.Asker(p.From.Addr())) {
		s.Send(w, append([]byte(head+*s.newest.Load()), lines...), p.To, p.From)
	}
	return uplink.NotDropped
}

// entry returns the entry of a record in lists: servers of Foo that are known from elsewhere
// are in them too.
func entry(srv *master.Server) (uplink.Entry, bool) {
	return uplink.Entry{Key: uplink.ListKey{Name: game}, Addr: srv.Public}, srv.Game == game && srv.Public.Addr().Is4()
}

// appendLists appends the lines of the packets of a list.
func appendLists(packets [][]byte, servers []netip.AddrPort, _ bool) [][]byte {
	for {
		var b []byte
		n := min(len(servers), perPacket)
		for _, a := range servers[:n] {
			b = a.AppendTo(append(b, '\n'))
		}
		packets, servers = append(packets, b), servers[n:]
		if len(servers) == 0 {
			return packets
		}
	}
}
