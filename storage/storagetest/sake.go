package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/storage"
)

// levels is the table of most tests.
func levels() storage.SakeTableID { return storage.SakeTableID{Game: "gmtest", Name: "Levels"} }

// sakeInt is an integer field.
func sakeInt(name string, n int64) storage.SakeField {
	return storage.SakeField{Name: name, Value: storage.SakeValue{Type: storage.SakeInt, Num: n}}
}

// sakeText is a text field.
func sakeText(name, text string) storage.SakeField {
	return storage.SakeField{Name: name, Value: storage.SakeValue{Type: storage.SakeUnicode, Text: []byte(text)}}
}

// sakeFields has a field of every type.
func sakeFields() []storage.SakeField {
	return []storage.SakeField{
		{Name: "b", Value: storage.SakeValue{Type: storage.SakeByte, Num: 200}},
		{Name: "s", Value: storage.SakeValue{Type: storage.SakeShort, Num: -5}},
		sakeInt("i", -123456),
		{Name: "l", Value: storage.SakeValue{Type: storage.SakeInt64, Num: -1 << 63}},
		{Name: "f", Value: storage.SakeFloatValue(-1.5)},
		{Name: "a", Value: storage.SakeValue{Type: storage.SakeASCII, Text: []byte("a&b\x00")}},
		sakeText("u", "hé"),
		{Name: "o", Value: storage.SakeValue{Type: storage.SakeBoolean, Num: 1}},
		{Name: "d", Value: storage.SakeValue{Type: storage.SakeDate, Num: 1273129689}},
		{Name: "x", Value: storage.SakeValue{Type: storage.SakeBinary, Text: []byte{0, 1, 255}}},
		{Name: "empty", Value: storage.SakeValue{Type: storage.SakeBinary}},
	}
}

// makeSake stores a record and returns its id.
func makeSake(t *testing.T, s storage.Store, table storage.SakeTableID, owner storage.ProfileID, fields ...storage.SakeField) uint32 {
	t.Helper()
	id, err := s.CreateSakeRecord(t.Context(), table, owner, fields, storage.SakeLimits{})
	if err != nil {
		t.Fatalf("CreateSakeRecord(%v, %d) = %v", table, owner, err)
	}
	return id
}

// sakeOwner creates a profile.
func sakeOwner(t *testing.T, s storage.Store, nick string) storage.ProfileID {
	t.Helper()
	_, p := createUser(t, s, user(strings.ToLower(nick)+"@b.c"), profile(nick))
	return p.ID
}

// scanned returns the ids that a scan visits.
func scanned(t *testing.T, s storage.Store, table storage.SakeTableID, first uint32, owners ...storage.ProfileID) (ids []uint32) {
	t.Helper()
	err := s.ScanSake(t.Context(), table, storage.SakeScan{Owners: owners, First: first}, func(r *storage.SakeRow) bool {
		ids = append(ids, r.ID)
		return true
	})
	if err != nil {
		t.Fatalf("ScanSake() = %v", err)
	}
	return ids
}

// sakeCalls is every method of SAKE records.
func sakeCalls(s storage.Store) map[string]func(context.Context) error {
	table, lim := storage.SakeTableID{Game: "late", Name: "late"}, storage.SakeLimits{}
	return map[string]func(context.Context) error{
		"CreateSakeRecord": func(ctx context.Context) error { return errOf(s.CreateSakeRecord(ctx, table, 77, nil, lim)) },
		"ImportSakeRecord": func(ctx context.Context) error {
			return s.ImportSakeRecord(ctx, storage.OwnedSakeRecord{SakeTableID: table, SakeRecord: storage.SakeRecord{ID: 1, Owner: 77}})
		},
		"UpdateSakeRecord": func(ctx context.Context) error { return s.UpdateSakeRecord(ctx, table, 1, 77, nil, lim) },
		"DeleteSakeRecord": func(ctx context.Context) error { return s.DeleteSakeRecord(ctx, table, 1, 77) },
		"DeleteSakeTable":  func(ctx context.Context) error { return errOf(s.DeleteSakeTable(ctx, table)) },
		"RateSakeRecord":   func(ctx context.Context) error { return errOf(s.RateSakeRecord(ctx, table, 1, 77, 5)) },
		"SakeRatings":      func(ctx context.Context) error { return errOf(s.SakeRatings(ctx, table, 77, []uint32{1})) },
		"GetSakeTable":     func(ctx context.Context) error { return errOf(s.GetSakeTable(ctx, table)) },
		"SakeTables":       func(ctx context.Context) error { return firstError(s.SakeTables(ctx, "")) },
		"SakeRecords":      func(ctx context.Context) error { return errOf(s.SakeRecords(ctx, table, []uint32{1})) },
		"ScanSake": func(ctx context.Context) error {
			return s.ScanSake(ctx, table, storage.SakeScan{}, func(*storage.SakeRow) bool { return false })
		},
		"SakeOwned": func(ctx context.Context) error { return errOf(s.SakeOwned(ctx, table, 77)) },
		"SakeOf":    func(ctx context.Context) error { return firstError(s.SakeOf(ctx, 77)) },
		"CountSake": func(ctx context.Context) error { return errOf(s.CountSake(ctx)) },
		"SweepSake": func(ctx context.Context) error { return errOf(s.SweepSake(ctx)) },
	}
}

func sakeTests() map[string]func(*testing.T, storage.Store) {
	return map[string]func(*testing.T, storage.Store){
		"create, update, delete":               testSakeLife,
		"ids are never used twice":             testSakeIDs,
		"columns keep their number":            testSakeColumns,
		"records are found by owner":           testSakeOwners,
		"each limit is exact":                  testSakeLimits,
		"names of fields are limited":          testSakeColumnsFull,
		"a limit holds for many at once":       testSakeRace,
		"a profile rates a record once":        testSakeRatings,
		"deleting a profile deletes its data":  testSakeProfile,
		"deleting a table deletes its records": testSakeTable,
		"invalid names and values":             testSakeInvalid,
		"import keeps ids":                     testSakeImport,
	}
}

func testSakeLife(t *testing.T, s storage.Store) {
	ann, ben := sakeOwner(t, s, "Ann"), sakeOwner(t, s, "Ben")
	id := makeSake(t, s, levels(), ann, sakeFields()...)
	if id != 1 {
		t.Errorf("the first id is %d, want 1", id)
	}
	got := must(s.SakeRecords(t.Context(), levels(), []uint32{id, 99}))(t)
	if len(got) != 1 || got[0].Created.IsZero() || got[0].Created != got[0].Changed {
		t.Fatalf("SakeRecords() = %+v", got)
	}
	differ(t, "fields", got[0].Fields, sakeFields())
	changes := []storage.SakeField{sakeText("I", "now a text"), sakeInt("new", 7)}
	for name, test := range map[string]struct {
		id    uint32
		owner storage.ProfileID
		table storage.SakeTableID
		want  error
	}{
		"another profile": {id, ben, levels(), storage.ErrNotOwner},
		"no record":       {99, ann, levels(), storage.ErrNotFound},
		"no table":        {id, ann, storage.SakeTableID{Game: "gmtest", Name: "other"}, storage.ErrNoTable},
		"another game":    {id, ann, storage.SakeTableID{Game: "other", Name: "levels"}, storage.ErrNoTable},
	} {
		err := s.UpdateSakeRecord(t.Context(), test.table, test.id, test.owner, changes, storage.SakeLimits{})
		if !errors.Is(err, test.want) {
			t.Errorf("UpdateSakeRecord() with %s = %v, want %v", name, err, test.want)
		}
		if err := s.DeleteSakeRecord(t.Context(), test.table, test.id, test.owner); !errors.Is(err, test.want) {
			t.Errorf("DeleteSakeRecord() with %s = %v, want %v", name, err, test.want)
		}
	}
	wantErr(t, s.UpdateSakeRecord(t.Context(), levels(), id, ann, changes, storage.SakeLimits{}), nil, "UpdateSakeRecord()")
	want := sakeFields()
	want[2].Value = changes[0].Value
	got = must(s.SakeRecords(t.Context(), storage.SakeTableID{Game: "gmtest", Name: "LEVELS"}, []uint32{id}))(t)
	differ(t, "fields after an update", got[0].Fields, append(want, changes[1]))
	wantErr(t, s.DeleteSakeRecord(t.Context(), levels(), id, ann), nil, "DeleteSakeRecord()")
	if got := must(s.SakeRecords(t.Context(), levels(), []uint32{id}))(t); len(got) != 0 {
		t.Errorf("SakeRecords() after deletion = %+v", got)
	}
	if _, err := s.CreateSakeRecord(t.Context(), levels(), 99, nil, storage.SakeLimits{}); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("CreateSakeRecord() for a profile that does not exist = %v, want ErrNotFound", err)
	}
	if n := must(s.CountSake(t.Context()))(t); n != (storage.SakeCount{}) {
		t.Errorf("CountSake() = %+v, want none", n)
	}
}

func testSakeIDs(t *testing.T, s storage.Store) {
	ann := sakeOwner(t, s, "Ann")
	for want := uint32(1); want <= 3; want++ {
		if id := makeSake(t, s, levels(), ann); id != want {
			t.Fatalf("id %d, want %d", id, want)
		}
		noErr(t, s.DeleteSakeRecord(t.Context(), levels(), want, ann))
	}
	if again, ok := s.(Reopener); ok {
		s = again.Reopen(t)
	}
	if id := makeSake(t, s, levels(), ann); id != 4 {
		t.Errorf("id after a restart %d, want 4", id)
	}
	differ(t, "DeleteSakeTable()", must(s.DeleteSakeTable(t.Context(), levels()))(t), 1)
	if id := makeSake(t, s, levels(), ann); id != 5 {
		t.Errorf("id in a table that was deleted %d, want 5", id)
	}
	if id := makeSake(t, s, storage.SakeTableID{Game: "other", Name: "levels"}, ann); id != 1 {
		t.Errorf("id in the table of another game %d, want 1", id)
	}
}

func testSakeColumns(t *testing.T, s storage.Store) {
	ann := sakeOwner(t, s, "Ann")
	makeSake(t, s, levels(), ann, sakeInt("Score", 1), sakeText("Name", "x"))
	makeSake(t, s, levels(), ann, sakeText("SCORE", "high"), sakeInt("More", 2))
	table := must(s.GetSakeTable(t.Context(), levels()))(t)
	differ(t, "columns", table.Columns, []storage.SakeColumn{
		{Name: "Score", Type: storage.SakeUnicode}, {Name: "Name", Type: storage.SakeUnicode}, {Name: "More", Type: storage.SakeInt},
	})
	if table.Name != "Levels" || table.Records != 2 || table.Column("name") != 1 || table.Column("none") != -1 {
		t.Errorf("GetSakeTable() = %+v", table)
	}
	other := storage.SakeTableID{Game: "arcade", Name: "a"}
	makeSake(t, s, other, ann)
	all := collect(t, s.SakeTables(t.Context(), ""))
	if len(all) != 2 || all[0].SakeTableID != other || all[1].SakeTableID != levels() {
		t.Errorf("SakeTables() = %+v", all)
	}
	if one := collect(t, s.SakeTables(t.Context(), "gmtest")); len(one) != 1 || one[0].Records != 2 {
		t.Errorf("SakeTables() of a game = %+v", one)
	}
	if _, err := s.GetSakeTable(t.Context(), storage.SakeTableID{Game: "gmtest", Name: "none"}); !errors.Is(err, storage.ErrNoTable) {
		t.Errorf("GetSakeTable() of none = %v", err)
	}
}

func testSakeOwners(t *testing.T, s storage.Store) {
	ann, ben := sakeOwner(t, s, "Ann"), sakeOwner(t, s, "Ben")
	for i := range 3 {
		makeSake(t, s, levels(), ann, sakeInt("i", int64(i)))
		makeSake(t, s, levels(), ben, sakeInt("i", int64(i)))
	}
	other := storage.SakeTableID{Game: "gmtest", Name: "saves"}
	makeSake(t, s, other, ann, sakeInt("i", 9))
	differ(t, "all", scanned(t, s, levels(), 0), []uint32{1, 2, 3, 4, 5, 6})
	differ(t, "from 4", scanned(t, s, levels(), 4), []uint32{4, 5, 6})
	differ(t, "of ann", scanned(t, s, levels(), 0, ann), []uint32{1, 3, 5})
	differ(t, "of both", scanned(t, s, levels(), 0, ben, ann), []uint32{2, 4, 6, 1, 3, 5})
	if n := must(s.SakeOwned(t.Context(), levels(), ann))(t); n.Records != 3 || n.Bytes == 0 {
		t.Errorf("SakeOwned() = %+v", n)
	}
	var got []string
	for _, r := range collect(t, s.SakeOf(t.Context(), ann)) {
		got = append(got, fmt.Sprint(r.Name, r.ID, r.Owner, r.Fields[0].Value.Num))
	}
	want := []string{"Levels1 1 0", "Levels3 1 1", "Levels5 1 2", "saves1 1 9"}
	if !slices.Equal(got, want) {
		t.Errorf("SakeOf() = %q, want %q", got, want)
	}
	visits := 0
	_ = s.ScanSake(t.Context(), levels(), storage.SakeScan{}, func(*storage.SakeRow) bool { visits++; return false })
	if visits != 1 {
		t.Errorf("ScanSake() made %d visits after the first returned false", visits-1)
	}
}

func testSakeLimits(t *testing.T, s storage.Store) {
	ann, ben := sakeOwner(t, s, "Ann"), sakeOwner(t, s, "Ben")
	field := sakeText("text", strings.Repeat("x", 100))
	makeSake(t, s, levels(), ann, field)
	size := must(s.CountSake(t.Context()))(t).Bytes
	saves := storage.SakeTableID{Game: "gmtest", Name: "saves"}
	other := storage.SakeTableID{Game: "other", Name: "levels"}
	for name, test := range map[string]struct {
		refused, allowed storage.SakeLimits
		table            storage.SakeTableID
		owner            storage.ProfileID
	}{
		"fields":           {storage.SakeLimits{Fields: 1}, storage.SakeLimits{Fields: 2}, levels(), ann},
		"size":             {storage.SakeLimits{RecordSize: int(size)}, storage.SakeLimits{RecordSize: int(size) + 20}, levels(), ann},
		"of the owner":     {storage.SakeLimits{PerOwner: 1}, storage.SakeLimits{PerOwner: 2}, levels(), ann},
		"in all tables":    {storage.SakeLimits{OwnerTotal: 1}, storage.SakeLimits{OwnerTotal: 2}, saves, ann},
		"bytes of owner":   {storage.SakeLimits{OwnerBytes: 2 * size}, storage.SakeLimits{OwnerBytes: 2*size + 20}, saves, ann},
		"tables":           {storage.SakeLimits{Tables: 1}, storage.SakeLimits{Tables: 2}, saves, ben},
		"of the game":      {storage.SakeLimits{PerGame: 1}, storage.SakeLimits{PerGame: 2}, saves, ben},
		"of all games":     {storage.SakeLimits{Total: 1}, storage.SakeLimits{Total: 2}, other, ben},
		"bytes of all":     {storage.SakeLimits{TotalBytes: 2 * size}, storage.SakeLimits{TotalBytes: 2*size + 20}, other, ben},
		"of another owner": {storage.SakeLimits{Total: 1}, storage.SakeLimits{PerOwner: 1, OwnerTotal: 1}, levels(), ben},
	} {
		fields := []storage.SakeField{field, sakeInt("i", 5)}
		if _, err := s.CreateSakeRecord(t.Context(), test.table, test.owner, fields, test.refused); !errors.Is(err, storage.ErrFull) {
			t.Errorf("%s: CreateSakeRecord() beyond the limit = %v, want ErrFull", name, err)
		}
		id, err := s.CreateSakeRecord(t.Context(), test.table, test.owner, fields, test.allowed)
		if err != nil {
			t.Errorf("%s: CreateSakeRecord() at the limit = %v", name, err)
		} else if err := s.DeleteSakeRecord(t.Context(), test.table, id, 0); err != nil {
			t.Errorf("%s: DeleteSakeRecord() = %v", name, err)
		}
		if _, err := s.DeleteSakeTable(t.Context(), saves); err != nil && !errors.Is(err, storage.ErrNoTable) {
			t.Error(err)
		}
	}
	grown := []storage.SakeField{sakeText("text", strings.Repeat("x", 200))}
	if err := s.UpdateSakeRecord(t.Context(), levels(), 1, ann, grown, storage.SakeLimits{OwnerBytes: size + 50}); !errors.Is(err, storage.ErrFull) {
		t.Errorf("UpdateSakeRecord() beyond the bytes of its owner = %v, want ErrFull", err)
	}
	if n := must(s.CountSake(t.Context()))(t); n != (storage.SakeCount{Records: 1, Bytes: size}) {
		t.Errorf("CountSake() = %+v, want one record of %d bytes", n, size)
	}
	shrunk := []storage.SakeField{sakeText("text", strings.Repeat("x", 30))}
	if err := s.UpdateSakeRecord(t.Context(), levels(), 1, ann, shrunk, storage.SakeLimits{OwnerBytes: 1, TotalBytes: 1}); err != nil {
		t.Errorf("UpdateSakeRecord() to a smaller record beyond a limit = %v", err)
	}
	if n := must(s.SakeOwned(t.Context(), levels(), ann))(t); n != (storage.SakeCount{Records: 1, Bytes: size - 70}) {
		t.Errorf("SakeOwned() = %+v, want one record of %d bytes", n, size-70)
	}
}

func testSakeColumnsFull(t *testing.T, s storage.Store) {
	ann := sakeOwner(t, s, "Ann")
	fields := make([]storage.SakeField, min(storage.MaxSakeFields, storage.MaxSakeColumns))
	for i := range fields {
		fields[i] = sakeInt(fmt.Sprint("f", i), int64(i))
	}
	makeSake(t, s, levels(), ann, fields...)
	for from := len(fields); from < storage.MaxSakeColumns; from++ {
		makeSake(t, s, levels(), ann, sakeInt(fmt.Sprint("f", from), 1))
	}
	makeSake(t, s, levels(), ann, sakeInt("F0", 1))
	if _, err := s.CreateSakeRecord(t.Context(), levels(), ann, []storage.SakeField{sakeInt("more", 1)}, storage.SakeLimits{}); !errors.Is(err, storage.ErrFull) {
		t.Errorf("CreateSakeRecord() with one more name = %v, want ErrFull", err)
	}
}

func testSakeRace(t *testing.T, s storage.Store) {
	ann := sakeOwner(t, s, "Ann")
	errs := race(func(int) error {
		_, err := s.CreateSakeRecord(t.Context(), levels(), ann, nil, storage.SakeLimits{PerOwner: 1})
		return err
	})
	oneWon(t, errs, storage.ErrFull)
}

func testSakeRatings(t *testing.T, s storage.Store) {
	ann, ben, cas := sakeOwner(t, s, "Ann"), sakeOwner(t, s, "Ben"), sakeOwner(t, s, "Cas")
	first, second := makeSake(t, s, levels(), ann, sakeFields()...), makeSake(t, s, levels(), ann)
	rate := func(id uint32, rater storage.ProfileID, rating int) (storage.SakeRating, error) {
		return s.RateSakeRecord(t.Context(), levels(), id, rater, rating)
	}
	differ(t, "RateSakeRecord()", must(rate(first, ben, 255))(t), storage.SakeRating{Ratings: 1, Sum: 255})
	wantErr(t, errOf(rate(first, ben, 1)), storage.ErrTaken, "RateSakeRecord() again")
	differ(t, "RateSakeRecord() of another", must(rate(first, cas, 0))(t), storage.SakeRating{Ratings: 2, Sum: 255})
	wantErr(t, errOf(rate(99, ben, 1)), storage.ErrNotFound, "RateSakeRecord() of no record")
	for _, bad := range []int{-1, 256} {
		wantErr(t, errOf(rate(second, ben, bad)), storage.ErrInvalid, "RateSakeRecord(%d)", bad)
	}
	differ(t, "ratings", must(s.SakeRatings(t.Context(), levels(), ben, []uint32{first, second}))(t), []int{255, -1})
	var mine []int
	_ = s.ScanSake(t.Context(), levels(), storage.SakeScan{Rater: ben}, func(r *storage.SakeRow) bool {
		mine = append(mine, r.MyRating)
		return true
	})
	differ(t, "ratings of a scan", mine, []int{255, -1})
	got := must(s.SakeRecords(t.Context(), levels(), []uint32{first}))(t)
	if got[0].Ratings != 2 || got[0].RatingSum != 255 {
		t.Errorf("the record has %d ratings, sum %d", got[0].Ratings, got[0].RatingSum)
	}
	differ(t, "fields", got[0].Fields, sakeFields())
	noErr(t, errOf(rate(second, ben, 3)))
	noErr(t, s.DeleteSakeRecord(t.Context(), levels(), first, ann))
	if n := must(s.SweepSake(t.Context()))(t); n != 2 {
		t.Errorf("SweepSake() = %d, want the 2 ratings of the deleted record", n)
	}
	differ(t, "ratings that stay", must(s.SakeRatings(t.Context(), levels(), ben, []uint32{first, second}))(t), []int{-1, 3})
}

func testSakeProfile(t *testing.T, s storage.Store) {
	u, ann := createUser(t, s, user("a@b.c"), profile("Ann"))
	ben := sakeOwner(t, s, "Ben")
	saves := storage.SakeTableID{Game: "other", Name: "saves"}
	for range 3 {
		makeSake(t, s, levels(), ann.ID, sakeFields()...)
		makeSake(t, s, saves, ann.ID, sakeFields()...)
	}
	kept := makeSake(t, s, levels(), ben, sakeFields()...)
	for rater, rating := range map[storage.ProfileID]int{ann.ID: 9, ben: 4} {
		noErr(t, errOf(s.RateSakeRecord(t.Context(), levels(), kept, rater, rating)))
	}
	before := must(s.SakeRecords(t.Context(), levels(), []uint32{kept}))(t)[0]
	noErr(t, s.DeleteUser(t.Context(), u.ID))
	differ(t, "records that stay", scanned(t, s, levels(), 0), []uint32{kept})
	differ(t, "of the other game", scanned(t, s, saves, 0), nil)
	size := must(s.SakeOwned(t.Context(), levels(), ben))(t)
	for name, n := range map[string]storage.SakeCount{
		"all":       must(s.CountSake(t.Context()))(t),
		"the table": {Records: must(s.GetSakeTable(t.Context(), levels()))(t).Records, Bytes: must(s.GetSakeTable(t.Context(), levels()))(t).Bytes},
	} {
		if n != size {
			t.Errorf("the count of %s is %+v, want %+v", name, n, size)
		}
	}
	if n := must(s.SakeOwned(t.Context(), levels(), ann.ID))(t); n != (storage.SakeCount{}) {
		t.Errorf("SakeOwned() of a deleted profile = %+v", n)
	}
	if n := must(s.SweepSake(t.Context()))(t); n != 1 {
		t.Errorf("SweepSake() = %d, want the rating of the deleted profile", n)
	}
	got := must(s.SakeRecords(t.Context(), levels(), []uint32{kept}))(t)
	if got[0].Ratings != 1 || got[0].RatingSum != 4 {
		t.Errorf("the record has %d ratings, sum %d, want 1 and 4", got[0].Ratings, got[0].RatingSum)
	}
	want := before
	want.Ratings, want.RatingSum = 1, 4
	differ(t, "record without the rating of a deleted profile", got[0], want)
}

func testSakeTable(t *testing.T, s storage.Store) {
	ann := sakeOwner(t, s, "Ann")
	const n = 250
	together(t, n, func(int) error {
		_, err := s.CreateSakeRecord(t.Context(), levels(), ann, sakeFields(), storage.SakeLimits{})
		return err
	})
	saves := storage.SakeTableID{Game: "gmtest", Name: "saves"}
	makeSake(t, s, saves, ann)
	size := must(s.SakeOwned(t.Context(), saves, ann))(t)
	differ(t, "DeleteSakeTable()", must(s.DeleteSakeTable(t.Context(), levels()))(t), n)
	wantErr(t, errOf(s.DeleteSakeTable(t.Context(), levels())), storage.ErrNoTable, "DeleteSakeTable() again")
	if got := must(s.CountSake(t.Context()))(t); got != size {
		t.Errorf("CountSake() = %+v, want %+v", got, size)
	}
	if all := collect(t, s.SakeOf(t.Context(), ann)); len(all) != 1 {
		t.Errorf("%d records of the owner are left, want 1", len(all))
	}
	makeSake(t, s, levels(), ann, sakeInt("fresh", 1))
	if table := must(s.GetSakeTable(t.Context(), levels()))(t); len(table.Columns) != 1 || table.Records != 1 {
		t.Errorf("the new table is %+v", table)
	}
}

func testSakeInvalid(t *testing.T, s storage.Store) {
	ann := sakeOwner(t, s, "Ann")
	long := strings.Repeat("n", storage.MaxSakeName)
	for name, test := range map[string]struct {
		table storage.SakeTableID
		field storage.SakeField
	}{
		"no game":       {storage.SakeTableID{Name: "a"}, sakeInt("i", 1)},
		"no table":      {storage.SakeTableID{Game: "gmtest"}, sakeInt("i", 1)},
		"long table":    {storage.SakeTableID{Game: "gmtest", Name: long + "n"}, sakeInt("i", 1)},
		"control":       {storage.SakeTableID{Game: "gmtest", Name: "a\x00b"}, sakeInt("i", 1)},
		"no field":      {levels(), sakeInt("", 1)},
		"long field":    {levels(), sakeInt(long+"n", 1)},
		"space":         {levels(), sakeInt("a b", 1)},
		"twice":         {levels(), sakeInt("FIRST", 1)},
		"type":          {levels(), storage.SakeField{Name: "i"}},
		"range":         {levels(), sakeInt("i", 1<<31)},
		"text too long": {levels(), storage.SakeField{Name: "i", Value: storage.SakeValue{Type: storage.SakeBinary, Text: make([]byte, storage.MaxSakeValue+1)}}},
	} {
		fields := []storage.SakeField{sakeInt("first", 1), test.field}
		if _, err := s.CreateSakeRecord(t.Context(), test.table, ann, fields, storage.SakeLimits{}); !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("%s: CreateSakeRecord() = %v, want ErrInvalid", name, err)
		}
	}
	makeSake(t, s, storage.SakeTableID{Game: "gmtest", Name: long}, ann, sakeInt(long, 1),
		storage.SakeField{Name: "x", Value: storage.SakeValue{Type: storage.SakeBinary, Text: bytes.Repeat([]byte{1}, storage.MaxSakeValue)}})
}

func testSakeImport(t *testing.T, s storage.Store) {
	ann := sakeOwner(t, s, "Ann")
	r := storage.OwnedSakeRecord{SakeTableID: levels(), SakeRecord: storage.SakeRecord{
		ID: 40, Owner: ann, Created: moment().Truncate(1e9), Changed: moment().Truncate(1e9), Ratings: 2, RatingSum: 9, Fields: sakeFields(),
	}}
	noErr(t, s.ImportSakeRecord(t.Context(), r))
	differ(t, "imported", must(s.SakeRecords(t.Context(), levels(), []uint32{40}))(t), []storage.SakeRecord{r.SakeRecord})
	wantErr(t, s.ImportSakeRecord(t.Context(), r), storage.ErrTaken, "ImportSakeRecord() again")
	if id := makeSake(t, s, levels(), ann); id != 41 {
		t.Errorf("the next id is %d, want 41", id)
	}
	r.ID = 0
	wantErr(t, s.ImportSakeRecord(t.Context(), r), storage.ErrInvalid, "ImportSakeRecord() without id")
}
