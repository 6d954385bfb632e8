package sake

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

// leftOutBy returns how many replies lack records because of a bound.
func (f *fixture) leftOutBy(name string) float64 {
	f.Helper()
	return f.counter("respawnd_webservices_sake_left_out_total", name)
}

// counter returns the value of a counter with one label.
func (f *fixture) counter(name, label string) float64 {
	f.Helper()
	families, err := f.reg.Gather()
	if err != nil {
		f.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == name && m.GetLabel()[0].GetValue() == label {
				return m.GetCounter().GetValue()
			}
		}
	}
	f.Fatalf("there is no %s of %s", name, label)
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
	racetest.Skip(t, "stores many records")
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

// TestTargetKept searches for a target whose surroundings do not fit into a reply.
func TestTargetKept(t *testing.T) {
	racetest.Skip(t, "stores many records")
	f := newFixture(t, nil)
	const many = 2*MaxReplyRecords + 300
	f.store("t", many)
	recordIDs := regexp.MustCompile(`<intValue><value>(\d+)</value>`)
	search := func(table, rest string, target int) (ids []int) {
		t.Helper()
		reply := f.ask(1, "SearchForRecords", table, fmt.Sprintf("<max>5000</max><targetfilter>recordid=%d</targetfilter>", target)+rest)
		for _, m := range recordIDs.FindAllStringSubmatch(reply, -1) {
			n, _ := strconv.Atoi(m[1])
			ids = append(ids, n)
		}
		return ids
	}
	for _, tc := range []struct{ around, target, first, last, leftOut int }{
		{500, 1200, 700, 1699, 1},                         // 1001 records
		{499, 1200, 701, 1699, 0},                         // 999
		{1000, 1200, 700, 1699, 1},                        // 2001
		{5000, many, many - MaxReplyRecords + 1, many, 1}, // none after it
		{5000, many - 10, many - MaxReplyRecords + 1, many, 1},
		{5000, 1, 1, MaxReplyRecords, 1},
	} {
		before := f.leftOutBy("records")
		ids := search("t", fmt.Sprintf("<surrounding>%d</surrounding>", tc.around)+fieldsOf("recordid"), tc.target)
		if len(ids) == 0 || ids[0] != tc.first || ids[len(ids)-1] != tc.last || len(ids) != tc.last-tc.first+1 || !slices.IsSorted(ids) {
			t.Errorf("%d around record %d: %d records from %v, want %d to %d", tc.around, tc.target, len(ids), ids[:min(len(ids), 1)], tc.first, tc.last)
		}
		if n := int(f.leftOutBy("records") - before); n != tc.leftOut {
			t.Errorf("%d around record %d: counted %d times, want %d", tc.around, tc.target, n, tc.leftOut)
		}
	}

	big, err := storage.ParseSakeValue(storage.SakeASCII, strings.Repeat("&", 64<<10))
	if err != nil {
		t.Fatal(err)
	}
	f.store("big", 40, storage.SakeField{Name: "a", Value: big}) // 320 KiB each in a reply
	ids := search("big", "<surrounding>19</surrounding>"+fieldsOf("recordid", "a"), 20)
	if n := f.leftOutBy("bytes"); len(ids) != 13 || ids[0] != 14 || ids[12] != 26 || n != 1 {
		t.Errorf("a reply of large records around record 20 has %v, counted %v times", ids, n)
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
