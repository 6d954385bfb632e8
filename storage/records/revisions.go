package records

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

var _ storage.Revisions = Shared{}

// heldAs has the names under which daemons hold tables in memory.
var heldAs = map[engine.Table]string{
	tableBans: storage.TableBans, tableChatRules: storage.TableChatRules,
	tableGames: storage.TableGames, tableRooms: storage.TableGames,
	tableAddedServers: storage.TableListings, tableHiddenServers: storage.TableListings,
	tableMotds: storage.TableNews, tablePatches: storage.TableNews,
	tablePlayReports: storage.TablePlayReports, tableProductKeys: storage.TableKeys,
}

// changes records that the step changes a table.
func (c *change) changes(t engine.Table) {
	c.wrote = true
	if name := heldAs[t]; name != "" && !slices.Contains(c.held, name) {
		c.held = append(c.held, name)
	}
}

// raiseRevisions raises the numbers of the tables that daemons hold in memory and that the
// step changes.
func (c *change) raiseRevisions() {
	for _, name := range c.held {
		n := uint64(0)
		if old := c.entry(tableRevisions, []byte(name), 8); old != nil {
			n = binary.BigEndian.Uint64(old)
		}
		c.putEntry(tableRevisions, []byte(name), numberKey(n+1))
	}
}

// Revisions is described in [storage.Revisions].
func (s Shared) Revisions(ctx context.Context) (map[string]int64, error) {
	return look(ctx, s.Store, func(v *view) map[string]int64 {
		revisions := make(map[string]int64)
		for e := range v.entries(whole(tableRevisions), 8) {
			revisions[string(e.Key)] = int64(binary.BigEndian.Uint64(e.Value))
		}
		return revisions
	})
}
