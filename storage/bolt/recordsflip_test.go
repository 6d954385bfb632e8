package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/records"
	"github.com/respawnd/respawnd/storage/storagetest"
)

// twentyServers are servers of about one kilobyte each.
func twentyServers(yield func(storage.Server) bool) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for n := range 20 {
		server := storage.Server{
			Source: netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(n)}), 6500), Game: "gmtest", Origin: "qr2",
			Rules: bytes.Repeat([]byte("rule\x00value\x00"), 50), First: now, Seen: now,
		}
		if !yield(server) {
			return
		}
	}
}

// fullStore returns the content of a file with records of every kind.
func fullStore(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "respawnd.db")
	e, err := Open(t.Context(), path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	s := records.New(e, records.Options{})
	ctx, now := t.Context(), time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	var errs []error
	for i := range 30 {
		nick := fmt.Sprintf("Nick%02d", i)
		_, p, err := s.CreateUser(ctx, storage.User{Email: nick + "@example.com", Created: now}, storage.Profile{
			Nick: nick, FirstName: "Ann", UniqueNicks: []storage.UniqueNick{{Namespace: 1, Nick: nick, Key: strings.ToLower(nick)}},
			CDKeys: []storage.CDKey{{Game: "gmtest", Digest: nick}},
		})
		errs = append(errs, err)
		if i > 0 {
			errs = append(errs, s.AddBuddy(ctx, p.ID, 1), s.AddBlock(ctx, p.ID, p.ID-1),
				s.Ask(ctx, storage.Request{From: 1, To: p.ID, Sent: now, Signature: "0123456789abcdef0123456789abcdef"}),
				s.Leave(ctx, p.ID, storage.Message{From: 1, Kind: 1, Text: "hi", Sent: now}))
		}
		_, err = s.CreateSakeRecord(ctx, storage.SakeTableID{Game: "gmtest", Name: "levels"}, p.ID, []storage.SakeField{
			{Name: "name", Value: storage.SakeValue{Type: storage.SakeASCII, Text: []byte(nick)}},
		}, storage.SakeLimits{})
		errs = append(errs, err)
		_, err = s.RateSakeRecord(ctx, storage.SakeTableID{Game: "gmtest", Name: "levels"}, uint32(p.ID), 1, 5)
		errs = append(errs, err)
		errs = append(errs, s.SetGames(ctx, []storage.Game{{Name: strings.ToLower(nick), Doc: make([]byte, 100), Changed: now}}))
		_, err = s.PutRoom(ctx, storage.Room{Game: "gmtest", Name: nick})
		errs = append(errs, err)
		_, err = s.AddAudit(ctx, storage.AuditEntry{Time: now, Action: "test", Detail: nick})
		errs = append(errs, err)
		address := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), 6500)
		errs = append(errs,
			s.AddBan(ctx, storage.Ban{Prefix: netip.PrefixFrom(address.Addr(), 32), Scope: storage.ScopeAll, Added: now}),
			s.AddServer(ctx, storage.AddedServer{Address: address.String(), Protocol: "a2s", Added: now}),
			s.HideServer(ctx, storage.HiddenServer{Address: address, Added: now}))
	}
	_, saved := s.SaveServers(ctx, storagetest.WholeList(twentyServers))
	errs = append(errs, saved, fillStats(ctx, s, now))
	if err := errors.Join(append(errs, s.Close())...); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// fillStats stores blocks, scores and reports of all profiles.
func fillStats(ctx context.Context, s *records.Store, now time.Time) (err error) {
	for i := range 30 {
		id := storage.ProfileID(i + 1)
		block := storage.StatBlockID{Game: "gmtest", Profile: id, Kind: storage.StatPublicWrite, Index: int32(i)}
		_, set := s.EditStatBlock(ctx, block, 1000, now, func([]byte) ([]byte, error) { return make([]byte, 200), nil })
		_, put := s.PutReport(ctx, storage.Report{Game: "gmtest", Conn: uint64(i), Started: now, Updated: now, Pairs: make([]byte, 200)}, nil, storage.ReportLimits{})
		err = errors.Join(err, set, put, s.PutScore(ctx, storage.Score{
			ScoreID: storage.ScoreID{Game: "gmtest", Board: "kills", Profile: id}, Value: float64(i), Updated: now,
		}))
	}
	return err
}

// askStats asks everything that fillStats stored.
func askStats(ctx context.Context, s *records.Store, add func(question string, answer any, err error)) {
	for i := range 30 {
		id := storage.ProfileID(i + 1)
		list(add, fmt.Sprint("blocks of ", id), s.StatBlocks(ctx, id))
		list(add, fmt.Sprint("scores of ", id), s.ScoresOf(ctx, id))
		size, err := s.StatSizeOf(ctx, id)
		add(fmt.Sprint("size of ", id), size, err)
		score, err := s.RankOf(ctx, storage.ScoreID{Game: "gmtest", Board: "kills", Profile: id})
		add(fmt.Sprint("rank of ", id), score, err)
	}
	page, err := s.Ranking(ctx, "gmtest", "kills", 5, 10)
	add("ranking", page, err)
	list(add, "reports", s.Reports(ctx, "gmtest", 0))
	totals, err := s.StatTotals(ctx)
	add("totals of stats", totals, err)
}

// answers asks a store everything that fullStore put into it and returns the
// answers by question. An answer that has an error is that error alone.
func storeAnswers(ctx context.Context, s *records.Store) map[string]string {
	all, now := make(map[string]string), time.Time{}
	add := func(question string, answer any, err error) {
		all[question] = fmt.Sprintf("%+v", answer)
		if err != nil && !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, storage.ErrDeleted) {
			all[question] = reported
		} else if err != nil {
			all[question] = err.Error()
		}
	}
	for i := range 30 {
		nick, id := fmt.Sprintf("nick%02d", i), storage.ProfileID(i+1)
		u, err := s.GetUser(ctx, storage.UserID(id))
		add("user "+nick, u, err)
		u, err = s.UserByEmail(ctx, 0, nick+"@example.com")
		add("email "+nick, u, err)
		p, err := s.GetProfile(ctx, id)
		add("profile "+nick, p, err)
		p, err = s.ProfileByNick(ctx, u.ID, nick)
		add("nick "+nick, p, err)
		if all["email "+nick] == reported {
			all["nick "+nick] = reported // there was no id to ask with
		}
		p, _, err = s.ProfileByUniqueNick(ctx, 1, nick)
		add("unique nick "+nick, p, err)
		p, err = s.ProfileByCDKey(ctx, "gmtest", fmt.Sprintf("Nick%02d", i))
		add("CD key "+nick, p, err)
		sake, err := s.SakeRecords(ctx, storage.SakeTableID{Game: "gmtest", Name: "levels"}, []uint32{uint32(id)})
		for i := range sake {
			sake[i].Created, sake[i].Changed = now, now
		}
		add("SAKE record "+nick, sake, err)
		owned, err := s.SakeOwned(ctx, storage.SakeTableID{Game: "gmtest", Name: "levels"}, id)
		add("SAKE records of "+nick, owned.Records, err)
		ratings, err := s.SakeRatings(ctx, storage.SakeTableID{Game: "gmtest", Name: "levels"}, 1, []uint32{uint32(id)})
		add("SAKE rating of "+nick, ratings, err)
		r, err := s.Relation(ctx, id, 1)
		add("relation "+nick, r, err)
		g, err := s.GetGame(ctx, nick)
		add("game "+nick, g, err)
		m, err := s.GetRoom(ctx, storage.FirstFreeRoomID+uint32(id)-1)
		add("room "+nick, m, err)
		list(add, "found by "+nick, s.FindProfiles(ctx, storage.ByNick, nick))
		lists, err := s.Lists(ctx, id)
		add("lists "+nick, lists, err)
		list(add, "requests "+nick, s.Requests(ctx, id))
	}
	messages, boxes, err := s.CountMessages(ctx)
	add("messages", [2]int{messages, boxes}, err)
	list(add, "who has as buddy", s.Watchers(ctx, 1))
	list(add, "users", s.Users(ctx, 0))
	list(add, "games", s.Games(ctx))
	list(add, "rooms", s.Rooms(ctx, "gmtest"))
	list(add, "bans", s.Bans(ctx))
	list(add, "added", s.AddedServers(ctx))
	list(add, "hidden", s.HiddenServers(ctx))
	list(add, "audit", s.AuditLog(ctx, 0))
	list(add, "servers", s.LoadServers(ctx))
	askStats(ctx, s, add)
	return all
}

// list adds the answer of an iteration, in which one error is enough.
func list[R any](add func(question string, answer any, err error), question string, items iter.Seq2[R, error]) {
	var all []R
	for r, err := range items {
		if err != nil {
			add(question, nil, err)
			return
		}
		all = append(all, r)
	}
	add(question, all, nil)
}

// A store with one bit of its file changed is refused, reports the records that it cannot
// read, or is right.
func TestFlippedBitOfRecords(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("opens a store for every bit")
	}
	ask := func(ctx context.Context, e *Engine) map[string]string {
		return storeAnswers(ctx, records.New(e, records.Options{}))
	}
	flipBits(t, fullStore(t), 10*flipStep(), ask)
}
