//go:build manual

package commands

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
)

// buildCommands returns the command that writes the manual. It is in a build of its
// own, so that the program does not contain its dependencies.
func buildCommands(con *cli.Console) []*cobra.Command {
	return []*cobra.Command{{
		Use:    "manual FOLDER",
		Short:  "Write manual pages and completions for packages",
		Hidden: true,
		Args:   cli.Usage(cobra.ExactArgs(1)),
		RunE:   func(cmd *cobra.Command, args []string) error { return writeManual(cmd.Root(), con.Release, args[0]) },
	}}
}

// manualSections returns the sections that only the first page has, in the form of
// Markdown that cobra turns into a page.
func manualSections(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# COMMANDS\n")
	var list func(*cobra.Command)
	list = func(c *cobra.Command) {
		if c.IsAvailableCommand() && !c.HasSubCommands() {
			use, _ := strings.CutSuffix(c.UseLine(), " [flags]")
			fmt.Fprintf(&b, "\n**%s**\n:   %s\n", use, c.Short)
		}
		for _, sub := range c.Commands() {
			list(sub)
		}
	}
	list(root)
	b.WriteString("\n# FILES\n\n**/etc/respawnd/respawnd.yaml**\n:   settings of the installed service; **respawnd config** prints all of them\n" +
		"\n**/var/lib/respawnd**\n:   its data\n\n**/usr/share/doc/respawnd/docs**\n:   the documentation\n")
	return b.String()
}

// writeManual writes a page for each command to the folder man1 of a folder, and
// completions beside it, under the names by which shells look for them.
func writeManual(root *cobra.Command, release, folder string) error {
	pages := filepath.Join(folder, "man1")
	if err := os.MkdirAll(pages, 0o755); err != nil { //nolint:gosec // files of packages are for all
		return err
	}
	root.DisableAutoGenTag = true // the day of the build
	root.Long += "\n\n" + manualSections(root)
	addExamples(root)
	err := doc.GenManTreeFromOpts(root, doc.GenManTreeOptions{
		Header:           &doc.GenManHeader{Title: "RESPAWND", Section: "1", Source: "respawnd " + release, Manual: "respawnd"},
		Path:             pages,
		CommandSeparator: "-",
	})
	if err != nil {
		return fmt.Errorf("manual pages: %w", err)
	}
	for name, write := range map[string]func(string) error{
		"respawnd":      func(path string) error { return root.GenBashCompletionFileV2(path, true) },
		"_respawnd":     root.GenZshCompletionFile,
		"respawnd.fish": func(path string) error { return root.GenFishCompletionFile(path, true) },
	} {
		if err := write(filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("completions: %w", err)
		}
	}
	return nil
}
