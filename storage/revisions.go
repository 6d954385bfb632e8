package storage

import "context"

// The tables that daemons hold in memory, as Revisions names them.
const (
	TableBans      = "bans"
	TableChatRules = "chat_rules"
	TableGames     = "games"    // and rooms
	TableListings  = "listings" // added and hidden servers
	TableNews      = "news"     // messages of the day and patches
	TableKeys      = "product_keys"

	TablePlayReports = "play_reports"
)

// Revisions is implemented by engines that several daemons use at once.
type Revisions interface {
	// Revisions returns a number for each table that daemons hold in memory. It grows
	// with every change of the table, in the same step. A table that never changed may
	// be missing.
	Revisions(ctx context.Context) (map[string]int64, error)
}
