//go:build ignore

// Command schema7 makes schema7.db, a file as schema 7 wrote it: with records of every
// kind, and a server list of two saves. It needs package storage/bolt as it was then; the
// last commit with schema 7 has it. Run it in this directory with "go run schema7.go".
package main

import (
	"context"
	"errors"
	"log"
	"net/netip"
	"os"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/bolt"
)

var (
	ctx   = context.Background()
	now   = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	later = now.Add(time.Hour)
)

func main() {
	const wide = "schema7.db.wide"
	s, err := bolt.Open(ctx, wide, bolt.Options{})
	if err != nil {
		log.Fatal(err)
	}
	err = errors.Join(lists(s), accounts(s), games(s), servers(s), s.SetCopyMark(ctx, "a copy"), s.Probe(ctx), s.Close(), compact(wide, "schema7.db"), os.Remove(wide))
	if err != nil {
		log.Fatal(err)
	}
}

// lists stores what a daemon reads when it starts.
func lists(s *bolt.Store) error {
	_, game := s.PutGame(ctx, storage.Game{Name: "gmtest", Doc: []byte("name: gmtest\n"), Changed: now})
	_, room := s.PutRoom(ctx, storage.Room{
		ID: 3, Game: "gmtest", Name: "Newcomers", MaxWaiting: 50, Fields: []storage.Field{{Name: "motd", Value: "hi"}},
	})
	_, other := s.PutRoom(ctx, storage.Room{Game: "gmtest", Name: "Others", MaxWaiting: 50})
	_, audit := s.AddAudit(ctx, storage.AuditEntry{Time: now, Action: "test"})
	return errors.Join(game, room, other, audit,
		s.AddBan(ctx, storage.Ban{Prefix: netip.MustParsePrefix("192.0.2.0/24"), Scope: storage.ScopeLists, Reason: "flood", By: "admin", Added: now}),
		s.PutProductKeys(ctx, []storage.ProductKey{{
			ProductKeyID: storage.ProductKeyID{Product: 461, Hash: strings.Repeat("a", 32)}, Banned: true, Reason: "shared", Added: now,
		}}),
		s.PutMotd(ctx, storage.Motd{Game: "gmtest", Text: "welcome", Set: now}),
		s.PutPatch(ctx, storage.Patch{PatchID: storage.PatchID{Product: 461, Version: "1.0"}, Name: "1.1", URL: "http://example.com/", Added: now}),
		s.AddServer(ctx, storage.AddedServer{Address: "192.0.2.7:6500", Protocol: "a2s", Added: now}),
		s.HideServer(ctx, storage.HiddenServer{Address: netip.MustParseAddrPort("192.0.2.8:6500"), Added: now}))
}

// accounts stores two users with three profiles; the last user and profile are deleted.
func accounts(s *bolt.Store) error {
	_, ann, err := s.CreateUser(ctx, storage.User{Email: "ann@example.com", Created: now}, storage.Profile{
		Nick: "Ann", UniqueNicks: []storage.UniqueNick{{Namespace: 1, Nick: "Ann", Key: "ann"}},
		CDKeys: []storage.CDKey{{Game: "gmtest", Digest: "0123"}}, Created: now,
	})
	if err != nil {
		return err
	}
	ben, err := s.CreateProfile(ctx, storage.Profile{User: 1, Nick: "Ben", Created: now})
	if err != nil {
		return err
	}
	player := storage.WithAudit(ctx, storage.AuditEntry{Time: now, Action: "delete", Via: storage.ViaPlayer})
	gone, last, err := s.CreateUser(ctx, storage.User{Email: "gone@example.com", Created: now}, storage.Profile{Nick: "Gone", Created: now})
	return errors.Join(err, s.AddBuddy(ctx, ann.ID, ben.ID), s.AddBlock(ctx, ben.ID, last.ID),
		s.AddBlock(ctx, ben.ID, ann.ID), s.Ask(ctx, storage.Request{From: ann.ID, To: last.ID, Sent: now, Signature: strings.Repeat("0", 32)}),
		s.Ask(ctx, storage.Request{From: ben.ID, To: ann.ID, Sent: now, Signature: strings.Repeat("0", 32)}),
		s.Leave(ctx, ann.ID, storage.Message{From: ben.ID, Kind: storage.MessageText, Text: "hi", Sent: now}),
		s.DeleteUser(player, gone.ID))
}

// games stores what games store for players.
func games(s *bolt.Store) error {
	everything := storage.FileUsage{Files: 100, Bytes: 1 << 30}
	_, file := s.CreateFile(ctx, storage.File{Game: "gmtest", Owner: 1, Name: "f.bin", Size: 7, Hash: strings.Repeat("a", 64), Created: now}, everything, everything)
	_, other := s.CreateFile(ctx, storage.File{Game: "gmtest", Owner: 2, Name: "g.bin", Size: 70, Hash: strings.Repeat("b", 64), Created: now}, everything, everything)
	levels := storage.SakeTableID{Game: "gmtest", Name: "levels"}
	var sake error
	for owner := storage.ProfileID(1); owner <= 2; owner++ {
		_, err := s.CreateSakeRecord(ctx, levels, owner, []storage.SakeField{
			{Name: "name", Value: storage.SakeValue{Type: storage.SakeASCII, Text: []byte("first")}},
		}, storage.SakeLimits{})
		sake = errors.Join(sake, err)
	}
	_, rated := s.RateSakeRecord(ctx, levels, 1, 2, 5)
	block := storage.StatBlockID{Game: "gmtest", Profile: 1, Kind: storage.StatPublicWrite}
	_, stat := s.EditStatBlock(ctx, block, 1000, now, func([]byte) ([]byte, error) { return []byte("\\level\\7"), nil })
	_, report := s.PutReport(ctx, storage.Report{Game: "gmtest", Conn: 5, Started: now, Updated: now, Pairs: []byte("\\map\\one")}, nil, storage.ReportLimits{})
	guid := "11111111-1111-1111-1111-111111111111"
	_, match := s.PutMatch(ctx, storage.Match{
		Game: "gmtest", Session: guid, Outcome: storage.MatchOpen, Began: now, First: now,
		Sides:    []storage.MatchSide{{Profile: 1, Nick: "Ann", Conns: []string{guid}, Host: true, Version: 1}},
		Players:  []storage.MatchPlayer{{Profile: 1, Nick: "Ann", Team: 10, Result: "win"}},
		Teams:    []storage.MatchTeam{{ID: 10, Result: "win"}},
		Versions: []storage.MatchVersion{{Report: []byte{1, 2, 3}, At: now}},
	}, nil, 10)
	return errors.Join(file, other, sake, rated, stat, report, match,
		s.PutScore(ctx, storage.Score{ScoreID: storage.ScoreID{Game: "gmtest", Board: "kills", Profile: 1}, Value: 3, Updated: now}))
}

// servers saves a list of 2 servers, and again with a change of one.
func servers(s *bolt.Store) error {
	for save := range 2 {
		_, err := s.SaveServers(ctx, func(yield func(storage.ListedServer) bool) {
			for l := range storage.WholeList(twoServers) {
				l.Changed = save == 0 || l.Source.Port() == 6501
				if !yield(l) {
					return
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func twoServers(yield func(storage.Server) bool) {
	for port := uint16(6500); port < 6502; port++ {
		v := storage.Server{
			Source: netip.AddrPortFrom(netip.MustParseAddr("192.0.2.1"), port), Instance: uint32(port), Game: "gmtest", Origin: "qr2",
			Rules: []byte("hostname\x00one\x00\x00"), First: now, Seen: later,
		}
		if !yield(v) {
			return
		}
	}
}

// compact copies a file without its free pages.
func compact(from, to string) error {
	src, err := bbolt.Open(from, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	dst, err := bbolt.Open(to, 0o600, &bbolt.Options{PageSize: 4096})
	if err != nil {
		return err
	}
	return errors.Join(bbolt.Compact(dst, src, 0), src.Close(), dst.Close())
}
