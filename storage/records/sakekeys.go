package records

import (
	"encoding/binary"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// Keys in tableSakeMeta begin with one of these letters. Counts are two numbers of 8
// bytes: records and their bytes. They change with every record, so that nothing has to
// be counted. The count of all records is totalSake.
const (
	sakeGame       = 'G' // and the game: count of its records
	sakeLastID     = 'I' // and the key of a table: last id, 4 bytes; stays when the table is deleted
	sakeTables     = 'K' // and the game: count of its tables
	sakeLastTable  = 'L' // number of the last table, 4 bytes
	sakeTableKey   = 'N' // and the number of a table: its key in tableSakeTables
	sakeOwned      = 'O' // and the owner and the number of a table: count of the owner's records in it
	sakeOwner      = 'P' // and the owner: count of the owner's records
	sakeTableCount = 'T' // and the number of a table: count of its records
)

// sakeGameKey is the key of a count of a game.
func sakeGameKey(letter byte, game string) []byte { return append([]byte{letter}, game...) }

// sakeNumberKey is the key of a value of a table.
func sakeNumberKey(letter byte, table uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{letter}, table)
}

// sakeOwnerKey is the key of the count of a profile in all tables.
func sakeOwnerKey(owner storage.ProfileID) []byte { return append([]byte{sakeOwner}, idKey(owner)...) }

// sakeOwnedKey is the key of the count of a profile in a table.
func sakeOwnedKey(owner storage.ProfileID, table uint32) []byte {
	return binary.BigEndian.AppendUint32(append([]byte{sakeOwned}, idKey(owner)...), table)
}

// sakeTableName is the key of a table in tableSakeTables.
func sakeTableName(id storage.SakeTableID) []byte {
	return append(gamePrefix(id.Game), storage.Fold(id.Name)...)
}

// sakeLastIDKey is the key of the last id of a table.
func sakeLastIDKey(id storage.SakeTableID) []byte {
	return append([]byte{sakeLastID}, sakeTableName(id)...)
}

// sakeRecordKey is the key of a record: table and id.
func sakeRecordKey(table, id uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, table), id)
}

// sakeByOwnerKey is the key of a record in the index of owners: owner, table and id.
func sakeByOwnerKey(owner storage.ProfileID, table, id uint32) []byte {
	return append(idKey(owner), sakeRecordKey(table, id)...)
}

// sakeRatingKey is the key of a rating: table, id and author.
func sakeRatingKey(table, id uint32, rater storage.ProfileID) []byte {
	return append(sakeRecordKey(table, id), idKey(rater)...)
}

// sakeTable is the record of a table.
type sakeTable struct {
	Game    string               `json:"game"`
	Name    string               `json:"name"`
	Number  uint32               `json:"number"` // never reused
	Columns []storage.SakeColumn `json:"columns"`
}

func (t *sakeTable) id() storage.SakeTableID {
	return storage.SakeTableID{Game: t.Game, Name: t.Name}
}

// sakeTable returns the table under a key or ErrNoTable.
func (v *view) sakeTable(key []byte) (sakeTable, error) {
	t, err := get[sakeTable](v, tableSakeTables, key)
	if isMissing(err) {
		err = storage.ErrNoTable
	}
	return t, err
}

// sakeCount is a sum as package storage has it.
func (s sum) sakeCount() storage.SakeCount {
	return storage.SakeCount{Records: int(s.records), Bytes: s.bytes}
}

// getSakeTable returns a table or ErrNoTable.
func getSakeTable(v *view, id storage.SakeTableID) (sakeTable, error) {
	return v.sakeTable(sakeTableName(id))
}

// sakeTableOf returns the table with a number.
func sakeTableOf(v *view, number uint32) (sakeTable, error) {
	return v.sakeTable(v.entry(tableSakeMeta, sakeNumberKey(sakeTableKey, number), 0))
}

// sakeNumber returns a number of 4 bytes; 0 if there is none.
func (v *view) sakeNumber(key []byte) uint32 {
	content := v.entry(tableSakeMeta, key, 4)
	if content == nil {
		return 0
	}
	return binary.BigEndian.Uint32(content)
}

// countSake changes a count. One of 0 is removed.
func (c *change) countSake(key []byte, by sum) { c.addSum(tableSakeMeta, key, by) }

// sakeCounts returns the keys of the counts to which the records of an owner in a table
// belong, besides that of all records.
func sakeCounts(t *sakeTable, owner storage.ProfileID) [][]byte {
	return [][]byte{sakeGameKey(sakeGame, t.Game), sakeNumberKey(sakeTableCount, t.Number), sakeOwnerKey(owner), sakeOwnedKey(owner, t.Number)}
}

// sakeCountKeys returns all that countSakeRecord reads.
func (c *change) sakeCountKeys(t *sakeTable, owner storage.ProfileID) []engine.Key {
	return append(c.totalKeys(totalSake), keysIn(tableSakeMeta, sakeCounts(t, owner))...)
}

// countSakeRecord changes all counts to which a record belongs.
func (c *change) countSakeRecord(t *sakeTable, owner storage.ProfileID, by sum) {
	if by == (sum{}) {
		return
	}
	c.load(c.sakeCountKeys(t, owner)...)
	for _, key := range sakeCounts(t, owner) {
		c.countSake(key, by)
	}
	c.addTotal(totalSake, by)
}

// sakeRow returns the row of a record and the size of its stored form, or ErrNotFound.
// It shares the memory of the step.
func sakeRow(v *view, table, id uint32) (r storage.SakeRow, size int, err error) {
	key := sakeRecordKey(table, id)
	value, err := v.stored(tableSakeRecords, key)
	if err != nil {
		return r, 0, err
	}
	return r, len(value), about(tableSakeRecords, key, openSakeRow(key, value, &r))
}

// openSakeRow reads the row under a key into r. It shares the memory of v.
func openSakeRow(key, v []byte, r *storage.SakeRow) error {
	payload, err := unseal(key, v)
	if err != nil {
		return err
	}
	return r.Open(binary.BigEndian.Uint32(key[4:]), payload)
}

// sealSakeRow returns the value of a record under a key.
func sealSakeRow(key []byte, rec *storage.SakeRecord, columns []uint32) []byte {
	value := storage.AppendSakeRow(make([]byte, recordHeader, recordHeader+32+24*len(rec.Fields)), rec, columns)
	value[0] = recordVersion
	binary.BigEndian.PutUint32(value[1:], engine.Checksum(value[recordHeader:]))
	binary.BigEndian.PutUint32(value[valueHeader:], engine.Checksum(key))
	return value
}
