// Package configs reads and checks the operator's settings into a configuration
// that other packages declare: a struct whose fields are keys.
//
// The comment of a field explains the key; its tags state the allowed values,
// the default, and whether a reload applies it. The names of environment
// variables, the checks and the reports of a reload are derived from that; so
// are the commented default.yaml and the table of limits in docs/, which `go
// test ./daemon/services -update` writes.
//
// A file, the environment and flags override the defaults, in this order; the
// last one that sets a key wins. Load reports all mistakes at once.
//
// The package knows types and ranges, but not the keys nor their use by
// services. It opens no socket and no file but the configuration, and never
// reads the environment of the process. It also embeds files of the program:
// the defaults and the games.
package configs

import _ "embed"

//go:embed default.yaml
var defaultYAML string

// Games holds facts about games beyond the tables, as YAML in the form of
// games.file. It must not be changed.
//
//go:embed games.yaml
var Games []byte

// GameTable, RoomTable and EditionTable are the tables of games, of their rooms, and of the
// copies that were sold.
var (
	//go:embed games.tsv
	GameTable string
	//go:embed rooms.tsv
	RoomTable string
	//go:embed editions.tsv
	EditionTable string
)

// Default returns default.yaml: every key with its default and a comment that
// explains it. The caller owns the slice.
func Default() []byte { return []byte(defaultYAML) }
