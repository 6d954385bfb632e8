package sake

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/storage"
)

// TestRun compares searches of random tables with a sort of all rows.
func TestRun(t *testing.T) {
	racetest.Skip(t, "compares many searches")
	f := newFixture(t, nil)
	r := rand.New(rand.NewPCG(1, 18))
	for n := range 12 {
		id := storage.SakeTableID{Game: "gmtest", Name: fmt.Sprint("t", n)}
		table := randomTable(t, f, r, id, []int{1, 2, 7, 40, 150}[n%5])
		for range 60 {
			c := &call{Backend: f.backend, ctx: t.Context(), limits: f.backend.config.Load(), profile: 1, id: id}
			s, text := randomSearch(t, r, table)
			got, err := func() (ids []uint32, err error) {
				if s.target == nil {
					return c.run(s)
				}
				ids, _, err = c.runTarget(s)
				return ids, err
			}()
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if want := slowRun(t, f, id, s); !slices.Equal(got, want) {
				t.Fatalf("%s of %d records has %d, want %d", text, table.Records, got, want)
			}
		}
	}
}

// randomTable stores n records with few different values.
func randomTable(t *testing.T, f *fixture, r *rand.Rand, id storage.SakeTableID, n int) *storage.SakeTable {
	t.Helper()
	values := []storage.SakeValue{
		{Type: storage.SakeInt, Num: -1},
		{Type: storage.SakeInt, Num: 2},
		{Type: storage.SakeByte, Num: 2},
		{Type: storage.SakeBoolean, Num: 1},
		{Type: storage.SakeInt64, Num: 1 << 53},
		{Type: storage.SakeInt64, Num: 1<<53 + 1},
		storage.SakeFloatValue(1 << 53), storage.SakeFloatValue(1.5),
		{Type: storage.SakeASCII, Text: []byte("b")},
		{Type: storage.SakeUnicode, Text: []byte("B")},
		{Type: storage.SakeUnicode},
		{Type: storage.SakeASCII, Text: []byte(strings.Repeat("x", maxSortText) + "a")},
		{Type: storage.SakeASCII, Text: []byte(strings.Repeat("X", maxSortText))},
		{Type: storage.SakeBinary, Text: []byte("b")},
		{Type: storage.SakeBinary, Text: []byte("B")},
		{Type: storage.SakeDate, Num: 2},
	}
	for i := range n {
		rec := storage.SakeRecord{ID: uint32(3*i + 1), Owner: storage.ProfileID(1 + r.IntN(3))}
		for _, name := range []string{"a", "b", "c"} {
			if i == 0 || r.IntN(5) > 0 {
				rec.Fields = append(rec.Fields, storage.SakeField{Name: name, Value: values[r.IntN(len(values))]})
			}
		}
		if err := f.db.ImportSakeRecord(t.Context(), storage.OwnedSakeRecord{SakeTableID: id, SakeRecord: rec}); err != nil {
			t.Fatal(err)
		}
	}
	table, err := f.db.GetSakeTable(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return &table
}

// randomSearch returns a search and its text.
func randomSearch(t *testing.T, r *rand.Rand, table *storage.SakeTable) (*search, string) {
	t.Helper()
	pick := func(texts ...string) string { return texts[r.IntN(len(texts))] }
	filter := pick("", "", "a > 1", "b is null or c = 2", "ownerid != 2", "recordid > 10")
	target := pick("", fmt.Sprintf("recordid = %d", 1+3*r.IntN(table.Records)), "a = 'b'", "b = 2", "c is null", "ownerid = 2", "1 = 1", "a = 77")
	var by []string
	for range r.IntN(4) {
		by = append(by, pick("a", "b", "c", "ownerid", "recordid")+pick("", " asc", " desc"))
	}
	if r.IntN(6) == 0 {
		by = append(by, "random")
	}
	sort := strings.Join(by, ", ")
	s := &search{columns: columns{table: table}, offset: max(0, r.IntN(30)-15), most: r.IntN(25), around: r.IntN(12)}
	if r.IntN(6) == 0 {
		s.scan.Owners = []storage.ProfileID{1, 3}
	}
	var err error
	if s.filter, err = parseFilter(filter, &s.columns); err != nil {
		t.Fatal(err)
	}
	if s.order, err = parseSort(sort, &s.columns); err != nil {
		t.Fatal(err)
	}
	if target != "" {
		if s.target, err = parseFilter(target, &s.columns); err != nil {
			t.Fatal(err)
		}
	}
	return s, fmt.Sprintf("filter %q sort %q target %q offset %d max %d surrounding %d owners %d", filter, sort, target, s.offset, s.most, s.around, s.scan.Owners)
}

// slowRun sorts all rows that match.
func slowRun(t *testing.T, f *fixture, id storage.SakeTableID, s *search) (want []uint32) {
	t.Helper()
	type match struct {
		id     uint32
		target bool
		random uint64
		keys   []storage.SakeValue
	}
	var all []match
	values := s.columns.newSlots()
	err := f.db.ScanSake(t.Context(), id, s.scan, func(r *storage.SakeRow) bool {
		values.read(r)
		if !s.filter.match(values) {
			return true
		}
		m := match{id: r.ID, target: s.target != nil && s.target.match(values)}
		if s.order.random {
			m.random = maphash.Comparable(s.order.seed, r.ID)
		}
		for _, by := range s.order.by {
			v := values.values[by.slot]
			v.Text = slices.Clone(v.Text[:min(len(v.Text), maxSortText)])
			m.keys = append(m.keys, v)
		}
		all = append(all, m)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(x, y match) int {
		for i, by := range s.order.by {
			if n := slowCompare(x.keys[i], y.keys[i]); n != 0 && by.falling {
				return -n
			} else if n != 0 {
				return n
			}
		}
		return cmp.Or(cmp.Compare(x.random, y.random), cmp.Compare(x.id, y.id))
	})
	from, to := s.offset, s.offset+s.most
	if s.target != nil {
		at := slices.IndexFunc(all, func(m match) bool { return m.target })
		if at < 0 {
			return nil
		}
		from, to = max(0, at-s.around), min(at+s.around+1, len(all))
		for to-from > s.most { // the farther side loses one
			if at-from > to-1-at || to-1 == at {
				from++
			} else {
				to--
			}
		}
	}
	for _, m := range all[min(from, len(all)):min(to, len(all))] {
		want = append(want, m.id)
	}
	return want
}

// slowCompare orders values: none, numbers, texts, binary data.
func slowCompare(a, b storage.SakeValue) int {
	if n := cmp.Compare(class(a.Type), class(b.Type)); n != 0 {
		return n
	}
	switch {
	case a.Type.IsText():
		return cmp.Compare(ascii.ToLower(string(a.Text)), ascii.ToLower(string(b.Text)))
	case a.Type == storage.SakeBinary:
		return cmp.Compare(string(a.Text), string(b.Text))
	case a.Type == storage.SakeFloat || b.Type == storage.SakeFloat:
		return exact(a).Cmp(exact(b))
	}
	return cmp.Compare(a.Num, b.Num)
}

// exact returns the number of a value.
func exact(v storage.SakeValue) *big.Float {
	if v.Type == storage.SakeFloat {
		return big.NewFloat(float64(v.Float()))
	}
	return new(big.Float).SetInt64(v.Num)
}

func TestCompareNumbers(t *testing.T) {
	var values []storage.SakeValue
	for _, n := range []int64{math.MinInt64, math.MinInt64 + 1, -1 << 53, -2, -1, 0, 1, 2, 1 << 53, 1<<53 + 1, math.MaxInt64 - 1, math.MaxInt64} {
		values = append(values, storage.SakeValue{Type: storage.SakeInt64, Num: n})
	}
	for _, n := range []float32{-math.MaxFloat32, -1 << 63, -1 << 53, -1.5, -0.5, 0, 0.5, 1, 1.5, 1 << 53, 1 << 63, math.MaxFloat32} {
		values = append(values, storage.SakeFloatValue(n))
	}
	for i := range values {
		for j := range values {
			work := 0
			if got, _ := compareValues(&values[i], &values[j], &work); got != exact(values[i]).Cmp(exact(values[j])) {
				t.Errorf("%v compared with %v is %d", values[i], values[j], got)
			}
		}
	}
}
