package players

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/operator"
)

const replayHelp = `Plays the client's side of a recording of respawnd record, and compares the answers: not
their values, but the keys of text, the names of XML elements, the types of binary messages,
the commands and numbers of chat. An answer that lacks is printed, and the command fails.

Without --to it plays against the daemon that runs on this machine; with it, against the ports of
the recording. Messages that are recorded as lengths, and those whose answers depend on a secret that
was overwritten, are counted and not compared.`

func replayCommand(con *cli.Console) *cobra.Command {
	var to string
	cmd := con.Configured("replay FILE", "Play a recording again, and compare the answers", cobra.ExactArgs(1),
		func(ctx context.Context, cfg *services.Config, args []string) error {
			f, err := os.Open(args[0])
			if err != nil {
				return err
			}
			_, events, err := dialogue.Read(f)
			if err := errors.Join(err, f.Close()); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			address, err := replayTo(ctx, cfg, to)
			if err != nil {
				return err
			}
			entries := daemon.List(cfg)
			r := dialogue.Replay{Address: address, Protocol: func(service string) dialogue.Protocol {
				i := slices.IndexFunc(entries, func(e daemon.Entry) bool { return e.Name == service })
				if i < 0 {
					return dialogue.Protocol{}
				}
				return entries[i].Dialogue
			}}
			out, err := r.Run(ctx, events)
			return errors.Join(sayReplayed(con, out), err)
		})
	cmd.Long = replayHelp
	cmd.Flags().StringVar(&to, "to", "", "the daemon: an IPv4 address or a name")
	return con.JSONFlag(cmd)
}

// replayTo returns where services are: at a host with the ports of the recording, or where the
// running daemon has them.
func replayTo(ctx context.Context, cfg *services.Config, to string) (func(string, uint16) (netip.AddrPort, bool), error) {
	if to != "" {
		at, err := addressOf(ctx, to)
		if err != nil {
			return nil, fmt.Errorf("--to: %w", err)
		}
		return func(_ string, port uint16) (netip.AddrPort, bool) { return netip.AddrPortFrom(at, port), true }, nil
	}
	c, err := cli.Remote(cfg)
	if err != nil {
		return nil, err
	}
	status, err := operator.GetStatus.Call(ctx, c, operator.None{})
	if err != nil {
		return nil, fmt.Errorf("%w; --to names a daemon elsewhere", err)
	}
	return func(service string, _ uint16) (netip.AddrPort, bool) {
		at, err := netip.ParseAddrPort(status.Services[service])
		if at.Addr().IsUnspecified() {
			at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
		}
		return at, err == nil
	}, nil
}

func sayReplayed(con *cli.Console, out dialogue.Replayed) error {
	failed := error(nil)
	if n := len(out.Differences); n > 0 {
		failed = cli.Reported(fmt.Errorf("%s lacking", cli.Counted(n, "answer")))
	}
	if con.JSON {
		return errors.Join(con.PrintObject(out), failed)
	}
	for _, d := range out.Differences {
		if err := con.Say("%s, at %d ms: want %q, got %q", d.Service, d.At, cli.Printable(d.Want), cli.Printable(d.Got)); err != nil {
			return err
		}
	}
	return errors.Join(con.Say("%s compared, %d not comparable, %d differ", cli.Counted(out.Compared, "answer"), out.Skipped, len(out.Differences)), failed)
}
