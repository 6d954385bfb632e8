package records

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// sessionRow is a session in the value of its user, which has all of them in the order of
// fences: a sign-in reads and changes that one value.
type sessionRow struct {
	storage.LiveSession

	displaced bool
}

// sessionRowSize is the size of a row: run, id, fence (8 bytes each), profile (4 bytes), the
// rule by which it displaces others, and whether it was displaced.
const sessionRowSize = 8 + 8 + 8 + 4 + 1 + 1

// rowsOf returns the sessions of a user.
func (v *view) rowsOf(user storage.UserID) (rows []sessionRow) {
	content := v.entry(tableSessions, idKey(user), 0)
	if len(content)%sessionRowSize != 0 {
		v.failed(fmt.Errorf("%s %d: %w: %d bytes", tableSessions, user, storage.ErrDamaged, len(content)))
		return nil
	}
	for b := range slices.Chunk(content, sessionRowSize) {
		rows = append(rows, sessionRow{storage.LiveSession{
			Run: binary.BigEndian.Uint64(b), ID: binary.BigEndian.Uint64(b[8:]), Fence: binary.BigEndian.Uint64(b[16:]),
			Profile: storage.ProfileID(binary.BigEndian.Uint32(b[24:])), User: user, Displaces: storage.Displaces(b[28]),
		}, b[29] != 0})
	}
	return rows
}

// putRows stores the sessions of a user.
func (c *change) putRows(user storage.UserID, rows []sessionRow) {
	if len(rows) == 0 {
		c.delete(tableSessions, idKey(user))
		return
	}
	slices.SortFunc(rows, func(a, b sessionRow) int { return cmp.Compare(a.Fence, b.Fence) })
	content := make([]byte, 0, len(rows)*sessionRowSize)
	for _, r := range rows {
		content = binary.BigEndian.AppendUint64(content, r.Run)
		content = binary.BigEndian.AppendUint64(content, r.ID)
		content = binary.BigEndian.AppendUint64(content, r.Fence)
		content = binary.BigEndian.AppendUint32(content, uint32(r.Profile))
		content = append(content, byte(r.Displaces), flag(r.displaced))
	}
	c.putEntry(tableSessions, idKey(user), content)
}

// displace marks the sessions of a user that a new one displaces and returns them.
func (c *change) displace(rows []sessionRow, by *storage.LiveSession) (displaced []storage.LiveSession) {
	for i := range rows {
		r := &rows[i]
		if r.displaced || !by.Over(&r.LiveSession) {
			continue
		}
		r.displaced = true
		displaced = append(displaced, r.LiveSession)
		c.putEntry(tableDisplaced, placeKey(r.Run, r.ID), nil)
	}
	return displaced
}

// place says whose session has an id in a run: tableSessionsOf has it under both.
type place struct {
	id      uint64
	user    storage.UserID
	profile storage.ProfileID
}

func placeKey(run, id uint64) []byte { return append(numberKey(run), numberKey(id)...) }

func openPlace(key, content []byte) place {
	return place{
		binary.BigEndian.Uint64(key[8:]), storage.UserID(binary.BigEndian.Uint32(content)),
		storage.ProfileID(binary.BigEndian.Uint32(content[4:])),
	}
}

func (c *change) putPlace(e *storage.LiveSession) {
	c.putEntry(tableSessionsOf, placeKey(e.Run, e.ID), append(idKey(e.User), idKey(e.Profile)...))
}

// placesOf returns the places of the sessions of a run, up to most of them; 0: all.
func (v *view) placesOf(run uint64, most int) (all []place) {
	r := engine.Prefix(tableSessionsOf, numberKey(run))
	r.Limit, r.Loose = most, most == 0 // all are only looked at
	for e := range v.entries(r, 8) {
		all = append(all, openPlace(e.Key, e.Value))
	}
	return all
}

func displacedRange(run uint64) engine.Range {
	r := engine.Prefix(tableDisplaced, numberKey(run))
	r.Loose = true
	return r
}

// displacedOf returns the ids of the sessions of a run that were displaced.
func displacedOf(v *view, run uint64) (ids []uint64) {
	for e := range v.entries(displacedRange(run), 0) {
		ids = append(ids, binary.BigEndian.Uint64(e.Key[8:]))
	}
	return ids
}

// dropSessions removes sessions of a run.
func (c *change) dropSessions(run uint64, all []place) {
	slices.SortFunc(all, func(a, b place) int { return cmp.Compare(a.user, b.user) })
	users := slices.CompactFunc(slices.Clone(all), func(a, b place) bool { return a.user == b.user })
	c.loadUsers(users)
	gone := make(map[uint64]bool)
	for _, p := range all {
		gone[p.id] = true
		c.delete(tableSessionsOf, placeKey(run, p.id))
		c.delete(tableDisplaced, placeKey(run, p.id))
	}
	for _, p := range users {
		rows := slices.DeleteFunc(c.rowsOf(p.user), func(r sessionRow) bool { return r.Run == run && gone[r.ID] })
		c.putRows(p.user, rows)
	}
}

// loadUsers loads the sessions of the users of places.
func (c *change) loadUsers(users []place) {
	loadEach(c, tableSessions, users, func(p place) []byte { return idKey(p.user) })
}

// sameSession reports whether two sessions have one place.
func sameSession(a, b *storage.LiveSession) bool { return a.Run == b.Run && a.ID == b.ID }
