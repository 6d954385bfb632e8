package commands

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// samples are what examples have in place of the words of a command's usage line: those of a command, by its
// path, and those of all others.
var samples = map[string][]string{
	"": {
		"EMAIL|UNIQUENICK|ID", "ann@example.org", "E", "ann@example.org", "N", "Ann", "UNIQUENICK", "Ann", "WHO", "Ann",
		"CIDR|IP", "192.0.2.7", "A.B.C.D", "192.0.2.1", "ADDRESS", "respawnd.example.org", "HOST", "respawnd.example.org",
		"IP:PORT", "192.0.2.7:27015", "HOST:PORT", "192.0.2.7:27015", "PROTOCOL", "a2s", "DOMAIN", "example.org",
		"KEY...", "1234-5678-9012-3456", "KEY|HASH", "1234-5678-9012-3456", "ID", "7", "PROFILE", "7", "KIND", "3", "INDEX", "0",
		"GAME", "swat4", "GAME...", "ut swat4", "WORDS", "'civ 4'", "FOLDER|URL", "https://cdn.example.org/list", "ROOM", "swat4", "TABLE", "maps", "TEXT", "'Welcome back'", "URL", "http://respawnd.example.org:8080",
	},
	"account export": {"FILE", "accounts.jsonl"}, "account import": {"FILE", "accounts.jsonl"},
	"clan add": {"TAG", "abc"}, "backup": {"FILE", "respawnd.tar"}, "restore": {"FILE", "respawnd.tar"}, "cdkey import": {"FILE", "keys.txt"}, "files get": {"FILE", "map.zip"},
	"game import": {"FILE", "gslist.cfg"}, "game add": {"NAME", "mygame"}, "game remove": {"NAME", "mygame"}, "game show": {"NAME", "swat4"},
	"game room add": {"NAME", "Lobby"}, "patch add": {"NAME", "1.1"}, "point patch": {"FILE", "game.exe"},
	"played strike": {"ID", "2026-11-28/swat4/3f2a9c"}, "played restore": {"ID", "2026-11-28/swat4/3f2a9c"},
	"replay": {"FILE", "swat4.jsonl"}, "stats export": {"FILE", "stats.jsonl"}, "stats import": {"FILE", "stats.jsonl"},
	"cluster prepare": {"FOLDER", "cluster", "NAME=HOST...", "n1=10.0.0.1 n2=10.0.0.2 --url-file postgres.url"},
	"doctor":          {"[HOST[:PORT]]", "192.0.2.7:27015"}, "stats set": {"[TEXT]", `'\score\7'`},
	"webhook test": {"NAME", "", "|", ""}, "storage copy": {"--from", "--from bolt", "--to", "--to postgres", "STORE", ""},
}

// sampleFlags are the flags that an example has if the command has them, with their values.
var sampleFlags = []string{"for", "24h", "reason", "'see the forum'", "product", "10469", "version", "1.0", "key", "K7nq0c6ZpX3vS1yT9bWfRm2uLhJdG8eAoViQxNkE4sY"}

// addExamples gives commands their examples, which follow from their usage lines.
func addExamples(root *cobra.Command) {
	for _, sub := range root.Commands() {
		addExamples(sub)
	}
	if root.HasParent() && (!root.HasSubCommands() || root.Name() == "point") {
		root.Example = "  " + example(root)
	}
}

func example(cmd *cobra.Command) string {
	path := cmd.CommandPath()
	words := []string{path}
	_, name, _ := strings.Cut(path, " ")
	optional := 0 // brackets that are open
	for _, word := range strings.Fields(cmd.Use)[1:] {
		value := sample(name, word)
		if value == word {
			optional += strings.Count(word, "[")
		}
		if optional == 0 && value != "" {
			words = append(words, value)
		}
		if value == word || optional > 0 {
			optional -= strings.Count(word, "]")
		}
	}
	for pair := range slices.Chunk(sampleFlags, 2) {
		if cmd.Flags().Lookup(pair[0]) != nil {
			words = append(words, "--"+pair[0], pair[1])
		}
	}
	return strings.Join(words, " ")
}

// sample returns what an example of a command has in place of a word.
func sample(name, word string) string {
	for _, list := range [][]string{samples[name], samples[""]} {
		for pair := range slices.Chunk(list, 2) {
			if pair[0] == word {
				return pair[1]
			}
		}
	}
	return word
}
