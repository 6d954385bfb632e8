package peerchat

import (
	"context"
	"crypto/rand"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/chatrules"
	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/storage"
)

const name = "peerchat"

// Options configure a Server. Accounts and Games are required. All functions
// must be safe for concurrent use and must not block, unless documented; nil
// ones do nothing.
type Options struct {
	Config // its live keys are replaced by Reload
	part.Self
	part.Peers // a client is looked up in Banned again with each command
	part.Catalogue
	service.Talk

	Accounts *accounts.Service
	Games    *games.Catalog
	// Attach makes a client known at which a player is signed in, so that a
	// ban, a deletion or a new password ends its session. It returns a function
	// that undoes that.
	Attach func(presence.Attached) (detach func())
	// Given returns the address under which the list gives a game server at an
	// address to players elsewhere.
	Given func(netip.Addr) netip.Addr
	// Motd are the lines of the message of the day.
	Motd []string
	// Cluster are the other nodes with the same players and channels; nil: none.
	Cluster cluster.Bus
}

// Server is the chat service.
type Server struct {
	opt      Options
	commands map[string]*command // never changed
	metrics  *metrics
	gate     *netserve.Gate
	live     atomic.Pointer[live] // never nil
	buffers  sync.Pool            // of *[]byte, in which lines are written
	maskKey  [16]byte             // of the addresses that strangers see; never changed
	hall     *hall
	programs *programs
	started  time.Time
}

// live is the live half of a Config with its state.
type live struct {
	*Config
	addrs    *netserve.Limiter                    // budgets of the clients of an address
	profiles *netserve.Buckets[storage.ProfileID] // a new connection brings no new allowance
	words    *wordFilter
}

func newLive(c *Config) *live {
	return &live{
		Config:   c,
		addrs:    netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(c.PacePerAddr), Burst: c.PacePerAddrBurst}),
		profiles: newProfileBuckets(c),
		words:    newWordFilter(c.WordFilter),
	}
}

// New returns a server. It starts nothing.
func New(opt Options) *Server {
	h := newHall()
	s := &Server{opt: opt, commands: commandTable(), hall: h, programs: newPrograms(), metrics: newMetrics(opt.Registerer, h), started: time.Now()}
	_, _ = rand.Read(s.maskKey[:]) // never fails
	if opt.Cluster != nil {
		copy(s.maskKey[:], opt.Accounts.Keys.MAC([]byte("respawnd masks of addresses in chat"))) // as on the other nodes
	}
	h.links = newLinks(s, opt.Cluster)
	s.gate = netserve.NewGate(opt.Conns(opt.Trusted))
	s.live.Store(newLive(&opt.Config))
	return s
}

// Serve serves the connections of ln until ctx ends. It returns after all its
// goroutines, with nil unless ln broke. It closes ln.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	var links sync.WaitGroup
	defer links.Wait()
	linked, cancel := context.WithCancel(context.WithoutCancel(ctx)) // the last clients leave with it
	defer cancel()
	links.Go(func() { s.hall.links.serve(linked) })
	var programs sync.WaitGroup
	defer programs.Wait()
	programs.Go(func() { s.servePrograms(ctx) })
	defer func() { _ = s.programs.Close() }() // also if ln broke
	return netserve.ServeConns(ctx, ln, s, netserve.ConnOptions{
		Gate: s.gate, FirstByte: 2 * s.opt.LoginTime, Idle: forever, // the session's own deadlines come first
		Write: s.opt.Write, Grace: service.Grace, Refused: s.refused, Log: s.opt.Log, Metrics: s.opt.Metrics, Ciphered: true,
	})
}

// Reload applies the live keys. Open connections stay.
func (s *Server) Reload(c *Config) {
	s.gate.SetLimits(c.Conns(s.opt.Trusted))
	s.live.Store(newLive(c))
}

// refused notes that a connection is refused and returns the text for its
// client.
func (s *Server) refused(peer netip.AddrPort, why netserve.Refusal) []byte {
	text := s.opt.Verdicts.NoteRefused(name, peer.Addr(), why)
	return appendClosing(nil, "", strings.TrimSuffix(text, "."))
}

// sanctioned returns the restriction of a client in a channel; the empty name
// stands for all of chat.
func (s *Server) sanctioned(x *session, channel string) (banned, muted bool) {
	if s.opt.Rules == nil || x.program {
		return false, false
	}
	nick := x.wanted.nick
	if x.user != nil {
		nick = x.user.nick
	}
	return s.opt.Rules.Check(chatrules.Who{Profile: x.profile, Addr: x.peer.Addr(), Nick: nick}, channel)
}

// bannedNick reports whether a nick is banned from chat, or from a channel in which the client is.
func (x *session) bannedNick(nick string) bool {
	if x.server.opt.Rules == nil || x.program {
		return false
	}
	who := chatrules.Who{Nick: nick}
	banned, _ := x.server.opt.Rules.Check(who, "")
	if x.user != nil {
		for _, m := range x.user.joined {
			here, _ := x.server.opt.Rules.Check(who, m.channel.name)
			banned = banned || here
		}
	}
	return banned
}

// given returns the public address of a client: the one under which the list gives a
// game server there, because names of staging rooms are made of it on both sides.
func (s *Server) given(a netip.Addr) netip.Addr {
	if s.opt.Given == nil {
		return a
	}
	return s.opt.Given(a)
}
