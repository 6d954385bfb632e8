package storagetest

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// statsLimit is a limit that no test of something else reaches.
const statsLimit = storage.MaxStatBytes

// second is a time in whole seconds.
func second(n int) time.Time { return time.Unix(int64(1_700_000_000+n), 0).UTC() }

func blockID(p storage.ProfileID, index int32) storage.StatBlockID {
	return storage.StatBlockID{Game: "gmtest", Profile: p, Kind: storage.StatPrivateWrite, Index: index}
}

// setBlock stores data and returns the block with them.
func setBlock(t tester, s storage.Store, id storage.StatBlockID, at time.Time, data string) storage.StatBlock {
	t.Helper()
	b, err := s.EditStatBlock(context.Background(), id, statsLimit, at, func([]byte) ([]byte, error) { return []byte(data), nil })
	if err != nil {
		t.Fatalf("EditStatBlock(%+v) = %v", id, err)
	}
	b.Data = []byte(data)
	return b
}

func sizeOf(t tester, s storage.Store, p storage.ProfileID, want storage.StatSize) {
	t.Helper()
	if got, err := s.StatSizeOf(context.Background(), p); got != want || err != nil {
		t.Errorf("StatSizeOf(%d) = %+v, %v, want %+v", p, got, err, want)
	}
}

// statCalls is every method of stats.
func statCalls(s storage.Store) map[string]func(context.Context) error {
	late := blockID(77, 1)
	score := storage.Score{ScoreID: storage.ScoreID{Game: "late", Board: "b", Profile: 77}}
	return map[string]func(context.Context) error{
		"GetStatBlock": func(ctx context.Context) error { return errOf(s.GetStatBlock(ctx, late)) },
		"EditStatBlock": func(ctx context.Context) error {
			_, err := s.EditStatBlock(ctx, late, statsLimit, moment(), func([]byte) ([]byte, error) { return nil, nil })
			return err
		},
		"DeleteStatBlock": func(ctx context.Context) error { return s.DeleteStatBlock(ctx, late) },
		"StatBlocks":      func(ctx context.Context) error { return firstError(s.StatBlocks(ctx, 77)) },
		"StatSizeOf":      func(ctx context.Context) error { return errOf(s.StatSizeOf(ctx, 77)) },
		"StatTotals":      func(ctx context.Context) error { return errOf(s.StatTotals(ctx)) },
		"DeleteStats":     func(ctx context.Context) error { return errOf(s.DeleteStats(ctx, 77)) },
		"ImportStats":     func(ctx context.Context) error { return s.ImportStats(ctx, 77, nil, nil) },
		"PutReport": func(ctx context.Context) error {
			_, err := s.PutReport(ctx, storage.Report{Game: "late"}, nil, storage.ReportLimits{})
			return err
		},
		"GetReport":    func(ctx context.Context) error { return errOf(s.GetReport(ctx, 77)) },
		"Reports":      func(ctx context.Context) error { return firstError(s.Reports(ctx, "late", 0)) },
		"DeleteReport": func(ctx context.Context) error { return s.DeleteReport(ctx, 77) },
		"SweepReports": func(ctx context.Context) error { return errOf(s.SweepReports(ctx, moment())) },
		"PutScore":     func(ctx context.Context) error { return s.PutScore(ctx, score) },
		"DeleteScore":  func(ctx context.Context) error { return s.DeleteScore(ctx, score.ScoreID) },
		"ScoresOf":     func(ctx context.Context) error { return firstError(s.ScoresOf(ctx, 77)) },
		"Ranking":      func(ctx context.Context) error { return errOf(s.Ranking(ctx, "late", "b", 0, 1)) },
		"RankOf":       func(ctx context.Context) error { return errOf(s.RankOf(ctx, score.ScoreID)) },
	}
}

func statTests() map[string]func(*testing.T, storage.Store) {
	return map[string]func(*testing.T, storage.Store){
		"set, get, replace, delete":                 testBlockLife,
		"games, kinds and players are apart":        testBlocksApart,
		"an edit sees the old data":                 testBlockEdit,
		"edits at once are all applied":             testBlockRace,
		"the time of a change grows":                testBlockModified,
		"bytes of a profile are limited":            testBlockBytes,
		"blocks of a profile are limited":           testBlockCount,
		"ids and data beyond the limits":            testBlockLimits,
		"deletion with the profile and the account": testBlocksDeleted,
		"import":                          testStatImport,
		"totals":                          testStatTotals,
		"report: begin, update, end":      testReportLife,
		"report: final ones count once":   testReportCredits,
		"report: limits":                  testReportLimits,
		"report: sweep":                   testReportSweep,
		"report: beyond the limits":       testReportInvalid,
		"scores: put, rank, delete":       testScoreLife,
		"scores: a model of the ranking":  testScoreModel,
		"scores: equal ones share a rank": testScoreTies,
		"scores: beyond the limits":       testScoreLimits,
	}
}

func testBlockLife(t *testing.T, s storage.Store) {
	_, p := createUser(t, s, user("a@b.c"), profile("A"))
	id := blockID(p.ID, 5)
	wantErr(t, errOf(s.GetStatBlock(t.Context(), id)), storage.ErrNotFound, "GetStatBlock() before")
	for i, data := range []string{"a\\b\x00\x01\xff", "", strings.Repeat("x", storage.MaxStatBlock)} {
		want := setBlock(t, s, id, second(i), data)
		got, err := s.GetStatBlock(t.Context(), id)
		if err != nil {
			t.Errorf("GetStatBlock() = %v", err)
		}
		differ(t, "block", got, want)
		differ(t, "blocks", collect(t, s.StatBlocks(t.Context(), p.ID)), []storage.StatBlock{want})
		sizeOf(t, s, p.ID, storage.StatSize{Blocks: 1, Bytes: int64(len(data))})
	}
	wantErr(t, s.DeleteStatBlock(t.Context(), id), nil, "DeleteStatBlock()")
	wantErr(t, s.DeleteStatBlock(t.Context(), id), storage.ErrNotFound, "DeleteStatBlock() again")
	sizeOf(t, s, p.ID, storage.StatSize{})
}

func testBlocksApart(t *testing.T, s storage.Store) {
	_, a := createUser(t, s, user("a@b.c"), profile("A"))
	_, b := createUser(t, s, user("b@b.c"), profile("B"))
	var ids []storage.StatBlockID
	var want []storage.StatBlock
	for _, game := range []string{"g", "ga", "gb"} {
		for _, index := range []int32{0, 1, 1 << 8, 1 << 16, math.MaxInt32} {
			for kind := storage.StatPrivateRead; kind <= storage.StatPublicWrite; kind++ {
				id := storage.StatBlockID{Game: game, Profile: a.ID, Kind: kind, Index: index}
				ids = append(ids, id)
				want = append(want, setBlock(t, s, id, second(0), string(kind)+game))
			}
		}
	}
	setBlock(t, s, blockID(b.ID, 0), second(0), "other")
	differ(t, "blocks in order", collect(t, s.StatBlocks(t.Context(), a.ID)), want)
	for i, id := range ids {
		if got, err := s.GetStatBlock(t.Context(), id); err != nil || !bytes.Equal(got.Data, want[i].Data) {
			t.Errorf("GetStatBlock(%+v) = %q, %v", id, got.Data, err)
		}
	}
}

func testBlockEdit(t *testing.T, s storage.Store) {
	_, p := createUser(t, s, user("a@b.c"), profile("A"))
	id := blockID(p.ID, 1)
	for i, want := range []string{"", "x", "xx"} {
		_, err := s.EditStatBlock(t.Context(), id, statsLimit, second(i), func(old []byte) ([]byte, error) {
			if string(old) != want || (i == 0) != (old == nil) {
				t.Errorf("edit %d got %q, want %q", i, old, want)
			}
			return append(bytes.Clone(old), 'x'), nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	mine := errors.New("mine")
	_, err := s.EditStatBlock(t.Context(), id, statsLimit, second(9), func([]byte) ([]byte, error) { return nil, mine })
	if got, _ := s.GetStatBlock(t.Context(), id); !errors.Is(err, mine) || string(got.Data) != "xxx" {
		t.Errorf("EditStatBlock() with an error = %v, data %q", err, got.Data)
	}
	_, err = s.EditStatBlock(t.Context(), blockID(p.ID+1, 1), statsLimit, second(0), func([]byte) ([]byte, error) { return nil, nil })
	if !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("EditStatBlock() of no profile = %v, want ErrNotFound", err)
	}
}

func testBlockRace(t *testing.T, s storage.Store) {
	_, p := createUser(t, s, user("a@b.c"), profile("A"))
	id := blockID(p.ID, 1)
	together(t, racers, func(int) error {
		_, err := s.EditStatBlock(t.Context(), id, statsLimit, second(0), func(old []byte) ([]byte, error) {
			return append(bytes.Clone(old), 'x'), nil
		})
		return err
	})
	if got, err := s.GetStatBlock(t.Context(), id); err != nil || len(got.Data) != racers || !got.Modified.Equal(second(racers-1)) {
		t.Errorf("after %d edits: %q of %v, %v", racers, got.Data, got.Modified, err)
	}
}

func testBlockModified(t *testing.T, s storage.Store) {
	_, p := createUser(t, s, user("a@b.c"), profile("A"))
	private, public := blockID(p.ID, 1), blockID(p.ID, 1)
	public.Kind = storage.StatPublicWrite
	for _, step := range []struct {
		what string
		id   storage.StatBlockID
		at   time.Time
		want time.Time
	}{
		{"first", private, second(10).Add(time.Second - 1), second(10)},
		{"same second", private, second(10), second(11)},
		{"clock went back", private, second(3), second(12)},
		{"other kind", public, second(12), second(13)},
		{"and back", private, second(13), second(14)},
		{"later", private, second(20), second(20)},
		{"a change 59 s ahead", private, second(-39), second(21)},
		{"at most 60 s ahead", private, second(-39), second(21)},
		{"never back", private, second(-100), second(21)},
		{"the clock is 59 s behind", private, second(-38), second(22)},
		{"other index", blockID(p.ID, 2), second(11), second(11)},
		{"before 1970", blockID(p.ID, 3), time.Unix(-5, 0), time.Unix(1, 0)},
		{"after 2038", blockID(p.ID, 3), time.Unix(1<<40, 0), time.Unix(math.MaxInt32, 0)},
	} {
		if got := setBlock(t, s, step.id, step.at, step.what); !got.Modified.Equal(step.want) {
			t.Errorf("%s: Modified is %v, want %v", step.what, got.Modified, step.want)
		}
	}
}

func testBlockBytes(t *testing.T, s storage.Store) {
	_, p := createUser(t, s, user("a@b.c"), profile("A"))
	set := func(index int32, size int) error {
		_, err := s.EditStatBlock(t.Context(), blockID(p.ID, index), 100, second(0), func([]byte) ([]byte, error) {
			return make([]byte, size), nil
		})
		return err
	}
	for i, step := range []struct {
		index int32
		size  int
		full  bool
	}{{1, 60, false}, {2, 41, true}, {2, 40, false}, {3, 1, true}, {3, 0, false}, {1, 61, true}, {1, 59, false}, {3, 1, false}, {3, 2, true}} {
		if err := set(step.index, step.size); errors.Is(err, storage.ErrFull) != step.full || (err != nil) != step.full {
			t.Errorf("step %d: %d bytes into block %d = %v", i, step.size, step.index, err)
		}
	}
	sizeOf(t, s, p.ID, storage.StatSize{Blocks: 3, Bytes: 100})
}

func testBlockCount(t *testing.T, s storage.Store) {
	filled(t, s)
	_, p := createUser(t, s, user("a@b.c"), profile("A"))
	together(t, storage.MaxStatBlocks, func(i int) error {
		_, err := s.EditStatBlock(t.Context(), blockID(p.ID, int32(i)), 0, second(0), func([]byte) ([]byte, error) { return nil, nil })
		return err
	})
	edit := func(index int32) error {
		_, err := s.EditStatBlock(t.Context(), blockID(p.ID, index), statsLimit, second(1), func([]byte) ([]byte, error) { return []byte("x"), nil })
		return err
	}
	wantErr(t, edit(storage.MaxStatBlocks), storage.ErrFull, "block %d", storage.MaxStatBlocks+1)
	wantErr(t, edit(0), nil, "change of a block at the limit")
	differ(t, "DeleteStats()", must(s.DeleteStats(t.Context(), p.ID))(t), storage.MaxStatBlocks)
}

func testBlockLimits(t *testing.T, s storage.Store) {
	_, p := createUser(t, s, user("a@b.c"), profile("A"))
	edge := blockID(p.ID, math.MaxInt32)
	edge.Game = strings.Repeat("g", storage.MaxGameName)
	setBlock(t, s, edge, second(0), "")
	for name, change := range map[string]func(*storage.StatBlockID){
		"no game":       func(id *storage.StatBlockID) { id.Game = "" },
		"game too long": func(id *storage.StatBlockID) { id.Game += "g" },
		"NUL in game":   func(id *storage.StatBlockID) { id.Game = "g\x00" },
		"no profile":    func(id *storage.StatBlockID) { id.Profile = 0 },
		"kind":          func(id *storage.StatBlockID) { id.Kind = storage.StatPublicWrite + 1 },
		"index below 0": func(id *storage.StatBlockID) { id.Index = -1 },
		"least index":   func(id *storage.StatBlockID) { id.Index = math.MinInt32 },
	} {
		id := edge
		change(&id)
		_, err := s.EditStatBlock(t.Context(), id, statsLimit, second(0), func([]byte) ([]byte, error) { return nil, nil })
		_, get := s.GetStatBlock(t.Context(), id)
		if drop := s.DeleteStatBlock(t.Context(), id); !errors.Is(err, storage.ErrInvalid) || !errors.Is(get, storage.ErrInvalid) || !errors.Is(drop, storage.ErrInvalid) {
			t.Errorf("%s: edit = %v, get = %v, delete = %v, want ErrInvalid", name, err, get, drop)
		}
	}
	_, err := s.EditStatBlock(t.Context(), edge, statsLimit, second(0), func([]byte) ([]byte, error) {
		return make([]byte, storage.MaxStatBlock+1), nil
	})
	if !errors.Is(err, storage.ErrInvalid) {
		t.Errorf("block too long = %v, want ErrInvalid", err)
	}
}

func testBlocksDeleted(t *testing.T, s storage.Store) {
	u, first := createUser(t, s, user("a@b.c"), profile("A"))
	second2 := must(s.CreateProfile(t.Context(), storage.Profile{User: u.ID, Nick: "B"}))(t)
	_, other := createUser(t, s, user("o@b.c"), profile("O"))
	for i, p := range []storage.ProfileID{first.ID, second2.ID, other.ID} {
		setBlock(t, s, blockID(p, 1), second(0), "data")
		putScore(t, s, scoreOf(p, float64(i)))
	}
	noErr(t, s.DeleteProfile(t.Context(), second2.ID))
	left(t, s, second2.ID, 0)
	left(t, s, first.ID, 1)
	noErr(t, s.DeleteUser(t.Context(), u.ID))
	left(t, s, first.ID, 0)
	left(t, s, other.ID, 1)
	page, err := s.Ranking(t.Context(), "gmtest", "kills", 0, 10)
	if err != nil || len(page) != 1 || page[0].Profile != other.ID {
		t.Errorf("Ranking() = %+v, %v, want the profile that is left", page, err)
	}
	totals, err := s.StatTotals(t.Context())
	if want := (storage.StatTotals{Blocks: 1, BlockBytes: 4}); totals != want || err != nil {
		t.Errorf("StatTotals() = %+v, %v, want %+v", totals, err, want)
	}
	differ(t, "DeleteStats()", must(s.DeleteStats(t.Context(), other.ID))(t), 2)
	left(t, s, other.ID, 0)
}

// left checks how many blocks and scores a profile has.
func left(t *testing.T, s storage.Store, p storage.ProfileID, want int) {
	t.Helper()
	blocks, scores := collect(t, s.StatBlocks(t.Context(), p)), collect(t, s.ScoresOf(t.Context(), p))
	if len(blocks) != want || len(scores) != want {
		t.Errorf("profile %d has %d blocks and %d scores, want %d", p, len(blocks), len(scores), want)
	}
	sizeOf(t, s, p, storage.StatSize{Blocks: want, Bytes: int64(4 * want)})
}

func testStatImport(t *testing.T, s storage.Store) {
	_, a := createUser(t, s, user("a@b.c"), profile("A"))
	blocks := []storage.StatBlock{
		{StatBlockID: blockID(a.ID, 1), Data: []byte("one"), Modified: second(5)},
		{StatBlockID: blockID(a.ID, 2), Data: []byte("two"), Modified: second(5)},
	}
	scores := []storage.Score{scoreOf(a.ID, 7)}
	for name, err := range map[string]error{
		"another profile":  s.ImportStats(t.Context(), a.ID+1, blocks, nil),
		"twice the same":   s.ImportStats(t.Context(), a.ID, []storage.StatBlock{blocks[0], blocks[0]}, nil),
		"too many scores":  s.ImportStats(t.Context(), a.ID, nil, make([]storage.Score, storage.MaxScores+1)),
		"too many blocks":  s.ImportStats(t.Context(), a.ID, make([]storage.StatBlock, storage.MaxStatBlocks+1), nil),
		"too many bytes":   s.ImportStats(t.Context(), a.ID, blocksOf(a.ID, storage.MaxStatBytes/storage.MaxStatBlock+1), nil),
		"a score that bad": s.ImportStats(t.Context(), a.ID, blocks, []storage.Score{scoreOf(a.ID, math.NaN())}),
	} {
		if !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("%s: ImportStats() = %v, want ErrInvalid", name, err)
		}
	}
	left(t, s, a.ID, 0)
	noErr(t, s.ImportStats(t.Context(), a.ID, blocks, scores))
	differ(t, "blocks", collect(t, s.StatBlocks(t.Context(), a.ID)), blocks)
	differ(t, "scores", collect(t, s.ScoresOf(t.Context(), a.ID)), scores)
	sizeOf(t, s, a.ID, storage.StatSize{Blocks: 2, Bytes: 6})
	wantErr(t, s.ImportStats(t.Context(), a.ID, blocks, scores), storage.ErrTaken, "ImportStats() again")
	_, b := createUser(t, s, user("b@b.c"), profile("B"))
	if err := s.ImportStats(t.Context(), b.ID, blocksOf(b.ID, storage.MaxStatBytes/storage.MaxStatBlock), nil); err != nil {
		t.Errorf("ImportStats() of %d bytes = %v", storage.MaxStatBytes, err)
	}
	gone := []storage.StatBlock{{StatBlockID: blockID(b.ID+1, 1), Modified: second(5)}}
	wantErr(t, s.ImportStats(t.Context(), b.ID+1, gone, nil), storage.ErrNotFound, "ImportStats() of no profile")
}

// blocksOf returns n blocks that are as long as may be.
func blocksOf(p storage.ProfileID, n int32) (all []storage.StatBlock) {
	data := make([]byte, storage.MaxStatBlock)
	for i := range n {
		all = append(all, storage.StatBlock{StatBlockID: blockID(p, i), Data: data, Modified: second(0)})
	}
	return all
}

func testStatTotals(t *testing.T, s storage.Store) {
	_, a := createUser(t, s, user("a@b.c"), profile("A"))
	setBlock(t, s, blockID(a.ID, 1), second(0), "12345")
	setBlock(t, s, blockID(a.ID, 2), second(0), "123")
	setBlock(t, s, blockID(a.ID, 1), second(0), "1")
	r := putReport(t, s, report(1, "pairs"), storage.ReportResult{Stored: true})
	totals, err := s.StatTotals(t.Context())
	if err != nil || totals.Blocks != 2 || totals.BlockBytes != 4 || totals.Reports != 1 || totals.ReportBytes < 5 {
		t.Errorf("StatTotals() = %+v, %v", totals, err)
	}
	n, err := s.DeleteStats(t.Context(), a.ID)
	if err = errors.Join(err, s.DeleteReport(t.Context(), r)); err != nil || n != 2 {
		t.Fatal(n, err)
	}
	if totals, err = s.StatTotals(t.Context()); err != nil || totals != (storage.StatTotals{}) {
		t.Errorf("StatTotals() after deletion = %+v, %v", totals, err)
	}
}
