package operator

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/played"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/storage"
)

// newPlayed returns operations with the built-in games and without reports.
func newPlayed(t *testing.T) *Local {
	t.Helper()
	store := storetest.NewWhole(t)
	l := &Local{Store: store, Played: played.New(store, nil), Catalogue: &Catalogue{Embedded: BuiltIn(), Store: store}}
	if err := l.Catalogue.Load(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestReportsOfOperators: each source, copy and version of a day is a report of its own, and the
// export has their sums.
func TestReportsOfOperators(t *testing.T) {
	l := newPlayed(t)
	for _, in := range []NewPlayed{
		{Game: "SWAT4", Source: "a forum", Step: storage.Played, Copy: "retail", Day: "2026-11-27"},
		{Game: "swat4", Source: "another", Step: storage.Played, Copy: "retail", Day: "2026-11-27", Version: "1.1"},
		{Game: "swat4", Source: "another", Step: storage.Played, Copy: "retail", Day: "2026-11-27", Version: "1.1"},
		{Game: "bfield1942", Source: "a forum", Copy: "gog", Day: "2026-11-28"},
	} {
		if err := AddPlayed.Exec(t.Context(), l, in); err != nil {
			t.Fatalf("add %+v: %v", in, err)
		}
	}
	if all := l.Played.List(""); len(all) != 3 {
		t.Errorf("%d reports, want 3: %+v", len(all), all)
	}
	for _, in := range []NewPlayed{{Game: "swat4"}, {Game: "no such game", Source: "a forum"}, {Game: "swat4", Source: "a forum", Step: "won"}} {
		if err := AddPlayed.Exec(t.Context(), l, in); !errors.Is(err, ErrBadRequest) && !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("add %+v: %v", in, err)
		}
	}
	var out bytes.Buffer
	if _, err := ExportPlayed.Call(t.Context(), l, None{}, &out); err != nil {
		t.Fatal(err)
	}
	var games []string
	for line := range strings.Lines(out.String()) {
		if cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); cells[0] == "swat4" || cells[0] == "bfield1942" {
			games = append(games, cells[0]+" "+strings.Join(cells[2:], " "))
		}
	}
	if diff := cmp.Diff([]string{"bfield1942 1 2026-11-28  ", "swat4 2 2026-11-27 1.1 "}, games); diff != "" {
		t.Errorf("export (-want +got):\n%s\n%s", diff, out.String())
	}
}
