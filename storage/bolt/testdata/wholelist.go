//go:build ignore

// Command wholelist makes wholelist.db, a file of schema 3 whose server list is
// one generation with records in JSON and without an index. Run it in this
// directory with "go run wholelist.go".
package main

import (
	"encoding/binary"
	"hash/crc32"
	"log"

	"go.etcd.io/bbolt"
)

// wrap returns the value of a payload.
func wrap(payload string) []byte {
	head := binary.BigEndian.AppendUint32([]byte{1}, crc32.Checksum([]byte(payload), crc32.MakeTable(crc32.Castagnoli)))
	return append(head, payload...)
}

// chunk returns the payload of records.
func chunk(records ...string) string {
	var b []byte
	for _, r := range records {
		b = append(binary.AppendUvarint(b, uint64(len(r))), r...)
	}
	return string(b)
}

func main() {
	db, err := bbolt.Open("wholelist.db", 0o600, &bbolt.Options{PageSize: 4096})
	if err != nil {
		log.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range []string{
			"servers", "users", "users_by_email", "profiles", "nicks", "uniquenicks", "cdkeys", "found_by", "games", "rooms",
			"rooms_by_game", "bans", "added_servers", "hidden_servers", "audit", "audit_players",
			"buddies", "buddy_of", "blocks", "blocked_by", "requests", "requests_from", "mailboxes", "meta",
		} {
			if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
				return err
			}
		}
		meta, servers := tx.Bucket([]byte("meta")), tx.Bucket([]byte("servers"))
		if err := servers.SetSequence(5); err != nil {
			return err
		}
		generation, err := servers.CreateBucket([]byte("\x00\x00\x00\x00\x00\x00\x00\x05"))
		if err != nil {
			return err
		}
		for _, e := range []struct {
			bucket *bbolt.Bucket
			key    string
			value  []byte
		}{
			{meta, "app", []byte("respawnd")},
			{meta, "schema", []byte("\x00\x00\x00\x00\x00\x00\x00\x03")},
			{servers, "head", wrap(`{"generation":5,"chunks":2,"saved":"2026-11-01T12:00:30Z"}`)},
			{generation, "\x00\x00\x00\x00\x00\x00\x00\x00", wrap(chunk(
				`{"source":"192.0.2.1:6500","via":"198.51.100.1","instance":1,"game":"gmtest","origin":"qr2","public":"192.0.2.1:6500","local":["10.0.0.1:6500"],"natneg":true,"reachable":true,"country":"NZ","region":"32","rules":"aG9zdG5hbWUAT25lAAA=","first":"2026-11-01T11:00:00Z","seen":"2026-11-01T12:00:00.5Z"}`,
				`{"source":"[2001:db8::2%eth0]:6500","game":"gmtest","origin":"static","public":"[2001:db8::2]:6500","first":"2026-11-01T11:00:00Z","seen":"2026-11-01T12:00:01Z"}`))},
			{generation, "\x00\x00\x00\x00\x00\x00\x00\x01", wrap(chunk(
				`{"source":"192.0.2.3:6500","instance":3,"game":"gmtest","origin":"qr2","public":"192.0.2.3:6500","first":"2026-11-01T11:00:00Z","seen":"2026-11-01T12:00:02Z"}`))},
		} {
			if err := e.bucket.Put([]byte(e.key), e.value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}
}
