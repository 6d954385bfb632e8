package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/master"
	probezan "github.com/respawnd/respawnd/probe/zandronum"
)

// queryTimeout is how long a server has to answer, unless --timeout says
// otherwise.
const queryTimeout = 3 * time.Second

// asker asks one server until ctx ends and returns its rules, players and teams.
type asker func(ctx context.Context, address string) (master.Server, error)

// askerFor returns how to ask in a protocol.
func askerFor(protocol string) (asker, error) {
	known := []struct {
		protocol string
		ask      asker
	}{
		{"zandronum", askZandronum},
	}
	var words []string
	for _, k := range known {
		if k.protocol == protocol {
			return k.ask, nil
		}
		words = append(words, k.protocol)
	}
	return nil, usageError{fmt.Errorf("%q is no protocol that can be asked in; known: %s", printable(protocol), strings.Join(words, ", "))}
}

func askZandronum(ctx context.Context, address string) (master.Server, error) {
	info, err := probezan.Ask(ctx, address)
	if err != nil {
		return master.Server{}, err
	}
	return probezan.Describe(info)
}

func (p *program) queryCommand() *cobra.Command {
	var asJSON bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "query PROTOCOL HOST:PORT",
		Short: "Ask a game server what it plays and who plays there",
		Long:  "Ask a game server what it plays and who plays there.\n\nProtocols: zandronum.",
		Args:  usage(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ask, err := askerFor(args[0])
			if err != nil {
				return err
			}
			if _, _, err := net.SplitHostPort(args[1]); err != nil {
				return usageError{err}
			}
			if timeout <= 0 {
				return usageError{errors.New("--timeout: want more than nothing")}
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			srv, err := ask(ctx, args[1])
			switch {
			case errors.Is(err, context.DeadlineExceeded):
				return fmt.Errorf("no answer from %s within %v: nobody is there, it speaks another protocol, or a firewall is between", args[1], timeout)
			case err != nil:
				return fmt.Errorf("%s: %w", args[1], err)
			}
			if asJSON {
				return p.queryJSON(args[0], args[1], &srv)
			}
			return p.queryTables(&srv)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().DurationVar(&timeout, "timeout", queryTimeout, "how long to wait for the answer")
	return cmd
}

// queryTables prints rules, players and teams for people.
func (p *program) queryTables(srv *master.Server) error {
	var rules [][]string
	for name, value := range srv.Rules.All() {
		rules = append(rules, []string{printable(name), dash(value)})
	}
	if err := p.table("rule\tvalue", rules); err != nil {
		return err
	}
	for _, t := range []master.Table{srv.Players, srv.Teams} {
		if t.Rows() == 0 {
			continue
		}
		if err := p.say(""); err != nil {
			return err
		}
		var rows [][]string
		for _, row := range cells(t) {
			for i := range row {
				row[i] = dash(row[i])
			}
			rows = append(rows, row)
		}
		if err := p.table(strings.Join(columns(t), "\t"), rows); err != nil {
			return err
		}
	}
	return nil
}

// queryJSON prints them for programs, under the names of /api/v1/servers.
func (p *program) queryJSON(protocol, address string, srv *master.Server) error {
	rules := make(map[string]string)
	for name, value := range srv.Rules.All() {
		rules[printable(name)] = printable(value)
	}
	objects := func(t master.Table) []map[string]string {
		list := make([]map[string]string, 0, t.Rows())
		for _, row := range cells(t) {
			o := make(map[string]string, len(row))
			for i := range row {
				o[printable(t.Names().Name(i))] = printable(row[i])
			}
			list = append(list, o)
		}
		return list
	}
	out := json.NewEncoder(p.out)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(struct {
		Protocol string              `json:"protocol"`
		Address  string              `json:"address"`
		Rules    map[string]string   `json:"rules"`
		Players  []map[string]string `json:"player_list"`
		Teams    []map[string]string `json:"team_list"`
	}{protocol, address, rules, objects(srv.Players), objects(srv.Teams)})
}

// columns returns the names of the columns for people: without the endings that
// mark them as such in the protocols.
func columns(t master.Table) []string {
	var names []string
	for i := range t.Columns() {
		name := t.Names().Name(i)
		names = append(names, printable(strings.TrimSuffix(strings.TrimSuffix(name, "_t"), "_")))
	}
	return names
}

// cells returns the rows of a table.
func cells(t master.Table) [][]string {
	rows := make([][]string, t.Rows())
	for r := range rows {
		for c := range t.Columns() {
			rows[r] = append(rows[r], t.Value(r, c))
		}
	}
	return rows
}
