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
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/storage"
)

// fullFile returns the content of a store with records of every kind.
func fullFile(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "respawnd.db")
	s, err := Open(t.Context(), path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
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
		_, err = s.PutGame(ctx, storage.Game{Name: strings.ToLower(nick), Doc: make([]byte, 100), Changed: now})
		errs = append(errs, err)
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
	save(t, s, records(0, 20))
	errs = append(errs, fillStats(ctx, s, now))
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
func fillStats(ctx context.Context, s *Store, now time.Time) (err error) {
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
func askStats(ctx context.Context, s *Store, add func(question string, answer any, err error)) {
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

// answers asks a store everything that fullFile put into it and returns the
// answers by question. An answer that has an error is that error alone.
func answers(ctx context.Context, s *Store) map[string]string {
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
		p, err = s.ProfileByUniqueNick(ctx, 1, nick)
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
		list(add, "buddies "+nick, s.BuddiesOf(ctx, id))
		list(add, "blocks "+nick, s.BlocksOf(ctx, id))
		list(add, "requests "+nick, s.Requests(ctx, id))
	}
	messages, boxes, err := s.CountMessages(ctx)
	add("messages", [2]int{messages, boxes}, err)
	list(add, "who has as buddy", s.HaveAsBuddy(ctx, 1))
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

// reported is the answer to a question that gets an error.
const reported = "an error"

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

// flipped opens a copy of a file in which one bit is another, and returns which
// wrong answer it gives without a word. With later, the file is checked after it is
// opened, and asked after that.
func flipped(t *testing.T, content []byte, bit int, later bool, want map[string]string) string {
	t.Helper()
	bad := bytes.Clone(content)
	bad[bit/8] ^= 1 << (bit % 8)
	path := writeFile(t, bad)
	defer func() { _ = os.Remove(path) }()
	var log bytes.Buffer
	opt := testOptions()
	opt.Log, opt.CheckLater, opt.atOpen = zerolog.New(zerolog.SyncWriter(&log)), later, 1
	s, err := Open(t.Context(), path, opt)
	if err != nil {
		return "" // refused
	}
	_ = s.check.wait(t.Context()) // the answers show its error
	got := answers(t.Context(), s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if strings.Contains(log.String(), `"level":"error"`) {
		return "" // reported
	}
	for question, answer := range got {
		if answer != want[question] && answer != reported {
			return fmt.Sprintf("%s: %s, want %s", question, answer, want[question])
		}
	}
	return ""
}

// flipStep is the distance of the bits that are changed: a prime, so that every bit
// of a byte and every part of a page is among them. FLIP_STEP=1 changes each; CI takes
// smaller steps than the defaults.
func flipStep(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("FLIP_STEP"))
	switch {
	case err == nil && n > 0:
		return n
	case racetest.RaceDetector:
		return 499979
	}
	return 99991
}

// A store with one bit changed is refused, reports the records that it cannot read, or
// is right.
func TestFlippedBit(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("opens a store for every bit")
	}
	content := fullFile(t)
	s, err := Open(t.Context(), writeFile(t, content), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	want := answers(t.Context(), s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for question, answer := range want {
		if answer == reported || answer == "" || strings.Contains(answer, "not found") {
			t.Fatalf("%s: %s before any damage", question, answer)
		}
	}
	for bit := 0; bit < 8*len(content); bit += flipStep(t) {
		for _, later := range []bool{false, true} {
			if wrong := flipped(t, content, bit, later, want); wrong != "" {
				t.Errorf("bit %d of byte %d (page %d, offset %d; checked later: %t): %s", bit%8, bit/8, bit/8/os.Getpagesize(), bit/8%os.Getpagesize(), later, wrong)
			}
		}
	}
}
