package commands

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func (p *program) banCommand() *cobra.Command {
	return group("ban", "Manage bans", p.banAdd(), p.banList(), p.banRemove())
}

// banFlags are the length and the reason of a ban.
type banFlags struct {
	cmd    *cobra.Command
	span   time.Duration
	reason string
}

func addBanFlags(cmd *cobra.Command) *banFlags {
	f := &banFlags{cmd: cmd}
	cmd.Flags().DurationVar(&f.span, "for", 0, "how long, such as 24h (default: for ever)")
	cmd.Flags().StringVar(&f.reason, "reason", "", "reason, shown in the list")
	return f
}

// end returns when a ban that begins now ends; zero: never.
func (f *banFlags) end(now time.Time) (time.Time, error) {
	switch {
	case f.cmd.Flags().Changed("for") && f.span <= 0:
		return time.Time{}, usageError{errBanFor}
	case f.span > 0:
		return now.Add(f.span), nil
	}
	return time.Time{}, nil
}

// errBanFor is the error for a ban without a positive length.
var errBanFor = errors.New("--for: must be longer than 0; leave it out for a ban without an end")

func (p *program) banAdd() *cobra.Command {
	b := storage.Ban{By: "cli"}
	var scope string
	cmd := p.operatorCommand("add CIDR|IP", "Ban an address or a network; takes effect at once", cobra.ExactArgs(1),
		func(ctx context.Context, op operator.Operator, _ []string) error {
			return p.confirm(op.AddBan(ctx, b), "banned %s from %s until %s", b.Prefix, b.Scope, until(b.Expires))
		})
	cmd.Flags().StringVar(&scope, "scope", storage.ScopeAll.String(), "all, lists, presence or zandronum")
	flags := addBanFlags(cmd)
	cmd.PreRunE = func(_ *cobra.Command, args []string) (err error) {
		if b.Prefix, err = bans.ParsePrefix(args[0]); err != nil {
			return usageError{err}
		}
		if b.Scope, err = storage.ParseScope(scope); err != nil {
			return usageError{fmt.Errorf("--scope: %w", err)}
		}
		b.Reason, b.Added = flags.reason, time.Now()
		b.Expires, err = flags.end(b.Added)
		return err
	}
	return cmd
}

// banEnd returns the end of a ban. Expired bans are listed for a while, because
// the clock may be wrong.
func banEnd(b storage.Ban, now time.Time) string {
	if b.Expired(now) {
		return "over since " + stamp(b.Expires)
	}
	return until(b.Expires)
}

func (p *program) banList() *cobra.Command {
	return p.listCommand("list", "Show all bans", cobra.NoArgs, func(ctx context.Context, op operator.Operator, _ []string) error {
		list, err := op.Bans(ctx)
		if err != nil {
			return err
		}
		inFiles, err := op.FileBans(ctx, netip.Addr{})
		if err != nil {
			return err
		}
		if p.json {
			return errors.Join(printJSON(p, list), printJSON(p, inFiles))
		}
		lines := rows(list, func(b storage.Ban) []string {
			return []string{b.Prefix.String(), b.Scope.String(), stamp(b.Added), banEnd(b, time.Now()), dash(b.Reason), "-", "-"}
		})
		lines = append(lines, rows(inFiles, func(b operator.FileBan) []string {
			return []string{printable(b.Addresses), b.Scope, "-", until(b.Expires), dash(b.Reason), printable(b.File), fmt.Sprint(b.Line)}
		})...)
		return p.table("address…\tscope\tadded\tuntil\treason…\tfile…\tline", lines)
	})
}

// filePlace returns where a ban file has a ban.
func filePlace(b operator.FileBan) string { return fmt.Sprintf("%s:%d", printable(b.File), b.Line) }

func (p *program) banRemove() *cobra.Command {
	var prefix netip.Prefix
	var word string
	scope := storage.EveryScope
	cmd := p.operatorCommand("remove CIDR|IP", "Lift a ban", cobra.ExactArgs(1), func(ctx context.Context, op operator.Operator, _ []string) error {
		n, err := op.RemoveBan(ctx, prefix, scope)
		if err == nil && n == 0 {
			err = notBanned(ctx, op, prefix)
		}
		return p.confirm(err, "lifted %s of %s", counted(n, "ban"), prefix)
	})
	cmd.Flags().StringVar(&word, "scope", "", "only the ban of this scope")
	cmd.PreRunE = func(_ *cobra.Command, args []string) (err error) {
		if prefix, err = bans.ParsePrefix(args[0]); err != nil {
			return usageError{err}
		}
		if word == "" {
			return nil
		}
		if scope, err = storage.ParseScope(word); err != nil {
			return usageError{fmt.Errorf("--scope: %w", err)}
		}
		return nil
	}
	return cmd
}

// notBanned returns the error that there is no ban of a prefix; it names a ban
// that covers it.
func notBanned(ctx context.Context, op operator.Operator, prefix netip.Prefix) error {
	list, err := op.Bans(ctx)
	if err != nil {
		return err
	}
	for _, b := range list {
		if b.Prefix.Bits() < prefix.Bits() && b.Prefix.Contains(prefix.Addr()) && inForce(b, time.Now()) {
			return fmt.Errorf("%s is not banned by itself: the ban of %s covers it", prefix, b.Prefix)
		}
	}
	inFiles, err := op.FileBans(ctx, prefix.Addr())
	if err != nil {
		return err
	}
	if len(inFiles) > 0 {
		return fmt.Errorf("%s is not banned by itself: %s has a ban of %s, which is lifted there", prefix, filePlace(inFiles[0]), printable(inFiles[0].Addresses))
	}
	return fmt.Errorf("%s is not banned", prefix)
}
