package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// scaleOptions say how the curve is made.
type scaleOptions struct {
	program string
	length  time.Duration // of each measurement
	scale   float64       // of the numbers of servers and players
	write   string        // a document whose section is replaced; empty: none
}

// The usual pace of games.
const (
	reportsPerMinute = 3   // of a server: a heartbeat, and keepalives 20 and 40 s later
	listsPerPlayer   = 200 // seconds from one list of a player to the next
	scaleBrowsers    = 16  // connections on which lists are requested at a time
)

// populations are the points of the curve: servers and players.
func populations() [][2]int {
	return [][2]int{{100, 1000}, {1000, 1000}, {10_000, 1000}, {50_000, 1000}, {200_000, 1000}, {1000, 100}, {1000, 20_000}}
}

// machines are the sizes of rented machines, the smallest first: cores and MiB.
func machines() [][2]int {
	return [][2]int{{1, 512}, {1, 1024}, {2, 2048}, {2, 4096}, {4, 4096}, {4, 8192}, {8, 16384}, {16, 32768}}
}

// fits reports whether a load takes at most half of a machine.
func (p *paced) fits(m [2]int) bool { return 2*p.cores <= float64(m[0]) && 2*p.memory <= float64(m[1]) }

// machineName names a machine.
func machineName(m [2]int) string {
	size, cores := fmt.Sprintf("%d MiB", m[1]), fmt.Sprintf("%d cores", m[0])
	if m[1] >= 1024 {
		size = fmt.Sprintf("%d GiB", m[1]/1024)
	}
	if m[0] == 1 {
		cores = "1 core"
	}
	return cores + " and " + size
}

// paced is a number of servers and players with their costs.
type paced struct {
	servers, players int
	packets, lists   float64 // per second
	sent             float64 // bits of lists per second
	cores, memory    float64 // memory in MiB
}

// machine names the smallest machine that carries a load.
func (p *paced) machine() string {
	for _, m := range machines() {
		if p.fits(m) {
			return machineName(m)
		}
	}
	return "more than one machine"
}

func (p *paced) line() string {
	return fmt.Sprintf("| %d | %d | %s | %s | %s | %s | %.0f | %s |", p.servers, p.players, digits(p.packets), digits(p.lists),
		digits(p.sent/1e6), digits(100*p.cores), p.memory, p.machine())
}

// statements name the capacity of each machine that carries more than smaller ones.
func statements(rows []paced) string {
	var text strings.Builder
	var servers, players paced // the highest capacity so far
	for _, m := range machines() {
		before := [2]paced{servers, players}
		for _, r := range rows {
			if r.fits(m) && r.servers > servers.servers {
				servers = r
			}
			if r.fits(m) && (r.players > players.players || r.players == players.players && r.servers > players.servers) {
				players = r
			}
		}
		var what []string
		for i, r := range []paced{servers, players} {
			if r != before[i] && (i == 0 || r != servers) {
				what = append(what, fmt.Sprintf("%d servers with %d players", r.servers, r.players))
			}
		}
		if what != nil {
			_, _ = fmt.Fprintf(&text, "- %s: %s.\n", machineName(m), strings.Join(what, ", or "))
		}
	}
	return text.String()
}

// curve writes the costs of the daemon with more and more servers and players at their
// usual pace, as a section of a document in Markdown.
func curve(ctx context.Context, out io.Writer, opt scaleOptions) error {
	raiseFiles()
	var text bytes.Buffer
	_, _ = fmt.Fprintf(&text, "%s\n\nMeasured on %s.\n\n", scaleHeading, machine())
	_, _ = fmt.Fprint(&text, "| servers | players | packets/s | lists/s | lists, Mbit/s | CPU, % of a core | memory, MiB | carried with room to spare by |\n"+
		"|---:|---:|---:|---:|---:|---:|---:|---|\n")
	b := &bench{opt: limitOptions{program: opt.program, length: opt.length, scale: opt.scale}, out: out, tally: newTally()}
	var rows []paced
	for _, c := range populations() {
		row, err := b.populated(ctx, b.size(c[0]), b.size(c[1]))
		if err != nil {
			b.tally.write(out)
			return fmt.Errorf("%d servers, %d players: %w", c[0], c[1], err)
		}
		rows = append(rows, row)
		_, _ = fmt.Fprintln(&text, row.line())
		_, _ = fmt.Fprintln(out, row.line())
	}
	_, _ = fmt.Fprintf(&text, "%s\n%s", scaleNotes, statements(rows))
	if slices.ContainsFunc(rows, func(r paced) bool { return r.lists < 0.9*float64(r.players)/listsPerPlayer }) {
		_, _ = fmt.Fprint(&text, scaleSlow)
	}
	if opt.write != "" {
		return replaceSection(opt.write, scaleHeading, text.String())
	}
	_, err := fmt.Fprint(out, "\n", text.String())
	return err
}

// scaleHeading is the heading of the section.
const scaleHeading = "## From one game to all of them"

// scaleNotes follow the table.
const scaleNotes = `
Each server sends a heartbeat a minute and a keepalive 20 and 40 seconds later. Each player is signed in and requests a
list of all servers every 200 seconds: 5 lists per second for 1,000 players. All servers are of one game, which is the
worst case: in reality most lists are of a game with few servers. CPU and memory are the daemon's alone; a named machine
has twice as much of both. Lists of many servers take bandwidth before they take processors. So these machines carry,
alone:
`

// scaleSlow follows a table with a line of fewer lists.
const scaleSlow = `
The machine of the measurement did other work too. A row with fewer lists per second than that shows the processor
time and the bandwidth of the lists that it has.
`

// populated measures a number of servers and players.
func (b *bench) populated(ctx context.Context, servers, players int) (row paced, err error) {
	const spare = 1000 // files that are no sessions
	players = min(players, max(1, maxFiles()-spare))
	err = b.withDaemon(ctx, nil, func(w *world, restart func() error) error {
		if err := withStored(ctx, w, players, restart); err != nil {
			return err
		}
		return b.swarmed(ctx, w, servers, func(w *world, s *swarm) error {
			return measured(ctx, w, players, sessions(0), func([]user) error {
				row, err = b.pace(ctx, w, s, players)
				return err
			})
		})
	})
	return row, err
}

// pace has servers and players live at their usual pace.
func (b *bench) pace(ctx context.Context, w *world, s *swarm, players int) (row paced, err error) {
	servers := len(s.beats)
	first := &browser{w: w, i: scaleBrowsers, want: servers, wait: time.Minute}
	if err := first.do(ctx); err != nil { // it is prepared
		return row, err
	}
	open := func(_ context.Context, w *world, i int) (user, error) {
		return &taker{&browser{w: w, i: i, wait: time.Minute}, first.bytes}, nil
	}
	reports, lists := float64(servers)*reportsPerMinute/60, float64(players)/listsPerPlayer
	err = measured(ctx, w, scaleBrowsers, open, func(users []user) error {
		during, cancel := context.WithCancel(ctx)
		defer cancel()
		var wg sync.WaitGroup
		var beaten error
		wg.Go(func() {
			turns := 0
			_, beaten = s.steady(during, reports, true, func(i int) error {
				turns++
				if turns/servers%reportsPerMinute == i%reportsPerMinute {
					return s.heartbeat(i, "")
				}
				return s.keepalive(i)
			})
		})
		sent, began := s.sent.Load(), time.Now()
		var p phase
		cpu, spentErr := spent(w.daemon, func() error {
			p = openLoop(ctx, users, lists, b.opt.length, b.tally, "list")
			pause(ctx, time.Until(began.Add(b.opt.length)))
			return ctx.Err()
		})
		took := time.Since(began).Seconds()
		packets := float64(s.sent.Load()-sent) / took
		c, measureErr := w.daemon.measure()
		cancel()
		wg.Wait()
		if err := errors.Join(spentErr, measureErr, beaten); err != nil {
			return err
		}
		if p.lost > 0 {
			return fmt.Errorf("%w: %d of %d lists", errLost, p.lost, p.lost+len(p.times))
		}
		rate := float64(len(p.times)) / took
		row = paced{
			servers: servers, players: players, packets: packets, lists: rate, sent: 8 * rate * float64(first.bytes),
			cores: cpu.Seconds() / took, memory: mib(c.rss),
		}
		return nil
	})
	return row, err
}

var errNoSection = errors.New("the document has no section")

// replaceSection replaces the section of a file that begins with a heading and ends
// before the next one of its level.
func replaceSection(path, heading, text string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(b), heading+"\n")
	if !found {
		return fmt.Errorf("%s: %w %q", path, errNoSection, heading)
	}
	after := ""
	if i := strings.Index(rest, "\n## "); i >= 0 {
		after = rest[i:]
	}
	return os.WriteFile(path, []byte(before+text+after), 0o644) // a page of the documentation
}
