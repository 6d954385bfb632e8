// Package playtest plays the first steps of a game against a server, from the
// computer of a player: whether its names lead there, and whether the services that
// the game uses answer as the game expects. It registers no server, makes no account
// and changes nothing.
//
// The self-test (daemon/selftest) does more, on the machine of the daemon.
package playtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/service"
)

// Target is the game and the server.
type Target struct {
	Game    games.Game
	Address netip.Addr // of the server
	Names   []string   // that the game looks up
	Steps   []service.Play
	// Port returns the port of a service there; 0: it is not tested. HTTPS is that of web
	// services over https.
	Port  func(games.Service) uint16
	HTTPS uint16
	// Built reports whether a server of this version can have a service; nil: any.
	Built func(games.Service) bool
	// Known is what is known of each edition of the game.
	Known []games.Outlook
	// Lookup resolves a name as this computer does; nil: names are not tested.
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)
}

// Result is how a step went.
type Result struct {
	Step string `json:"step"`
	// Needed reports that the game cannot be played online without it.
	Needed bool `json:"needed"`
	// Failed is the error; empty: none.
	Failed string `json:"failed,omitempty"`
	// Means is its effect for a player.
	Means string `json:"means,omitempty"`
	// Remark is a further finding of the step.
	Remark string `json:"remark,omitempty"`
}

// step is a step of the game.
type step service.Play

// Run runs all steps for the game, and calls say with each result. The error is that
// of say.
func Run(ctx context.Context, t *Target, say func(Result) error) error {
	if t.Lookup != nil {
		if err := say(t.names(ctx)); err != nil {
			return err
		}
	}
	steps := slices.Clone(t.Steps)
	slices.SortStableFunc(steps, func(a, b service.Play) int { return cmp.Compare(a.Order, b.Order) })
	for i := range steps {
		s := (*step)(&steps[i])
		port := t.Port(s.Service)
		if s.HTTPS {
			port = t.HTTPS
		}
		if port == 0 || !t.uses(s) {
			continue
		}
		if err := say(s.test(ctx, t, netip.AddrPortFrom(t.Address, port))); err != nil {
			return err
		}
	}
	for _, needed := range t.Game.Needs {
		if t.Built != nil && !t.Built(needed) {
			if err := say(t.absent(needed)); err != nil {
				return err
			}
		}
	}
	for _, o := range t.Known {
		if err := say(t.known(o)); err != nil {
			return err
		}
	}
	if t.Game.See != "" {
		if err := say(Result{Step: stepKnown, Remark: "it is another version of " + t.Game.See + ": see there"}); err != nil {
			return err
		}
	}
	if sentence := t.Game.Platform().Sentence(); sentence != "" && !slices.ContainsFunc(t.Known, func(o games.Outlook) bool { return o.Word.Good() }) {
		return say(Result{Step: stepKnown, Needed: true, Failed: sentence, Means: "answers of the services are not enough"})
	}
	return nil
}

// stepKnown names the results that say what is known of the game.
const stepKnown = "what is known of it"

// known is the result for what is known of copies of the game. Those that gain nothing from the
// server fail where no other copies of the game gain something.
func (t *Target) known(o games.Outlook) Result {
	r := Result{Step: stepKnown}
	if !o.Useless() {
		r.Remark = o.Line() + ". That the services answer is all that this test can say"
		return r
	}
	r.Needed = !slices.ContainsFunc(t.Known, func(o games.Outlook) bool { return !o.Useless() })
	r.Failed, r.Means = o.Line(), "answers of the services are not enough for these copies"
	return r
}

// absent is the result for a service that the game needs and that no server has.
func (t *Target) absent(s games.Service) Result {
	failed := "servers of this version do not have it"
	if t.Game.Via != "" {
		failed += ". " + strings.TrimSuffix(t.Game.Via, ".")
	}
	return Result{Step: stepOf(s), Needed: true, Failed: failed, Means: "the game cannot be played online there"}
}

// name names the step.
func (s *step) name() string {
	if s.HTTPS {
		return stepOf(s.Service) + " over https"
	}
	return stepOf(s.Service)
}

// stepOf names the step of a service.
func stepOf(s games.Service) string { return string(s) + ": " + s.Words() }

// uses reports whether the game uses the service of a step. A game of which nothing is
// known uses all of GameSpy's.
func (t *Target) uses(s *step) bool {
	if s.HTTPS && !t.Game.AsksHTTPS() {
		return false
	}
	known := len(t.Game.Needs) > 0
	return !known && !s.Family || slices.Contains(t.Game.Needs, s.Service) || slices.Contains(t.Game.Uses, s.Service)
}

// names tests whether the names of the game lead to the server.
func (t *Target) names(ctx context.Context) Result {
	ctx, cancel := context.WithTimeout(ctx, service.PlayTimeout)
	defer cancel()
	r := Result{Step: "names", Needed: true}
	for _, name := range t.Names {
		found, err := t.Lookup(ctx, name)
		switch {
		case err != nil:
			r.Failed = fmt.Sprintf("%s has no address", name)
		case len(found) == 0 || found[0].Unmap() != t.Address:
			r.Failed = fmt.Sprintf("%s leads to %v, not to %s", name, found, t.Address)
		default:
			continue
		}
		r.Means = "the game looks for its services elsewhere: respawnd point " + t.Game.Name + " --to " + t.Address.String()
		return r
	}
	r.Remark = fmt.Sprintf("all %d lead to %s", len(t.Names), t.Address)
	return r
}

// test runs a step.
func (s *step) test(ctx context.Context, t *Target, at netip.AddrPort) Result {
	ctx, cancel := context.WithTimeout(ctx, service.PlayTimeout)
	defer cancel()
	r := Result{Step: s.name(), Needed: slices.Contains(t.Game.Needs, s.Service)}
	remark, err := s.Run(ctx, t.Game, at.String())
	if err != nil {
		r.Failed, r.Means = s.explain(err, at), s.Means
		return r
	}
	r.Remark = remark
	return r
}

// explain says what an error means for the connection to the server.
func (s *step) explain(err error, at netip.AddrPort) string {
	var timeout net.Error
	where := fmt.Sprintf("%s %s", s.Network, at)
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer from " + where + ": the service is off there, or a firewall drops it"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens on " + where + ": " + err.Error()
	}
	return where + ": " + strings.ReplaceAll(err.Error(), "\n", ": ")
}
