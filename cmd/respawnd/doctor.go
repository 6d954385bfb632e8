package main

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func (p *program) doctorCommand() *cobra.Command {
	var addr netip.Addr
	cmd := p.listCommand("doctor [IP]", "Explain the last decisions of the running daemon about an address", cobra.MaximumNArgs(1),
		func(ctx context.Context, op operator.Operator, _ []string) error {
			list, err := op.Verdicts(ctx, addr)
			if err != nil {
				return err
			}
			switch {
			case p.json:
				return printJSON(p, list)
			case !addr.IsValid():
				return p.tellVerdicts(list)
			}
			return p.examine(ctx, op, addr, list)
		})
	cmd.PreRunE = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		a, err := netip.ParseAddr(args[0])
		if err != nil {
			return usageError{fmt.Errorf("%q is not an address such as 203.0.113.7", args[0])}
		}
		addr = a.Unmap()
		return nil
	}
	return cmd
}

// tellVerdicts prints the latest verdicts on many addresses.
func (p *program) tellVerdicts(list []operator.Verdict) error {
	return p.table("service\taddress\tgame…\tverdict…\tfirst\tlast\ttimes", rows(list, func(v operator.Verdict) []string {
		return []string{v.Service, v.Where(), dash(v.Game), v.Verdict, stamp(v.First), stamp(v.Last), fmt.Sprint(v.Times)}
	}))
}

// examine prints everything about one address: the present state, and the
// verdicts that led to it.
func (p *program) examine(ctx context.Context, op operator.Operator, addr netip.Addr, list []operator.Verdict) error {
	if err := p.tellPresent(ctx, op, addr); err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(v operator.Verdict) bool { return !verdicts.OfPlayer(v.Service) }) {
		if err := p.say(`
No packet of a game server came from %s since the daemon started. If one
should be there, its packets do not arrive here, or come from another address:
  - does the game find this machine by name? respawnd hosts --game GAME --ip ADDRESS
  - does a firewall on the way let UDP through (27900; Zandronum: 15300; A2S: 27010)?`, addr); err != nil {
			return err
		}
	}
	for i, v := range list {
		if superseded(list[i+1:], v) {
			v.Advice = ""
		}
		if err := p.tellVerdict(v); err != nil {
			return err
		}
	}
	return nil
}

// superseded reports whether later verdicts of the same service on the same
// address make the advice of a verdict obsolete.
func superseded(later []operator.Verdict, v operator.Verdict) bool {
	earlier, _ := verdicts.Parse(v.Verdict)
	return slices.ContainsFunc(later, func(l operator.Verdict) bool {
		next, known := verdicts.Parse(l.Verdict)
		return l.Service == v.Service && l.Address == v.Address && (!known || next.Outdates(earlier))
	})
}

// tellPresent prints the servers and the bans of an address.
func (p *program) tellPresent(ctx context.Context, op operator.Operator, addr netip.Addr) error {
	servers, err := op.Servers(ctx, "")
	if err != nil {
		return err
	}
	for _, s := range servers {
		if s.Source.Addr() != addr && s.Address.Addr() != addr {
			continue
		}
		state := "listed"
		if s.Hidden != "" {
			state = "not shown: " + printable(s.Hidden)
		}
		if err := p.say("now: server %s of %s, %s", s.Address, printable(s.Game), state); err != nil {
			return err
		}
	}
	bans, err := op.Bans(ctx)
	if err != nil {
		return err
	}
	for _, b := range bans {
		if b.Prefix.Contains(addr) && inForce(b, time.Now()) {
			if err := p.say("now: a ban of %s covers it: scope %s, until %s, reason %s", b.Prefix, b.Scope, until(b.Expires), dash(b.Reason)); err != nil {
				return err
			}
		}
	}
	return nil
}

func inForce(b storage.Ban, now time.Time) bool { return b.Expires.IsZero() || now.Before(b.Expires) }

// tellVerdict prints the explanation of one verdict, with its advice if it has
// any.
func (p *program) tellVerdict(v operator.Verdict) error {
	game := ""
	if v.Game != "" {
		game = " for game " + printable(v.Game)
	}
	times := ""
	if v.Times > 1 {
		times = fmt.Sprintf(" (%d times, last %s)", v.Times, stamp(v.Last))
	}
	if err := p.say("\n%s %s from %s%s: %s%s\n  %s", stamp(v.First), v.What, v.Where(), game, v.Verdict, times, v.Cause); err != nil {
		return err
	}
	if v.Advice == "" {
		return nil
	}
	return p.say("  What to do: %s", v.Advice)
}
