package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/probe"
)

func (p *program) queryCommand() *cobra.Command {
	var asJSON bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "query PROTOCOL HOST:PORT",
		Short: "Query a game server for its rules and players",
		Long:  "Query a game server for its rules and players.\n\nProtocols: " + protocolWords() + ".",
		Args:  usage(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			protocol, err := probe.ParseProtocol(args[0])
			if err != nil {
				return usageError{err}
			}
			if _, _, err := net.SplitHostPort(args[1]); err != nil {
				return usageError{err}
			}
			if timeout <= 0 {
				return usageError{errors.New("--timeout: must be longer than 0")}
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			st, err := askOnce(ctx, protocol, args[1])
			switch {
			case errors.Is(err, context.DeadlineExceeded), errors.Is(err, probe.ErrNoAnswer):
				return fmt.Errorf("no answer from %s within %v: no server is there, it uses another protocol, or a firewall blocks the packets", args[1], timeout)
			case err != nil:
				return fmt.Errorf("%s: %w", args[1], err)
			}
			if asJSON {
				return p.queryJSON(args[0], args[1], &st)
			}
			return p.queryTables(&st)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().DurationVar(&timeout, "timeout", queryTimeout, "how long to wait for the answer")
	return cmd
}

// protocolWords returns the query protocols, for help texts.
func protocolWords() string { return strings.Join(protocolNames(), ", ") }

// protocolNames returns the names of the query protocols.
func protocolNames() (words []string) {
	for _, p := range probe.Protocols() {
		words = append(words, p.String())
	}
	return words
}

// queryTables prints rules, players and teams for people.
func (p *program) queryTables(st *probe.Status) error {
	var rules [][]string
	for _, f := range st.Rules {
		rules = append(rules, []string{printable(f.Name), dash(f.Value)})
	}
	if err := p.table("rule…\tvalue…", rules); err != nil {
		return err
	}
	for _, t := range []query.Table{st.Players, st.Teams} {
		if len(t.Rows) == 0 {
			continue
		}
		if err := p.say(""); err != nil {
			return err
		}
		var rows [][]string
		for _, row := range t.Rows {
			cells := make([]string, len(row))
			for i := range row {
				cells[i] = dash(row[i])
			}
			rows = append(rows, cells)
		}
		if err := p.table(strings.Join(columnTitles(t), "\t"), rows); err != nil {
			return err
		}
	}
	return nil
}

// queryJSON prints them for programs, under the names of /api/v1/servers. Of
// rules with the same name the first counts, as in the list.
func (p *program) queryJSON(protocol, address string, st *probe.Status) error {
	rules := make(map[string]string)
	for _, f := range slices.Backward(st.Rules) {
		rules[printable(f.Name)] = printable(f.Value)
	}
	objects := func(t query.Table) []map[string]string {
		list := make([]map[string]string, 0, len(t.Rows))
		for _, row := range t.Rows {
			o := make(map[string]string, len(row))
			for i := range row {
				o[printable(t.Columns[i])] = printable(row[i])
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
	}{protocol, address, rules, objects(st.Players), objects(st.Teams)})
}

// columnTitles returns the titles of the columns for people: without the endings
// that mark columns in the protocols. All are columns of text.
func columnTitles(t query.Table) []string {
	var names []string
	for _, name := range t.Columns {
		names = append(names, printable(strings.TrimSuffix(strings.TrimSuffix(name, "_t"), "_"))+ellipsis)
	}
	return names
}
