package records

import (
	"encoding/binary"
	"fmt"

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

// getSakeTable returns a table or ErrNoTable.
func getSakeTable(tx engine.Reader, id storage.SakeTableID) (sakeTable, error) {
	return sakeTableAt(tx, sakeTableName(id))
}

// sakeTableAt returns the table under a key or ErrNoTable.
func sakeTableAt(tx engine.Reader, key []byte) (sakeTable, error) {
	t, err := get[sakeTable](tx, tableSakeTables, key)
	if isMissing(err) {
		err = storage.ErrNoTable
	}
	return t, err
}

// sakeTableOf returns the table with a number.
func sakeTableOf(tx engine.Reader, number uint32) (t sakeTable, err error) {
	name, err := getEntry(tx, tableSakeMeta, sakeNumberKey(sakeTableKey, number), 0)
	if err == nil && name == nil {
		err = storage.ErrNoTable
	}
	if err != nil {
		return t, err
	}
	return sakeTableAt(tx, name)
}

// sakeNumber returns a number of 4 bytes; 0 if there is none.
func sakeNumber(tx engine.Reader, key []byte) (uint32, error) {
	content, err := getEntry(tx, tableSakeMeta, key, 4)
	if err != nil || content == nil {
		return 0, err
	}
	return binary.BigEndian.Uint32(content), nil
}

// sakeCount returns a count.
func sakeCount(tx engine.Reader, key []byte) (storage.SakeCount, error) {
	s, err := readSum(tx, tableSakeMeta, key)
	return storage.SakeCount{Records: int(s.records), Bytes: s.bytes}, err
}

// countAllSake returns the count of all records.
func countAllSake(tx engine.Reader) (storage.SakeCount, error) {
	all, err := readTotal(tx, totalSake)
	return storage.SakeCount{Records: int(all.records), Bytes: all.bytes}, err
}

// countSake changes a count. One of 0 is removed.
func (c *change) countSake(key []byte, by storage.SakeCount) {
	c.addSum(tableSakeMeta, key, sum{int64(by.Records), by.Bytes})
}

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
func (c *change) countSakeRecord(t *sakeTable, owner storage.ProfileID, by storage.SakeCount) {
	if by == (storage.SakeCount{}) {
		return
	}
	if c.failed(c.Load(c.sakeCountKeys(t, owner)...)) {
		return
	}
	for _, key := range sakeCounts(t, owner) {
		c.countSake(key, by)
	}
	c.addTotal(totalSake, sum{int64(by.Records), by.Bytes})
}

// sakeRow returns the row of a record and the size of its stored form, or ErrNotFound.
// It shares the memory of tx.
func sakeRow(tx engine.Reader, table, id uint32) (r storage.SakeRow, size int, err error) {
	key := sakeRecordKey(table, id)
	v, err := tx.Get(tableSakeRecords, key)
	switch {
	case err != nil:
		return r, 0, err
	case v == nil:
		return r, 0, storage.ErrNotFound
	}
	if err = openSakeRow(key, v, &r); err != nil {
		return r, 0, fmt.Errorf("%s %q: %w", tableSakeRecords, key, err)
	}
	return r, len(v), nil
}

// openSakeRow reads the row under a key into r. It shares the memory of v.
func openSakeRow(key, v []byte, r *storage.SakeRow) error {
	if err := checkKey(key, v); err != nil {
		return err
	}
	payload, err := unseal(v)
	if err != nil {
		return err
	}
	return r.Open(binary.BigEndian.Uint32(key[4:]), payload)
}

// sealSakeRow returns the value of a record under a key.
func sealSakeRow(key []byte, rec *storage.SakeRecord, columns []uint32) []byte {
	value := storage.AppendSakeRow(make([]byte, recordHeader, recordHeader+32+24*len(rec.Fields)), rec, columns)
	value[0] = recordVersion
	binary.BigEndian.PutUint32(value[1:], checksum(value[recordHeader:]))
	binary.BigEndian.PutUint32(value[valueHeader:], checksum(key))
	return value
}
