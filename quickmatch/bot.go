package quickmatch

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/internal/wake"
)

// Bounds of a program's connection to chat.
const (
	maxLine   = 8 << 10
	writeTime = 10 * time.Second
	maxDetail = 200 // characters of a player's text in the log
)

// bot is the program of one game, connected to chat.
type bot struct {
	game    games.Game
	channel string
	conn    net.Conn
	log     zerolog.Logger
	metrics *metrics
	players *verdicts.Log // nil: none
	live    func() *Config

	mu      sync.Mutex // guards the fields below
	machine *machine
	queue   []string      // lines to send
	wake    chan struct{} // there are some; of capacity 1
	search  chan struct{} // a player waits; of capacity 1
	told    bool          // who is in the room
	early   []line        // messages from before that
}

// Errors of a bot.
var (
	errRefused = errors.New("chat refused the program")
	errKicked  = errors.New("the program was removed from its room")
	errSlow    = errors.New("chat does not read")
)

// maxQueue is the number of lines that wait for chat, which reads at once.
const maxQueue = 1 << 16

// maxEarly is the number of messages that wait until the program knows who is in the room.
const maxEarly = 1 << 10

func newBot(g games.Game, channel string, conn net.Conn) *bot {
	return &bot{game: g, channel: channel, conn: conn, wake: make(chan struct{}, 1), search: make(chan struct{}, 1), log: zerolog.Nop()}
}

// run plays the program until ctx ends or chat ends it.
func (b *bot) run(ctx context.Context) error {
	defer func() { _ = b.conn.Close() }()
	b.say("USER " + userField(b.game.QuickMatch.Profile) + " 127.0.0.1 peerchat.gamespy.com :quick matches of " + b.game.Name)
	b.say("NICK " + b.game.QuickMatch.Nick)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { cancel(b.write(ctx)) })
	all.Go(func() { b.tick(ctx) })
	stop := context.AfterFunc(ctx, func() { _ = b.conn.Close() })
	defer stop()
	defer cancel(nil) // before the goroutines are waited for
	err := b.read()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// userField returns the name under which games recognise the program: an address, which
// must not be 0.0.0.0, in letters, and the profile. This one is 127.0.0.1.
func userField(profile uint32) string {
	return "X1lsaFvqsX|" + strconv.FormatUint(uint64(profile), 10)
}

func (b *bot) say(line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sayLocked(line)
}

func (b *bot) sayLocked(line string) {
	if len(b.queue) >= maxQueue {
		_ = b.conn.Close() // with errSlow in the log, as the reader ends
		return
	}
	b.queue = append(b.queue, line)
	wake.Up(b.wake)
}

// write sends queued lines until ctx ends.
func (b *bot) write(ctx context.Context) error {
	for {
		b.mu.Lock()
		lines := b.queue
		b.queue = nil
		b.mu.Unlock()
		if len(lines) > 0 {
			_ = b.conn.SetWriteDeadline(time.Now().Add(writeTime))
			if _, err := b.conn.Write([]byte(strings.Join(lines, "\r\n") + "\r\n")); err != nil {
				return fmt.Errorf("%w: %w", errSlow, err)
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-b.wake:
		}
	}
}

// tick matches players at the interval of the configuration until ctx ends. While no
// player waits it rests.
func (b *bot) tick(ctx context.Context) {
	for rest := true; ; {
		var wait <-chan time.Time
		if !rest {
			wait = time.After(b.live().Interval)
		}
		select {
		case <-ctx.Done():
			return
		case <-b.search:
			rest = false
		case now := <-wait:
			rest = b.round(now)
		}
	}
}

// round is one round of matches. idle reports that no player waits after it.
func (b *bot) round(now time.Time) (idle bool) {
	c := b.live()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.machine.limits = limits{c.Announce, c.MaxPlayers}
	b.done(b.machine.tick(now))
	return len(b.machine.waiting) == 0
}

// done sends the output of the machine and reports the outcome.
func (b *bot) done(out []send, what []outcome) {
	for _, s := range out {
		to := cmp.Or(s.nick, b.channel)
		b.sayLocked("PRIVMSG " + to + " :" + s.text)
	}
	for _, o := range what {
		if o.kind == outWaiting {
			wake.Up(b.search)
		}
		b.metrics.outcomes[o.kind].Inc()
		b.log.Debug().Str("game", b.game.Name).Str("nick", clean.Line(o.nick, maxDetail)).Str("detail", clean.Line(o.detail, maxDetail)).
			Msg("quick match: " + string(o.kind))
		b.note(o)
	}
	b.metrics.waiting.WithLabelValues(b.game.Name).Set(float64(len(b.machine.waiting)))
}

// note notes a verdict on a player whose address is known.
func (b *bot) note(o outcome) {
	v, ok := map[outcomeKind]verdicts.Verdict{
		outWaiting: verdicts.QuickWaiting, outMatched: verdicts.QuickMatched, outRefused: verdicts.QuickRefused, outFull: verdicts.ServiceFull,
	}[o.kind]
	if a := b.machine.room[o.nick]; ok && a.IsValid() {
		b.players.NotePlayer(name, a, b.game.Name, v)
	}
}

// read handles lines until the connection ends.
func (b *bot) read() error {
	in := bufio.NewScanner(b.conn)
	in.Buffer(make([]byte, 0, 1<<10), maxLine)
	for in.Scan() {
		l, ok := parseLine(strings.TrimRight(in.Text(), "\r"))
		if !ok {
			continue
		}
		if err := b.handle(&l, time.Now()); err != nil {
			return err
		}
	}
	if err := in.Err(); err != nil {
		return err
	}
	return net.ErrClosed
}

func (b *bot) handle(l *line, now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	me := b.game.QuickMatch.Nick
	switch l.command {
	case "PING":
		b.sayLocked("PONG :" + l.param(0))
	case "001":
		b.sayLocked("JOIN " + b.channel)
	case "432", "433", "403", "405", "471", "473", "474", "475", "ERROR":
		return fmt.Errorf("%w: %s", errRefused, strings.Join(l.params, " "))
	case "366": // the room is joined: whose addresses are those in it?
		b.sayLocked("WHO " + b.channel)
	case "352":
		a, _ := netip.ParseAddr(l.param(3))
		if nick := l.param(5); nick != me && strings.EqualFold(l.param(1), b.channel) {
			b.machine.arrive(nick, a)
		}
	case "315":
		b.told = true
		for _, l := range b.early {
			b.done(b.machine.message(l.nick, l.param(1), now))
		}
		b.early = nil
	case "JOIN":
		if l.nick != me {
			b.machine.arrive(l.nick, l.host)
		}
	case "NICK":
		b.machine.rename(l.nick, l.param(0))
	case "PART", "QUIT":
		b.done(nil, b.machine.leave(l.nick))
	case "KILL":
		b.done(nil, b.machine.leave(l.param(0)))
	case "KICK":
		if l.param(1) == me {
			return errKicked
		}
		b.done(nil, b.machine.leave(l.param(1)))
	case "PRIVMSG":
		switch {
		case l.nick == "" || !strings.EqualFold(l.param(0), me):
		case !b.told && len(b.early) < maxEarly:
			b.early = append(b.early, *l)
		default:
			b.done(b.machine.message(l.nick, l.param(1), now))
		}
	}
	return nil
}
