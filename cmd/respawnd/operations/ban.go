package operations

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func banCommand(con *cli.Console) *cobra.Command {
	return cli.Group("ban", "Manage bans",
		cli.Command(con, operator.AddBan, func(_ operator.NewBan, b storage.Ban) error {
			return con.Say("banned %s from %s until %s", b.Prefix, b.Scope, cli.Until(b.Expires))
		}),
		banList(con), banRemove(con))
}

// endOf returns the end of a ban or a rule. Those that are over are listed for a while, because
// the clock may be wrong.
func endOf(expires, now time.Time) string {
	if !expires.IsZero() && !now.Before(expires) {
		return "over since " + cli.Stamp(expires)
	}
	return cli.Until(expires)
}

func banList(con *cli.Console) *cobra.Command {
	return cli.Showing(con, &operator.ListBans.Operation, new(operator.None), func(ctx context.Context, c operator.Conn, _ []string) error {
		list, err := operator.ListBans.Call(ctx, c, operator.None{})
		if err != nil {
			return err
		}
		inFiles, err := operator.ListFileBans.Call(ctx, c, operator.Address{})
		if err != nil {
			return err
		}
		if con.JSON {
			return errors.Join(cli.PrintJSON(con, list), cli.PrintJSON(con, inFiles))
		}
		lines := cli.Rows(list, func(b storage.Ban) []string {
			return []string{b.Prefix.String(), b.Scope.String(), cli.Stamp(b.Added), endOf(b.Expires, time.Now()), cli.Dash(b.Reason), "-", "-"}
		})
		lines = append(lines, cli.Rows(inFiles, func(b operator.FileBan) []string {
			return []string{
				cli.Printable(b.Addresses), b.Scope, "-", cli.Until(b.Expires), cli.Dash(b.Reason), cli.Printable(b.File), fmt.Sprint(b.Line),
			}
		})...)
		return con.Table("address…\tscope\tadded\tuntil\treason…\tfile…\tline", lines)
	})
}

func filePlace(b operator.FileBan) string { return fmt.Sprintf("%s:%d", cli.Printable(b.File), b.Line) }

func banRemove(con *cli.Console) *cobra.Command {
	in := new(operator.BanRef)
	cmd := cli.CommandOf(con, &operator.RemoveBan.Operation, in, func(ctx context.Context, c operator.Conn, _ []string) error {
		out, err := operator.RemoveBan.Call(ctx, c, *in)
		if err == nil && out.Removed == 0 {
			err = notBanned(ctx, c, in.Prefix)
		}
		return con.Confirm(err, "lifted %s of %s", cli.Counted(out.Removed, "ban"), in.Prefix)
	})
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) (prefixes []cobra.Completion, _ cobra.ShellCompDirective) {
		if cfg, _, err := con.Load(); err == nil && len(args) == 0 {
			_ = con.WithStore(cmd.Context(), cfg, func(c operator.Conn) error { // a shell shows no errors
				list, err := operator.ListBans.Call(cmd.Context(), c, operator.None{})
				for _, b := range list {
					prefixes = append(prefixes, cobra.CompletionWithDesc(b.Prefix.String(), cli.Printable(b.Reason)))
				}
				return err
			})
		}
		return prefixes, cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
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
		return fmt.Errorf("%s is not banned by itself: %s has a ban of %s, which is lifted there",
			prefix, filePlace(inFiles[0]), cli.Printable(inFiles[0].Addresses))
	}
	return fmt.Errorf("%s is not banned", prefix)
}
