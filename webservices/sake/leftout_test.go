package sake

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

// leftOutBy returns how many replies lack records because of a bound.
func (f *fixture) leftOutBy(name string) float64 {
	f.Helper()
	families, err := f.reg.Gather()
	if err != nil {
		f.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "respawnd_webservices_sake_left_out_total" && m.GetLabel()[0].GetValue() == name {
				return m.GetCounter().GetValue()
			}
		}
	}
	f.Fatalf("there is no bound %s", name)
	return 0
}

// store adds records of player 1 without the limits.
func (f *fixture) store(table string, n int, fields ...storage.SakeField) {
	f.Helper()
	for range n {
		if _, err := f.db.CreateSakeRecord(f.Context(), storage.SakeTableID{Game: "gmtest", Name: table}, 1, fields, storage.SakeLimits{}); err != nil {
			f.Fatal(err)
		}
	}
}

func TestRecordsLeftOut(t *testing.T) {
	var log bytes.Buffer
	f := newFixture(t, func(o *Options) { o.Log = zerolog.New(&log) })
	f.store("t", MaxReplyRecords)
	var all strings.Builder
	for i := range MaxReplyRecords + 1 {
		fmt.Fprintf(&all, "<int>%d</int>", i+1)
	}
	asked := map[string]string{
		"GetMyRecords": "", "SearchForRecords": "<max>5000</max>", "GetRandomRecords": "<max>5000</max>", "GetSpecificRecords": "<recordids>" + all.String() + "</recordids>",
	}
	records := func(method, table, rest string) int {
		return strings.Count(f.ask(1, method, table, rest+fieldsOf("recordid")), "<ArrayOfRecordValue>")
	}
	for method, rest := range asked {
		if method != "GetSpecificRecords" && records(method, "t", rest) != MaxReplyRecords {
			t.Errorf("%s does not return all %d records", method, MaxReplyRecords)
		}
	}
	if n := f.leftOutBy("records"); n != 0 || log.Len() > 0 {
		t.Errorf("%v replies were counted that have all records; log:\n%s", n, log.String())
	}

	f.store("t", 1)
	for method, rest := range asked {
		if n := records(method, "T", rest); n != MaxReplyRecords {
			t.Errorf("%s returns %d records, want %d", method, n, MaxReplyRecords)
		}
	}
	records("SearchForRecords", "t", "<max>1000</max>") // as many as it asked for
	if n := records("SearchForRecords", "t", "<offset>1000</offset><max>1000</max>"); n != 1 {
		t.Errorf("the next reply has %d records, want 1", n)
	}
	if n := f.leftOutBy("records"); n != 4 {
		t.Errorf("%v replies were counted, want 4", n)
	}

	big, err := storage.ParseSakeValue(storage.SakeASCII, strings.Repeat("&", 64<<10))
	if err != nil {
		t.Fatal(err)
	}
	f.store("big", 20, storage.SakeField{Name: "a", Value: big}) // 320 KiB each in a reply
	reply := f.ask(1, "GetMyRecords", "big", fieldsOf("a"))
	if n := strings.Count(reply, "<ArrayOfRecordValue>"); n != 13 || len(reply) < MaxReplySize {
		t.Errorf("a reply of large records has %d of them and %d bytes, want 13", n, len(reply))
	}
	if n := f.leftOutBy("bytes"); n != 1 {
		t.Errorf("%v replies were counted as too large, want 1", n)
	}
	if got := strings.Count(log.String(), "left out"); got != 2 {
		t.Errorf("%d lines, want one for each table:\n%s", got, log.String())
	}
	e := f.opt.Verdicts.Of(client.Addr())
	if len(e) == 0 || e[len(e)-1].Verdict != verdicts.RecordsLeftOut || e[len(e)-1].Detail != "GetMyRecords, table big: more than 4 MiB" {
		t.Errorf("verdicts %+v, want RecordsLeftOut", e)
	}
}

func TestTableLog(t *testing.T) {
	var l tableLog
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	table := func(i int) storage.SakeTableID {
		return storage.SakeTableID{Game: "gmtest", Name: fmt.Sprint("t", i)}
	}
	for i := range maxLogged {
		if !l.first(table(i), now) || l.first(table(i), now.Add(logEvery-1)) {
			t.Fatalf("table %d is not logged once", i)
		}
	}
	if l.first(table(maxLogged), now.Add(logEvery-1)) {
		t.Error("too many tables are logged")
	}
	if !l.first(table(maxLogged), now.Add(logEvery)) || !l.first(table(0), now.Add(logEvery)) {
		t.Error("tables are not logged after an hour")
	}
	if len(l.last) != 2 {
		t.Errorf("%d tables are kept, want 2", len(l.last))
	}
}
