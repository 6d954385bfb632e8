package serverbrowse

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/filter"
)

// wholeView builds a whole list with columns for fields.
func wholeView(t testing.TB, reg *master.Registry, key viewKey, list string, fields ...string) *view {
	t.Helper()
	names, _ := fieldNames(list)
	b := new(builder)
	v, err := b.build(reg, key, names, new(filter.Filter), nil)
	if err != nil {
		t.Fatal(err)
	}
	b.addWhole(v, fields)
	return v
}

// TestPick compares lists picked from a whole one with those built from the records.
func TestPick(t *testing.T) {
	racetest.Skip(t, "builds many lists")
	reg := newTestRegistry()
	fill(t, reg, 300)
	long := strings.Repeat("x", 3000) // longer ones are cut, in each list a little differently
	for i, rules := range [][]string{
		{"hostname", "odd", "numplayers", "many", "gametype", "ARENA"},
		{"hostname", "", "gametype", "a\"b", "mapname", long},
		{"hostname", long, "numplayers", "007"},
		{"hostname", "far", "numplayers", "70000", "country", "XX"},
	} {
		put(t, reg, "gmtest", fmt.Sprintf("198.51.100.%d:7000", i), rules, func(s *master.Server) {
			s.Country, s.Region = "DE", "2"
			s.Local = []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:7001")}
			if i == 1 {
				s.Findings.Reached = master.ReachedDirect
			}
		})
	}
	fields := []string{"gametype", "numplayers", "hostname", "timelimit", "country", "missing", "password", "groupid"}
	for name, all := range map[string]bool{"all fields": true, "fields of those behind NAT": false} {
		for _, list := range []string{nineFields, `\hostname\password\timelimit`, ``} {
			key := viewKey{game: "gmtest", port: 6500, all: all, asker: advertise.Asker{}}
			whole := wholeView(t, reg, key, list, fields...)
			for text, least := range map[string]int{
				"timelimit=20":                      300,
				"gametype='arena'":                  75,
				"gametype='arena' and numplayers>5": 20,
				"numplayers<16":                     200,
				"numplayers>16":                     1,
				"country='DE'":                      4,
				"missing is null":                   300,
				"missing=1":                         0,
				"hostname like '%number 7%' or password=1":               140,
				"hostname='Server number 17 of some clan'":               1,
				"groupid is null and not (gametype='dm' and password=1)": 200,
			} {
				t.Run(name+"/"+list+"/"+text, func(t *testing.T) {
					f, err := filter.Compile(text)
					if err != nil {
						t.Fatal(err)
					}
					names, _ := fieldNames(list)
					want, err := new(builder).build(reg, key, names, f, nil)
					if err != nil {
						t.Fatal(err)
					}
					got, err := new(picker).pick(whole, f)
					if err != nil {
						t.Fatal(err)
					}
					comparePicked(t, want, got)
					if n := got.entries(); n < least {
						t.Errorf("%d servers, want at least %d", n, least)
					}
				})
			}
		}
	}
}

// comparePicked compares the lists that two browsers read.
func comparePicked(t *testing.T, want, got *view) {
	t.Helper()
	a, b := decodeView(t, want), decodeView(t, got)
	if len(a.Keys) != len(b.Keys) {
		t.Fatalf("keys %v, want %v", b.Keys, a.Keys)
	}
	for i := range a.Keys {
		if a.Keys[i].Name != b.Keys[i].Name {
			t.Errorf("keys %v, want %v", b.Keys, a.Keys)
		}
	}
	if d := cmp.Diff(a.Entries, b.Entries, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b }), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); d != "" {
		t.Errorf("entries (-built +picked):\n%s", d)
	}
	var listed [2][]uint64
	for i, v := range []*view{want, got} {
		v.addresses(6500, func(packed uint64) { listed[i] = append(listed[i], packed) })
	}
	if !slices.Equal(listed[0], listed[1]) {
		t.Error("the servers are listed under other addresses")
	}
	if want.serial != got.serial || want.changes != got.changes || want.servers != got.servers {
		t.Errorf("serial %d, %d, %d servers, want %d, %d, %d", got.serial, got.changes, got.servers, want.serial, want.changes, want.servers)
	}
	// Columns of the whole list may be wider, and a few popular values unused.
	if limit := len(want.clear)*5/4 + 256; len(got.clear) > limit {
		t.Errorf("%d bytes, want about %d", len(got.clear), len(want.clear))
	}
}

func TestPickIsBounded(t *testing.T) {
	reg := newTestRegistry()
	for i := range 50 {
		put(t, reg, "gmtest", fmt.Sprintf("192.0.2.%d:6500", i), []string{"hostname", strings.Repeat("a", 2000+i)}, nil)
	}
	whole := wholeView(t, reg, viewKey{game: "gmtest", port: 6500}, nineFields, "hostname")
	f, err := filter.Compile(expensive)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := new(picker).pick(whole, f); !errors.Is(err, errTooExpensive) {
		t.Errorf("pick = %v, want %v", err, errTooExpensive)
	}
}

// TestFiltersShareAWholeList checks when lists are picked, and that they are as fresh
// as others.
func TestFiltersShareAWholeList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := newTestRegistry()
		s := New(Options{Config: testConfig(), Listing: part.Listing{Registry: reg, Games: testGames(t)}})
		n := 0
		get := func(fields ...string) *view {
			t.Helper()
			n++
			r := request(func(r *ListRequest) {
				r.Filter = fmt.Sprintf("maxplayers<%d", 100+n)
				for _, f := range fields {
					r.Filter += " and " + f + " is null"
				}
			})
			at, err := s.asked(&r, "gmtest", 6500)
			if err != nil {
				t.Fatal(err)
			}
			v, err := s.view(at)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		builds := func(want float64, what string) {
			t.Helper()
			if got := testutil.ToFloat64(s.metrics.wholes); got != want {
				t.Errorf("%s: %v whole lists built, want %v", what, got, want)
			}
		}
		fill(t, reg, shortList)
		get()
		get()
		builds(0, "a short list")
		fill(t, reg, shortList+50)
		get()
		builds(0, "the first filter")
		put(t, reg, "gmtest", "203.0.113.9:6500", []string{"hostname", "soon", "maxplayers", "8"}, nil)
		time.Sleep(maxHold)
		n-- // the same filter
		get()
		builds(0, "the same filter after a change")
		if first, second := get(), get(); &first.clear[0] != &second.clear[0] || first.entries() != shortList+51 {
			t.Error("two filters that all servers pass have no list in common")
		}
		builds(1, "more filters")
		get("a", "b")
		builds(2, "with other fields")
		get("b")
		get()
		builds(2, "with fields that were used before")
		put(t, reg, "gmtest", "203.0.113.1:6500", []string{"hostname", "late", "maxplayers", "8"}, nil)
		time.Sleep(maxHold)
		if v := get(); v.entries() != shortList+52 {
			t.Errorf("%d servers after one came, want %d", v.entries(), shortList+52)
		}
		builds(3, "after a change, as filters come all the time")
		put(t, reg, "gmtest", "203.0.113.2:6500", []string{"hostname", "later", "maxplayers", "8"}, nil)
		time.Sleep(time.Hour)
		if v := get(); v.entries() != shortList+53 {
			t.Errorf("%d servers after another came, want %d", v.entries(), shortList+53)
		}
		builds(3, "after a while")
		var many []string
		for i := range maxFilterColumns {
			many = append(many, fmt.Sprintf("f%d", i))
		}
		get(many...)
		builds(3, "with too many fields")
	})
}
