package quickmatch

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"math/big"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/operator"
)

const name = "quickmatch"

// lookEvery is the interval at which the service looks for games that need a program
// here: the catalogue or the cluster may have changed, or a program ended.
const lookEvery = 2 * time.Second

var _ = verdicts.Speak("quickmatch", verdicts.Speaker{What: "search for a quick match", Player: true})

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	d := service.Descriptor{Title: "Quick matches", Stage: service.StageViews, Needs: []string{"peerchat"}}
	if c.Enabled {
		d.Switch = "quickmatch.enabled"
	}
	return d
}

// Open implements service.Service. It opens no socket.
func (c *Config) Open(_ context.Context, env *service.Env) (*service.Running, error) {
	s := newServer(env.Chat, env.Games, env.Log, env.Registerer, env.Verdicts.Players)
	s.live.Store(c)
	return &service.Running{
		Address: count{s}, Serve: s.serve, Close: func() error { return nil },
		Reload: func(to service.Service) { s.live.Store(to.(*Config)) },
	}, nil
}

// server keeps a program in the room of each game.
type server struct {
	chat    service.Chat
	games   *games.Catalog
	log     zerolog.Logger
	metrics *metrics
	players *verdicts.Log
	live    atomic.Pointer[Config] // never nil

	mu   sync.Mutex // guards the fields below
	bots map[string]*running
}

// running is a program that runs, and the entry of its game in the catalogue then.
type running struct {
	key    string
	cancel context.CancelFunc
}

type metrics struct {
	waiting  *prometheus.GaugeVec // game
	outcomes map[outcomeKind]prometheus.Counter
}

func newServer(chat service.Chat, catalog *games.Catalog, log zerolog.Logger, reg prometheus.Registerer, players *verdicts.Log) *server {
	f := metric.With(reg)
	m := &metrics{outcomes: make(map[outcomeKind]prometheus.Counter)}
	m.waiting = f.NewGaugeVec(prometheus.GaugeOpts{Name: "respawnd_quickmatch_waiting", Help: "Players who wait for a quick match, by game."}, []string{"game"})
	var kinds []string
	for _, k := range outcomes() {
		kinds = append(kinds, string(k))
	}
	events := f.Counters("respawnd_quickmatch_events_total", "Messages and searches of players, by result.", "event", kinds...)
	for _, k := range outcomes() {
		m.outcomes[k] = events.WithLabelValues(string(k))
	}
	return &server{chat: chat, games: catalog, log: log, metrics: m, players: players, bots: make(map[string]*running)}
}

// serve keeps the programs until ctx ends.
func (s *server) serve(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	s.look(ctx, &all)
	for range clock.Ticks(ctx, lookEvery) {
		s.look(ctx, &all)
	}
	return nil
}

// look starts the programs that belong here, and ends those that do not.
func (s *server) look(ctx context.Context, all *sync.WaitGroup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wanted := make(map[string]bool)
	for _, g := range s.games.QuickMatches() {
		room, ok := g.QuickRoom()
		channel := operator.TitleChannel(cmp.Or(g.QuickMatch.Title, g.Name))
		if room.ID != 0 {
			channel = operator.GroupChannel(room.ID)
		}
		if !ok || !s.chat.Owns(channel) {
			continue
		}
		key := fmt.Sprintf("%s %v", channel, g.QuickMatch)
		if r := s.bots[g.Name]; r != nil {
			if wanted[g.Name] = true; r.key != key {
				r.cancel() // it begins again at the next look
			}
			continue
		}
		wanted[g.Name] = true
		botCtx, cancel := context.WithCancel(ctx)
		s.bots[g.Name] = &running{key, cancel}
		all.Go(func() { s.play(ctx, botCtx, g, channel) })
	}
	for game, r := range s.bots {
		if !wanted[game] {
			r.cancel()
		}
	}
}

// play plays the program of a game until ctx or the program ends. serving is the context of
// the service, of which ctx is made: when the daemon stops, chat may end the program before
// ctx has ended, but not before serving has.
func (s *server) play(serving, ctx context.Context, g games.Game, channel string) {
	defer func() {
		s.metrics.waiting.DeleteLabelValues(g.Name)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bots[g.Name].cancel()
		delete(s.bots, g.Name)
	}()
	conn, err := s.chat.Dial(ctx)
	if err != nil {
		s.log.Debug().Str("game", g.Name).Err(err).Msg("chat is not available for quick matches")
		return
	}
	b := newBot(g, channel, conn)
	b.log, b.metrics, b.players, b.live = s.log, s.metrics, s.players, s.live.Load
	c := s.live.Load()
	b.machine = newMachine(g.QuickMatch.Style, limits{c.Announce, c.MaxPlayers}, randomBelow)
	if err := b.run(ctx); ctx.Err() == nil && serving.Err() == nil {
		s.log.Info().Str("game", g.Name).Err(err).Msg("the program of quick matches left chat and joins it again")
	}
}

// randomBelow returns a random number from 0 to n-1.
func randomBelow(n int) int {
	v, _ := rand.Int(rand.Reader, big.NewInt(int64(n))) // never fails
	return int(v.Int64())
}

// count says on how many games a server works.
type count struct{ s *server }

// String implements fmt.Stringer.
func (c count) String() string {
	n := len(c.s.games.QuickMatches())
	switch n {
	case 0:
		return ""
	case 1:
		return "1 game"
	}
	return strconv.Itoa(n) + " games"
}

// Config is section quickmatch of the configuration. The comment of each field explains
// its key.
type Config struct {
	// Quick matches, true or false: a program in a chat room of each game that has
	// them. It needs peerchat.
	Enabled bool `key:"enabled" default:"true"`
	// Interval at which players are matched, {range}.
	Interval time.Duration `key:"interval" default:"2s" range:"100ms to 1m" live:"true"`
	// Interval at which a room learns how many players wait, {range}.
	Announce time.Duration `key:"announce" default:"30s" range:"1s to 10m" live:"true"`
	// Players of one game that may wait at a time, {range}. More are refused.
	MaxPlayers int `key:"max_players" default:"1000" range:"2 to 5000" live:"true"`
}
