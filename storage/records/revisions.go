package records

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

var _ storage.Revisions = Shared{}

// heldAs returns the name under which daemons hold a table in memory, "" if they do not.
func heldAs(t engine.Table) string {
	switch t {
	case tableBans:
		return storage.TableBans
	case tableChatRules:
		return storage.TableChatRules
	case tableGames, tableRooms:
		return storage.TableGames
	case tableAddedServers, tableHiddenServers:
		return storage.TableListings
	case tableMotds, tablePatches:
		return storage.TableNews
	case tablePlayReports:
		return storage.TablePlayReports
	case tableProductKeys:
		return storage.TableKeys
	}
	return ""
}

// changes records that the step changes a table.
func (c *change) changes(t engine.Table) {
	c.wrote = true
	if name := heldAs(t); name != "" && !slices.Contains(c.held, name) {
		c.held = append(c.held, name)
	}
}

// raiseRevisions raises the numbers of the tables that daemons hold in memory and that the
// step changes.
func (c *change) raiseRevisions() error {
	for _, name := range c.held {
		n := uint64(0)
		old, err := getEntry(c, tableRevisions, []byte(name), 8)
		if err != nil {
			return err
		}
		if old != nil {
			n = binary.BigEndian.Uint64(old)
		}
		c.putEntry(tableRevisions, []byte(name), numberKey(n+1))
	}
	return nil
}

// Revisions is described in [storage.Revisions].
func (s Shared) Revisions(ctx context.Context) (revisions map[string]int64, err error) {
	err = s.view(ctx, func(tx engine.Reader) error {
		revisions = make(map[string]int64)
		for e, err := range scanEntries(tx, whole(tableRevisions), 8) {
			if err != nil {
				return err
			}
			revisions[string(e.Key)] = int64(binary.BigEndian.Uint64(e.Value))
		}
		return nil
	})
	return revisions, err
}
