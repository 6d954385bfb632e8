package players

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/fesl"
	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/probe"
	"github.com/respawnd/respawnd/theater"
)

func queryCommand(con *cli.Console) *cobra.Command {
	var asJSON bool
	var timeout time.Duration
	cmd := cli.Leaf("query PROTOCOL HOST:PORT", "Query a game server for its rules and players", cobra.ExactArgs(2),
		func(ctx context.Context, args []string) error {
			ask, err := asks(args[0])
			if err != nil {
				return cli.Misused(err)
			}
			if _, _, err := net.SplitHostPort(args[1]); err != nil {
				return cli.Misused(err)
			}
			if timeout <= 0 {
				return cli.Misused(errors.New("--timeout: must be longer than 0"))
			}
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			st, err := ask(ctx, args[1])
			switch {
			case errors.Is(err, context.DeadlineExceeded), errors.Is(err, probe.ErrNoAnswer):
				return fmt.Errorf("no answer from %s within %v: no server is there, it uses another protocol, or a firewall blocks the packets", args[1], timeout)
			case err != nil:
				return fmt.Errorf("%s: %w", args[1], err)
			}
			if asJSON {
				return queryJSON(con, args[0], args[1], &st)
			}
			return queryTables(con, &st)
		})
	cmd.Long = cmd.Short + ".\n\nProtocols: " + QueryWords() + ". The last two are services of a master: they are greeted."
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().DurationVar(&timeout, "timeout", queryTimeout, "how long to wait for the answer")
	return cmd
}

// greetings are the services that the command asks beside game servers. What they answer is shown as rules.
var greetings = map[string]func(context.Context, string) (wire.Text, error){"fesl": fesl.Query, theater.Word: theater.Query}

// QueryWords returns the protocols of the command in one text, for people.
func QueryWords() string { return probe.ProtocolWords() + ", fesl, theater" }

// asks returns what queries a server in a protocol.
func asks(word string) (func(ctx context.Context, address string) (probe.Status, error), error) {
	if greet := greetings[word]; greet != nil {
		return func(ctx context.Context, address string) (st probe.Status, err error) {
			t, err := greet(ctx, address)
			for _, f := range t {
				st.Rules = append(st.Rules, query.Field{Name: f.Key, Value: f.Value})
			}
			return st, err
		}, nil
	}
	protocol, err := probe.ParseProtocol(word)
	return func(ctx context.Context, address string) (probe.Status, error) {
		return askOnce(ctx, protocol, address)
	}, err
}

// queryTables prints rules, players and teams for people.
func queryTables(con *cli.Console, st *probe.Status) error {
	var rules [][]string
	for _, f := range st.Rules {
		rules = append(rules, []string{cli.Printable(f.Name), cli.Dash(f.Value)})
	}
	if err := con.Table("rule…\tvalue…", rules); err != nil {
		return err
	}
	for _, t := range []query.Table{st.Players, st.Teams} {
		if len(t.Rows) == 0 {
			continue
		}
		if err := con.Say(""); err != nil {
			return err
		}
		var rows [][]string
		for _, row := range t.Rows {
			cells := make([]string, len(row))
			for i := range row {
				cells[i] = cli.Dash(row[i])
			}
			rows = append(rows, cells)
		}
		if err := con.Table(strings.Join(columnTitles(t), "\t"), rows); err != nil {
			return err
		}
	}
	return nil
}

// queryJSON prints them for programs, under the names of /api/v1/servers. Of
// rules with the same name the first counts, as in the list.
func queryJSON(con *cli.Console, protocol, address string, st *probe.Status) error {
	rules := make(map[string]string)
	for _, f := range slices.Backward(st.Rules) {
		rules[cli.Printable(f.Name)] = cli.Printable(f.Value)
	}
	objects := func(t query.Table) []map[string]string {
		list := make([]map[string]string, 0, len(t.Rows))
		for _, row := range t.Rows {
			o := make(map[string]string, len(row))
			for i := range row {
				o[cli.Printable(t.Columns[i])] = cli.Printable(row[i])
			}
			list = append(list, o)
		}
		return list
	}
	out := json.NewEncoder(con.Out)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(struct {
		Protocol string              `json:"protocol"`
		Address  string              `json:"address"`
		Rules    map[string]string   `json:"rules"`
		Players  []map[string]string `json:"player_list"`
		Teams    []map[string]string `json:"team_list"`
	}{protocol, address, rules, objects(st.Players), objects(st.Teams)})
}

// columnTitles returns the titles of the columns for people: without the endings
// that mark columns in the protocols. All are columns of text.
func columnTitles(t query.Table) []string {
	var names []string
	for _, name := range t.Columns {
		names = append(names, cli.Printable(strings.TrimSuffix(strings.TrimSuffix(name, "_t"), "_"))+cli.Ellipsis)
	}
	return names
}

// askOnce queries one server from a socket of its own until ctx ends.
func askOnce(ctx context.Context, protocol probe.Protocol, address string) (st probe.Status, err error) {
	to, err := net.ResolveUDPAddr("udp4", address)
	if err != nil {
		return st, err
	}
	conn, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return st, err
	}
	defer func() { _ = conn.Close() }()
	a := to.AddrPort()
	return probe.Ask(ctx, conn, netip.AddrPortFrom(a.Addr().Unmap(), a.Port()), protocol)
}

// queryTimeout is how long a server has to answer a command, unless --timeout
// says otherwise.
const queryTimeout = 3 * time.Second
