package commands

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func (p *program) banCommand() *cobra.Command {
	return group("ban", "Manage bans",
		command(p, operator.AddBan, func(_ operator.NewBan, b storage.Ban) error {
			return p.say("banned %s from %s until %s", b.Prefix, b.Scope, until(b.Expires))
		}),
		p.banList(), p.banRemove())
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

// banEnd returns the end of a ban. Expired bans are listed for a while, because
// the clock may be wrong.
func banEnd(b storage.Ban, now time.Time) string {
	if b.Expired(now) {
		return "over since " + stamp(b.Expires)
	}
	return until(b.Expires)
}

func (p *program) banList() *cobra.Command {
	return p.listCommand("list", operator.ListBans.What, cobra.NoArgs, func(ctx context.Context, c operator.Conn, _ []string) error {
		list, err := operator.ListBans.Call(ctx, c, operator.None{})
		if err != nil {
			return err
		}
		inFiles, err := operator.ListFileBans.Call(ctx, c, operator.Address{})
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
	in := new(operator.BanRef)
	return commandOf(p, &operator.RemoveBan.Operation, in, func(ctx context.Context, c operator.Conn, _ []string) error {
		out, err := operator.RemoveBan.Call(ctx, c, *in)
		if err == nil && out.Removed == 0 {
			err = notBanned(ctx, c, in.Prefix)
		}
		return p.confirm(err, "lifted %s of %s", counted(out.Removed, "ban"), in.Prefix)
	})
}

// notBanned returns the error that there is no ban of a prefix; it names a ban
// that covers it.
func notBanned(ctx context.Context, c operator.Conn, prefix netip.Prefix) error {
	list, err := operator.ListBans.Call(ctx, c, operator.None{})
	if err != nil {
		return err
	}
	for _, b := range list {
		if b.Prefix.Bits() < prefix.Bits() && b.Prefix.Contains(prefix.Addr()) && inForce(b, time.Now()) {
			return fmt.Errorf("%s is not banned by itself: the ban of %s covers it", prefix, b.Prefix)
		}
	}
	inFiles, err := operator.ListFileBans.Call(ctx, c, operator.Address{Addr: prefix.Addr()})
	if err != nil {
		return err
	}
	if len(inFiles) > 0 {
		return fmt.Errorf("%s is not banned by itself: %s has a ban of %s, which is lifted there", prefix, filePlace(inFiles[0]), printable(inFiles[0].Addresses))
	}
	return fmt.Errorf("%s is not banned", prefix)
}
