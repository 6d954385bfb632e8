// Command respawnd is a daemon that restores the multiplayer of GameSpy-era
// games: it implements the server side of their protocols. Its command line is
// package commands; this one holds nothing else.
package main

import (
	"os"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
)

// release is set when a release is built.
var release = "dev"

func main() { os.Exit(commands.Main(release)) }
