package news

import (
	"errors"
	"fmt"
	"testing"

	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/storage"
)

func openStore(t *testing.T) storage.Store {
	t.Helper()
	s := storetest.New(t)
	return s
}

func TestTable(t *testing.T) {
	s := openStore(t)
	table := New(s)
	one, two := storage.PatchID{Product: 1, Version: "1.0"}, storage.PatchID{Product: 2, Version: "1.0"}
	table.SetConfigured("for all", []storage.Patch{{PatchID: one, Name: "configured"}, {PatchID: two, Name: "configured", File: 7, URL: "http://a.b/c"}})
	if err := table.PutMotd(t.Context(), storage.Motd{Game: "gmtest", Text: "for gmtest"}); err != nil {
		t.Fatal(err)
	}
	if err := table.PutPatch(t.Context(), storage.Patch{PatchID: one, Name: "stored"}); err != nil {
		t.Fatal(err)
	}
	check := func(when string, table *Table) {
		t.Helper()
		if a, b := table.Motd("gmtest"), table.Motd("swat4"); a != "for gmtest" || b != "for all" {
			t.Errorf("%s: messages %q and %q", when, a, b)
		}
		p, _ := table.Patch(one)
		q, _ := table.Patch(two)
		if _, found := table.Patch(storage.PatchID{Product: 1, Version: "1.1"}); p.Name != "stored" || q.Name != "configured" || found {
			t.Errorf("%s: patches %q and %q", when, p.Name, q.Name)
		}
		if all := table.Patches(); len(all) != 2 || all[0].Configured || !all[1].Configured {
			t.Errorf("%s: Patches() = %+v", when, all)
		}
	}
	check("at once", table)
	again := New(s)
	if err := again.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	again.SetConfigured("for all", []storage.Patch{{PatchID: two, Name: "configured"}})
	check("after loading", again)
	if p, ok := table.Mirror(7); !ok || p.Product != 2 {
		t.Errorf("Mirror(7) = %+v, %v", p, ok)
	}
	if _, ok := table.Mirror(0); ok {
		t.Error("Mirror(0) is a patch")
	}
	if err := table.RemovePatch(t.Context(), two); !errors.Is(err, ErrConfigured) {
		t.Errorf("RemovePatch() of the configuration = %v, want ErrConfigured", err)
	}
	if err := errors.Join(table.RemovePatch(t.Context(), one), table.RemoveMotd(t.Context(), "gmtest")); err != nil {
		t.Errorf("removing: %v", err)
	}
	if p, _ := table.Patch(one); p.Name != "configured" || table.Motd("gmtest") != "for all" {
		t.Errorf("after removing: %q, %q, want those of the configuration", p.Name, table.Motd("gmtest"))
	}
}

func TestSee(t *testing.T) {
	table := New(openStore(t))
	known := Version{Game: "gmtest", Product: 1, Version: "1.0"}
	table.See(known)
	table.See(known)
	table.See(Version{Product: 1})
	table.See(Version{Product: -1, Version: "x"})
	for i := range 2 * MaxVersions {
		table.See(Version{Product: 2, Version: fmt.Sprint(i)})
	}
	all := table.Seen()
	if len(all) != MaxVersions {
		t.Errorf("%d versions are counted, want %d", len(all), MaxVersions)
	}
	times := int64(0)
	for _, c := range all {
		if c.Version == known {
			times = c.Times
		}
	}
	if times != 2 {
		t.Errorf("the version that asked twice is counted %d times", times)
	}
}
