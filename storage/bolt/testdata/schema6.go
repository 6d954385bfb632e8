//go:build ignore

// Command schema6 makes schema6.db, a file as schema 6 wrote it: with what
// games store, and users and profiles in JSON. Run it in this directory with
// "go run schema6.go".
package main

import (
	"encoding/binary"
	"hash/crc32"
	"log"
	"strings"

	"go.etcd.io/bbolt"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record returns the value of a record under a key.
func record(key, json string) string {
	head := binary.BigEndian.AppendUint32([]byte{2}, crc32.Checksum([]byte(json), castagnoli))
	return string(binary.BigEndian.AppendUint32(head, crc32.Checksum([]byte(key), castagnoli))) + json
}

// entry returns the value of an entry of an index, a pair or a number.
func entry(key, content string) string {
	return content + string(binary.BigEndian.AppendUint32(nil, crc32.Checksum([]byte(key+content), castagnoli)))
}

func main() {
	db, err := bbolt.Open("schema6.db", 0o600, &bbolt.Options{PageSize: 4096})
	if err != nil {
		log.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range []string{
			"servers", "added_servers", "hidden_servers", "users", "users_by_email", "profiles", "nicks", "uniquenicks", "cdkeys", "found_by",
			"buddies", "buddy_of", "blocks", "blocked_by", "requests", "requests_from", "mailboxes", "audit", "audit_players",
			"chat_rules", "product_keys",
			"motds", "patches", "files", "files_by_owner", "files_by_hash", "file_usage",
			"sake_tables", "sake_records", "sake_by_owner", "sake_ratings", "sake_meta",
			"stat_blocks", "stat_sums", "reports", "reports_of", "report_runs", "scores", "ranks", "rank_chunks",
			"matches", "matches_of", "matches_open", "match_players",
		} {
			if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
				return err
			}
		}
		for _, e := range []struct{ bucket, key, value string }{
			{"meta", "app", "respawnd"},
			{"meta", "schema", "\x00\x00\x00\x00\x00\x00\x00\x06"},
			{"meta", "room", "\x00\x00\x00\x03"},
			{"games", "gmtest", `{"name":"gmtest","doc":"bmFtZTogZ210ZXN0Cg==","changed":"2026-11-01T12:00:00Z","rev":1}`},
			{"rooms", "\x00\x00\x00\x03", `{"id":3,"game":"gmtest","name":"Newcomers","max_waiting":50,"fields":[{"name":"motd","value":"hi"}],"rev":1}`},
			{"rooms_by_game", "gmtest\x00\x00\x00\x00\x03", ""},
			{"bans", "\x04\xc0\x00\x02\x00\x18\x02", `{"prefix":"192.0.2.0/24","scope":"lists","reason":"flood","by":"admin","added":"2026-11-01T12:00:00Z"}`},
			{"meta", "user", "\x00\x00\x00\x01"},
			{"meta", "profile", "\x00\x00\x00\x02"},
			{"meta", "audit", "\x00\x00\x00\x00\x00\x00\x00\x01"},
			{"users", "\x00\x00\x00\x01", `{"id":1,"email":"ann@example.com","rev":1}`},
			{"users_by_email", "\x00\x00\x00\x00ann@example.com", "\x00\x00\x00\x01"},
			{"profiles", "\x00\x00\x00\x01", `{"id":1,"user":1,"nick":"Ann","uniquenicks":[{"namespace":1,"nick":"Ann","key":"ann"}],"public_mask":0,"rev":1}`},
			{"profiles", "\x00\x00\x00\x02", `{"id":2,"user":1,"nick":"Ben","public_mask":0,"rev":2}`},
			{"nicks", "\x00\x00\x00\x01ann", "\x00\x00\x00\x01"},
			{"nicks", "\x00\x00\x00\x01ben", "\x00\x00\x00\x02"},
			{"uniquenicks", "\x00\x00\x00\x01ann", "\x00\x00\x00\x01"},
			{"found_by", "\x01ann\x00\x00\x00\x00\x01", ""},
			{"found_by", "\x01ben\x00\x00\x00\x00\x02", ""},
			{"buddies", "\x00\x00\x00\x01\x00\x00\x00\x02", ""},
			{"buddy_of", "\x00\x00\x00\x02\x00\x00\x00\x01", ""},
			{"mailboxes", "\x00\x00\x00\x01", `{"messages":[{"from":2,"kind":1,"text":"hi","sent":"2026-11-01T12:00:00Z"}]}`},
			{"product_keys", "\x00\x00\x01\xcd" + strings.Repeat("a", 32), `{"product":461,"hash":"` + strings.Repeat("a", 32) + `","banned":true,"reason":"shared","added":"2026-11-01T12:00:00Z"}`},
			{"audit", "\x00\x00\x00\x00\x00\x00\x00\x01", `{"seq":1,"time":"2026-11-01T12:00:00Z","action":"test"}`},
		} {
			b, err := tx.CreateBucketIfNotExists([]byte(e.bucket))
			if err != nil {
				return err
			}
			if err := b.SetSequence(2); err != nil {
				return err
			}
			value := entry(e.key, e.value)
			switch {
			case e.key == "app" || e.key == "schema":
				value = e.value
			case strings.HasPrefix(e.value, "{"):
				value = record(e.key, e.value)
			}
			if err := b.Put([]byte(e.key), []byte(value)); err != nil {
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
