package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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

// crowds are what the curve is made of: servers and players.
func crowds() [][2]int {
	return [][2]int{{100, 1000}, {1000, 1000}, {10_000, 1000}, {50_000, 1000}, {200_000, 1000}, {1000, 100}, {1000, 20_000}}
}

// machines are what is sold, the smallest first: cores and MiB.
func machines() [][2]int {
	return [][2]int{{1, 512}, {1, 1024}, {2, 2048}, {2, 4096}, {4, 4096}, {4, 8192}, {8, 16384}, {16, 32768}}
}

// machineFor names the smallest machine of which a load takes at most half, in cores
// and MiB.
func machineFor(cores, memory float64) string {
	for _, m := range machines() {
		if 2*cores <= float64(m[0]) && 2*memory <= float64(m[1]) {
			size := fmt.Sprintf("%d MiB", m[1])
			if m[1] >= 1024 {
				size = fmt.Sprintf("%d GiB", m[1]/1024)
			}
			if m[0] == 1 {
				return "1 core, " + size
			}
			return fmt.Sprintf("%d cores, %s", m[0], size)
		}
	}
	return "more than one machine"
}

// curve writes what the daemon costs with more and more servers and players at their
// usual pace, as a section of a document in Markdown.
func curve(ctx context.Context, out io.Writer, opt scaleOptions) error {
	raiseFiles()
	var text bytes.Buffer
	_, _ = fmt.Fprintf(&text, "%s\n\nMeasured on %s on %s, with a load average of %s before.\n\n", scaleHeading,
		time.Now().UTC().Format(time.DateOnly), machine(), cmp.Or(firstWord(loadAverage()), "?"))
	_, _ = fmt.Fprint(&text, "| servers | players | packets/s | lists/s | lists, Mbit/s | CPU, % of a core | memory, MiB | carried with room to spare by |\n"+
		"|---:|---:|---:|---:|---:|---:|---:|---|\n")
	b := &bench{opt: limitOptions{program: opt.program, length: opt.length, scale: opt.scale}, out: out, tally: newTally()}
	for _, c := range crowds() {
		line, err := b.crowd(ctx, b.size(c[0]), b.size(c[1]))
		if err != nil {
			b.tally.write(out)
			return fmt.Errorf("%d servers, %d players: %w", c[0], c[1], err)
		}
		_, _ = fmt.Fprintln(&text, line)
		_, _ = fmt.Fprintln(out, line)
	}
	_, _ = fmt.Fprint(&text, scaleNotes)
	if opt.write != "" {
		return replaceSection(opt.write, scaleHeading, text.String())
	}
	_, err := fmt.Fprint(out, "\n", text.String())
	return err
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}

// scaleHeading is the heading of the section.
const scaleHeading = "## From one game to all of them"

// scaleNotes follow the table.
const scaleNotes = `
Each server sends a heartbeat a minute and a keepalive 20 and 40 seconds later. Each player is signed in and requests a list of
all servers every 200 seconds: 5 lists per second for 1,000 players. All servers are of one game, which is the worst case: in
reality most lists are of a game with few servers. CPU and memory are the daemon's alone; a machine is named if it has twice of
both. Lists of many servers take bandwidth before they take processors.
`

// crowd measures a number of servers and players, and returns a line of the table.
func (b *bench) crowd(ctx context.Context, servers, players int) (line string, err error) {
	const spare = 1000 // files that are no sessions
	players = min(players, max(1, maxFiles()-spare))
	err = b.withDaemon(ctx, nil, func(w *world, restart func() error) error {
		if err := withStored(ctx, w, players, restart); err != nil {
			return err
		}
		return b.swarmed(ctx, w, servers, func(w *world, s *swarm) error {
			return measured(ctx, w, players, sessions(0), func([]user) error {
				line, err = b.pace(ctx, w, s, players)
				return err
			})
		})
	})
	return line, err
}

// pace has servers and players live at their usual pace.
func (b *bench) pace(ctx context.Context, w *world, s *swarm, players int) (string, error) {
	servers := len(s.beats)
	first := &browser{w: w, i: scaleBrowsers, want: servers, wait: time.Minute}
	if err := first.do(ctx); err != nil { // it is prepared
		return "", err
	}
	open := func(_ context.Context, w *world, i int) (user, error) {
		return &taker{&browser{w: w, i: i, wait: time.Minute}, first.bytes}, nil
	}
	reports, lists := float64(servers)*reportsPerMinute/60, float64(players)/listsPerPlayer
	var line string
	err := measured(ctx, w, scaleBrowsers, open, func(users []user) error {
		during, cancel := context.WithCancel(ctx)
		defer cancel()
		var wg sync.WaitGroup
		var paced error
		wg.Go(func() {
			turns := 0
			_, paced = s.steady(during, reports, true, func(i int) error {
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
		if err := errors.Join(spentErr, measureErr, paced); err != nil {
			return err
		}
		if p.lost > 0 {
			return fmt.Errorf("%w: %d of %d lists", errLost, p.lost, p.lost+len(p.times))
		}
		rate := float64(len(p.times)) / took
		cores, memory := cpu.Seconds()/took, mib(c.rss)
		line = fmt.Sprintf("| %d | %d | %s | %s | %s | %s | %.0f | %s |", servers, players, digits(packets), digits(rate),
			digits(8e-6*rate*float64(first.bytes)), digits(100*cores), memory, machineFor(cores, memory))
		return nil
	})
	return line, err
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
	return os.WriteFile(path, []byte(before+text+after), 0o644) //nolint:gosec // a page of the documentation
}
