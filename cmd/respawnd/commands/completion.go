package commands

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/cmd/respawnd/players"
	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/probe"
	"github.com/respawnd/respawnd/storage"
)

// completeArgs completes the arguments and flags of a command and its subcommands in shells.
// Without that they suggest the files of the current folder everywhere.
func completeArgs(cmd *cobra.Command) {
	if !slices.Contains(strings.Fields(cmd.Use), "FILE") && cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = completeArg
	}
	add := func(f *pflag.Flag) {
		complete := cobra.NoFileCompletions
		switch f.Name {
		case "config":
			complete = cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt)
		case "data-dir":
			complete = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
		case "file":
			complete = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
		case "services":
			complete = completeWords(configs.Names(new(services.Config))...)
		case "log-level":
			complete = completeWords("trace", "debug", "info", "warn", "error")
		case "log-format":
			complete = completeWords("auto", formatConsole, formatJSON)
		case "scope":
			complete = completeWords(storage.ScopeAll.String(), storage.ScopeLists.String(), storage.ScopePresence.String(), storage.ScopeZandronum.String())
		case "game":
			complete = completeGame
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // fails only for flags that were registered
	}
	cmd.LocalNonPersistentFlags().VisitAll(add)
	cmd.PersistentFlags().VisitAll(add)
	for _, sub := range cmd.Commands() {
		completeArgs(sub)
	}
}

// completeArg suggests what the usage line names at the place of an argument.
func completeArg(cmd *cobra.Command, args []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
	words, at := strings.Fields(cmd.Use)[1:], len(args)
	if i := slices.IndexFunc(words, func(w string) bool { return strings.HasSuffix(w, "...") }); i >= 0 {
		at = min(at, i) // any number of them
	}
	if at >= len(words) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	switch word := strings.Trim(words[at], "[]."); {
	case word == "GAME", word == "ROOM", word == "NAME" && cmd.Parent().Name() == "game":
		return completeGame(cmd, args, text)
	case word == "PROTOCOL" && cmd.Name() == "query":
		return strings.Split(players.QueryWords(), ", "), cobra.ShellCompDirectiveNoFileComp
	case word == "PROTOCOL":
		return strings.Split(probe.ProtocolWords(), ", "), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// completeWords suggests words of a fixed list.
func completeWords(list ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
}

// completeGame suggests the built-in games that a text may mean, with their titles, the best first.
func completeGame(_ *cobra.Command, _ []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
	catalogue, err := operator.ReadGames("")
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	list := games.Search(catalogue.All(), text)
	names := make([]cobra.Completion, len(list))
	for i := range list {
		names[i] = cobra.CompletionWithDesc(list[i].Name, cli.Printable(list[i].Title))
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
