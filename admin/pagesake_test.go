package admin

import (
	"net/http"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func TestPageTables(t *testing.T) {
	x := newSite(t, nil)
	ann, _ := statsPlayers(t, x.l, x.l)
	b := x.operator(t)
	const path = "/games/gmtest"
	if page := b.get(path); strings.Contains(page.body, "Records of players") {
		t.Errorf("page without tables:\n%s", page.body)
	}
	table := storage.SakeTableID{Game: "gmtest", Name: "<Levels>"}
	fields := []storage.SakeField{{Name: "a", Value: storage.SakeFloatValue(1)}, {Name: "b", Value: storage.SakeFloatValue(1)}}
	for range 3 {
		if _, err := x.l.Store.CreateSakeRecord(t.Context(), table, ann.ID, fields, storage.SakeLimits{}); err != nil {
			t.Fatal(err)
		}
	}
	wantRow := func(records string) {
		t.Helper()
		want := `<bdi>&lt;Levels&gt;</bdi></span></th><td class="num">2</td><td class="num">` + records + `</td>`
		if page := b.get(path); !strings.Contains(page.body, want) || strings.Contains(page.body, "<Levels>") {
			t.Errorf("the page lacks %s:\n%s", want, page.body)
		}
	}
	wantRow("3")
	post := func(fields ...string) page { return b.post(path+"/tables", fields...) }
	wantRefused(t, "no confirmation", post("table", table.Name), http.StatusBadRequest, "type the name")
	wantRefused(t, "other confirmation", post("table", table.Name, "confirm", "levels"), http.StatusBadRequest, "type the name")
	wantRefused(t, "nothing", post(), http.StatusBadRequest, "type the name")
	wantRefused(t, "empty id", post("table", table.Name, "id", "", "confirm", table.Name), http.StatusBadRequest, "id is not a number")
	wantRefused(t, "no such record", post("table", table.Name, "id", "9"), http.StatusNotFound, "")
	wantRefused(t, "no such table", post("table", "none", "confirm", "none"), http.StatusNotFound, "")
	wantRow("3")
	b.wantDone(t, post("table", table.Name, "id", "2"), "1 record.")
	wantRow("2")
	b.wantDone(t, post("table", table.Name, "confirm", " <levels> "), "2 records.")
	if page := b.get(path); strings.Contains(page.body, "Records of players") {
		t.Error("the page shows a deleted table")
	}
	log, err := operator.ReadAudit.Call(t.Context(), x.l, operator.AuditQuery{})
	if err != nil || len(log.Entries) < 2 || log.Entries[0].Action != "sake.delete" || log.Entries[0].Via != storage.ViaPage || log.Entries[1].Action != "sake.delete" {
		t.Errorf("audit log %+v, %v, want two deletions from a page", log, err)
	}
}
