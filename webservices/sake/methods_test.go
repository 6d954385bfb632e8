package sake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

func TestTypes(t *testing.T) {
	f := newFixture(t, nil)
	f.want(1, "CreateRecord", "mytable", record("b", "byteValue", "200", "s", "shortValue", "-5", "i", "intValue", "-123456", "f", "floatValue", "1.500000",
		"a", "asciiStringValue", "a&amp;b&lt;c&gt;", "u", "unicodeStringValue", "h&#xc3;&#xa9;&#x01;", "o", "booleanValue", "1", "d", "dateAndTimeValue", "2010-05-06T07:08:09Z",
		"x", "binaryDataValue", "AAECAwQ=", "l", "int64Value", "1234567890123"), "Success", id(1))
	f.want(2, "CreateRecord", "mytable", record("b", "byteValue", "1"), "Success", id(2))
	names := []string{"x", "b", "s", "i", "f", "a", "u", "o", "d", "l", "recordid", "OwnerID", "num_ratings", "average_rating", "my_rating", "sum_ratings", "b"}
	full := []string{
		"binaryDataValue", "AAECAwQ=", "byteValue", "200", "shortValue", "-5", "intValue", "-123456", "floatValue", "1.5",
		"asciiStringValue", "a&amp;b&lt;c&gt;", "unicodeStringValue", "hé&#x1;", "booleanValue", "true", "dateAndTimeValue", "2010-05-06T07:08:09",
		"int64Value", "1234567890123", "intValue", "1", "intValue", "1", "intValue", "0", "floatValue", "0", "intValue", "-1", "intValue", "0", "byteValue", "200",
	}
	empty := []string{
		"binaryDataValue", "", "byteValue", "1", "shortValue", "0", "intValue", "0", "floatValue", "0",
		"asciiStringValue", "", "unicodeStringValue", "", "booleanValue", "false", "dateAndTimeValue", "1970-01-01T00:00:00",
		"int64Value", "0", "intValue", "2", "intValue", "2", "intValue", "0", "floatValue", "0", "intValue", "-1", "intValue", "0", "byteValue", "1",
	}
	f.want(1, "GetMyRecords", "mytable", fieldsOf(names...), "Success", list(full))
	f.want(1, "GetSpecificRecords", "MyTable", "<recordids><int>2</int><int>99</int><int>x</int><int>1</int></recordids>"+fieldsOf(names...), "Success", list(empty, full))
	f.want(3, "GetMyRecords", "mytable", fieldsOf(names...), "Success", list())
	f.want(1, "GetMyRecords", "mytable", fieldsOf("b", "none"), "FieldNotFound", "")
}

func TestFileFields(t *testing.T) {
	f := newFixture(t, nil)
	for _, file := range []string{"555", "556"} {
		f.ask(1, "CreateRecord", "t", record("demo", "intValue", file))
	}
	f.want(1, "GetMyRecords", "t", fieldsOf("demo.size", "demo.create_time", "Demo.Downloads", "demo"), "Success", list(
		[]string{"intValue", "1234", "dateAndTimeValue", "2026-11-01T12:00:00", "intValue", "7", "intValue", "555"},
		[]string{"intValue", "0", "dateAndTimeValue", "1970-01-01T00:00:00", "intValue", "0", "intValue", "556"}))
	f.want(1, "GetMyRecords", "t", fieldsOf("demo.name"), "FieldNotFound", "")
	f.want(1, "SearchForRecords", "t", "<filter>demo.size > 5</filter><max>1</max>"+fieldsOf("demo"), "FilterInvalid", "")
}

// TestResults reaches every Result.
func TestResults(t *testing.T) {
	f := newFixture(t, nil)
	f.ask(1, "CreateRecord", "t", record("i", "intValue", "5"))
	f.ask(1, "CreateRecord", "fixed", record("score", "intValue", "5"))
	f.ask(1, "CreateRecord", "fixed", record("score", "intValue", "6"))
	f.ask(1, "CreateRecord", "private", record("i", "intValue", "5"))
	search := func(kind, text string) string {
		return fmt.Sprintf("<%s>%s</%[1]s><max>5</max>", kind, text) + fieldsOf("i")
	}
	for name, test := range map[string]struct {
		method, table, rest, want string
		player                    storage.ProfileID
	}{
		"unknown player":           {"GetRecordLimit", "t", "", "LoginTicketInvalid", 9},
		"no table name":            {"GetRecordLimit", "", "", "TableNotFound", 1},
		"strange table":            {"CreateRecord", "a b", record(), "TableNotFound", 1},
		"limit of no table":        {"GetRecordLimit", "none", "", "TableNotFound", 1},
		"update in no table":       {"UpdateRecord", "none", id(1) + record(), "TableNotFound", 1},
		"delete in no table":       {"DeleteRecord", "none", id(1), "TableNotFound", 1},
		"rate in no table":         {"RateRecord", "none", id(1) + "<rating>1</rating>", "TableNotFound", 1},
		"records of no table":      {"GetMyRecords", "none", fieldsOf("i"), "TableNotFound", 1},
		"specific of no table":     {"GetSpecificRecords", "none", fieldsOf("i"), "TableNotFound", 1},
		"search in no table":       {"SearchForRecords", "none", search("filter", ""), "TableNotFound", 1},
		"random of no table":       {"GetRandomRecords", "none", search("filter", ""), "TableNotFound", 1},
		"count of no table":        {"GetRecordCount", "none", "", "TableNotFound", 1},
		"update of no record":      {"UpdateRecord", "t", id(9) + record(), "RecordNotFound", 1},
		"update of a strange id":   {"UpdateRecord", "t", "<recordid>x</recordid>" + record(), "RecordNotFound", 1},
		"update in an empty table": {"UpdateRecord", "shared", id(1) + record(), "RecordNotFound", 1},
		"delete of no record":      {"DeleteRecord", "t", id(-1), "RecordNotFound", 1},
		"rate no record":           {"RateRecord", "t", id(9) + "<rating>1</rating>", "RecordNotFound", 1},
		"unknown field":            {"GetMyRecords", "t", fieldsOf("nothing"), "FieldNotFound", 1},
		"field that is not fixed":  {"CreateRecord", "fixed", record("other", "intValue", "1"), "FieldNotFound", 2},
		"field twice":              {"CreateRecord", "t", record("i", "intValue", "1", "I", "intValue", "1"), "FieldNotFound", 1},
		"field without name":       {"CreateRecord", "t", record("", "intValue", "1"), "FieldNotFound", 1},
		"field with a dot":         {"CreateRecord", "t", record("a.size", "intValue", "1"), "FieldNotFound", 1},
		"no number":                {"CreateRecord", "t", record("i", "intValue", "one"), "FieldTypeInvalid", 1},
		"empty number":             {"CreateRecord", "t", record("i", "intValue", ""), "FieldTypeInvalid", 1},
		"byte too large":           {"CreateRecord", "t", record("i", "byteValue", "256"), "FieldTypeInvalid", 1},
		"no type of ours":          {"CreateRecord", "t", record("i", "stringValue", "x"), "FieldTypeInvalid", 1},
		"no type":                  {"CreateRecord", "t", "<values><RecordField><name>i</name></RecordField></values>", "FieldTypeInvalid", 1},
		"other type than fixed":    {"CreateRecord", "fixed", record("score", "byteValue", "1"), "FieldTypeInvalid", 2},
		"automatic field":          {"CreateRecord", "t", record("ownerid", "intValue", "1"), "NoPermission", 1},
		"official table":           {"CreateRecord", "official", record(), "NoPermission", 1},
		"update in official table": {"UpdateRecord", "official", id(1) + record(), "NoPermission", 1},
		"delete in official table": {"DeleteRecord", "official", id(1), "NoPermission", 1},
		"limit of the table":       {"CreateRecord", "fixed", record("score", "intValue", "1"), "RecordLimitReached", 1},
		"no ratings":               {"RateRecord", "fixed", id(1) + "<rating>1</rating>", "NotRateable", 1},
		"rating too high":          {"RateRecord", "t", id(1) + "<rating>256</rating>", "NotRateable", 1},
		"update of another's":      {"UpdateRecord", "t", id(1) + record("i", "intValue", "1"), "NotOwned", 2},
		"delete of another's":      {"DeleteRecord", "t", id(1), "NotOwned", 2},
		"strange filter":           {"SearchForRecords", "t", search("filter", "i ="), "FilterInvalid", 1},
		"unknown column":           {"GetRecordCount", "t", search("filter", "x = 1"), "FilterInvalid", 1},
		"strange random filter":    {"GetRandomRecords", "t", search("filter", "i like 5"), "FilterInvalid", 1},
		"unknown column in sort":   {"SearchForRecords", "t", search("sort", "x desc"), "SortInvalid", 1},
		"strange sort":             {"SearchForRecords", "t", search("sort", "i sideways"), "SortInvalid", 1},
		"strange target":           {"SearchForRecords", "t", search("targetfilter", "(i = 1"), "TargetFilterInvalid", 1},
		"success":                  {"GetRecordCount", "t", "", "Success", 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := f.ask(test.player, test.method, test.table, test.rest)
			if want := "<" + test.method + "Result>" + test.want + "</" + test.method + "Result>"; got != want && (test.want != "Success" || !strings.HasPrefix(got, want)) {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
	if list := f.opt.Verdicts.Of(client.Addr()); len(list) == 0 || list[0].Verdict != verdicts.StorageRefused {
		t.Errorf("verdicts %+v", list)
	}
}

func TestAuthentication(t *testing.T) {
	f := newFixture(t, nil)
	f.ask(1, "CreateRecord", "t", record())
	limit := func(game, key, ticket string) string {
		got := f.send(game, strings.NewReplacer("HA6zkS", key, "ticket000000000000000001", ticket).Replace(body(1, "GetRecordLimit", "t", "")))
		return strings.TrimSuffix(strings.TrimPrefix(got, "<GetRecordLimitResult>"), "</GetRecordLimitResult>")
	}
	for name, test := range map[string]struct{ game, key, ticket, want string }{
		"good":           {"gmtest", "HA6zkS", ticket(1), "Success</GetRecordLimitResult><limitPerOwner>100</limitPerOwner><numOwned>1</numOwned>"},
		"first key":      {"gmtest", "OTHERK", ticket(1), "Success</GetRecordLimitResult><limitPerOwner>100</limitPerOwner><numOwned>1</numOwned>"},
		"wrong key":      {"gmtest", "HA6zkT", ticket(1), "SecretKeyInvalid"},
		"empty key":      {"gmtest", "", ticket(1), "SecretKeyInvalid"},
		"long key":       {"gmtest", strings.Repeat("HA6zkS", 100), ticket(1), "SecretKeyInvalid"},
		"unknown game":   {"", "HA6zkS", ticket(1), "SecretKeyInvalid"},
		"game is gone":   {"gone", "HA6zkS", ticket(1), "ServiceDisabled"},
		"empty ticket":   {"gmtest", "HA6zkS", "", "LoginTicketInvalid"},
		"short ticket":   {"gmtest", "HA6zkS", ticket(1)[:23], "LoginTicketInvalid"},
		"unknown ticket": {"gmtest", "HA6zkS", strings.Repeat("x", 24), "LoginTicketInvalid"},
	} {
		if got := limit(test.game, test.key, test.ticket); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	u, err := f.db.GetUser(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	u.Ban = storage.AccountBan{Added: time.Now(), Reason: "test"}
	if _, err := f.db.UpdateUser(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	if got := limit("gmtest", "HA6zkS", ticket(1)); got != "LoginTicketInvalid" {
		t.Errorf("a banned player gets %s", got)
	}
	if err := f.db.DeleteUser(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if got := limit("gmtest", "HA6zkS", ticket(2)); got != "LoginTicketInvalid" {
		t.Errorf("a deleted player gets %s", got)
	}
	late := newFixture(t, func(o *Options) { o.Tickets = tickets{expired: true} })
	late.want(1, "GetRecordLimit", "t", "", "LoginTicketExpired", "")
}

// brokenStore fails.
type brokenStore struct{ Store }

func (brokenStore) GetSakeTable(context.Context, storage.SakeTableID) (storage.SakeTable, error) {
	return storage.SakeTable{}, errors.New("disk on fire")
}

func TestDatabaseUnavailable(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Store = brokenStore{o.Store} })
	f.want(1, "GetRecordLimit", "t", "", "DatabaseUnavailable", "")
}

func TestFault(t *testing.T) {
	s := newFixture(t, nil).backend.Services()[0]
	if got := string(s.Fault("GetRecordLimit")); !strings.Contains(got, "<GetRecordLimitResponse xmlns=\"http://gamespy.net/sake\"><GetRecordLimitResult>UnknownError</GetRecordLimitResult></GetRecordLimitResponse>") {
		t.Errorf("Fault() = %s", got)
	}
	if len(s.Methods) != 10 {
		t.Errorf("%d methods, want 10", len(s.Methods))
	}
}

func TestLife(t *testing.T) {
	f := newFixture(t, nil)
	f.want(1, "CreateRecord", "t", record("a", "intValue", "1", "b", "asciiStringValue", "x"), "Success", id(1))
	f.want(1, "UpdateRecord", "t", id(1)+record("a", "asciiStringValue", "now text", "c", "booleanValue", "0"), "Success", "")
	f.want(1, "GetMyRecords", "t", fieldsOf("a", "b", "c"), "Success",
		list([]string{"asciiStringValue", "now text", "asciiStringValue", "x", "booleanValue", "false"}))
	f.want(1, "GetRecordLimit", "t", "", "Success", "<limitPerOwner>100</limitPerOwner><numOwned>1</numOwned>")
	f.want(1, "DeleteRecord", "t", id(1), "Success", "")
	f.want(1, "GetMyRecords", "t", fieldsOf("a"), "Success", list())
	f.want(1, "CreateRecord", "t", "", "Success", id(2))
	f.want(2, "CreateRecord", "shared", record("i", "intValue", "1"), "Success", id(1))
	f.want(1, "UpdateRecord", "shared", id(1)+record("i", "intValue", "2"), "Success", "")
	f.want(1, "DeleteRecord", "shared", id(1), "Success", "")
	f.want(1, "GetMyRecords", "official", fieldsOf("recordid"), "Success", list())
	f.want(1, "GetRecordLimit", "fixed", "", "Success", "<limitPerOwner>2</limitPerOwner><numOwned>0</numOwned>")
	f.want(1, "GetMyRecords", "fixed", fieldsOf("score", "TITLE"), "Success", list())
}

func TestPrivateTable(t *testing.T) {
	f := newFixture(t, nil)
	f.ask(1, "CreateRecord", "private", record("i", "intValue", "1"))
	f.ask(2, "CreateRecord", "private", record("i", "intValue", "2"))
	f.want(2, "SearchForRecords", "private", "<max>9</max>"+fieldsOf("recordid"), "Success", ids(2))
	f.want(2, "SearchForRecords", "private", "<max>9</max><ownerids><int>1</int></ownerids>"+fieldsOf("recordid"), "Success", list())
	f.want(2, "GetSpecificRecords", "private", "<recordids><int>1</int><int>2</int></recordids>"+fieldsOf("recordid"), "Success", ids(2))
	f.want(2, "GetSpecificRecords", "private", "<recordids><int>1</int></recordids>"+fieldsOf("recordid"), "Success", list())
	f.want(2, "GetRecordCount", "private", "", "Success", "<count>1</count>")
	f.want(2, "GetRandomRecords", "private", "<max>9</max>"+fieldsOf("recordid"), "Success", ids(2))
}

func TestRatings(t *testing.T) {
	f := newFixture(t, nil)
	f.ask(1, "CreateRecord", "t", record())
	f.ask(1, "CreateRecord", "t", record())
	rate := func(n, rating int) string { return id(n) + fmt.Sprintf("<rating>%d</rating>", rating) }
	f.want(2, "RateRecord", "t", rate(1, 5), "Success", "<numRatings>1</numRatings><averageRating>5</averageRating>")
	f.want(3, "RateRecord", "t", rate(1, 0), "Success", "<numRatings>2</numRatings><averageRating>2.5</averageRating>")
	f.want(2, "RateRecord", "t", rate(1, 6), "AlreadyRated", "")
	f.want(1, "RateRecord", "t", rate(2, 255), "Success", "<numRatings>1</numRatings><averageRating>255</averageRating>")
	f.want(2, "GetSpecificRecords", "t", "<recordids><int>1</int><int>2</int></recordids>"+fieldsOf("my_rating", "num_ratings", "average_rating", "sum_ratings"), "Success", list(
		[]string{"intValue", "5", "intValue", "2", "floatValue", "2.5", "intValue", "5"},
		[]string{"intValue", "-1", "intValue", "1", "floatValue", "255", "intValue", "255"}))
	f.want(2, "SearchForRecords", "t", "<filter>my_rating = -1</filter><max>9</max>"+fieldsOf("recordid"), "Success", ids(2))
	f.want(2, "SearchForRecords", "t", "<filter>num_ratings > 0 and average_rating &lt; 3</filter><max>9</max>"+fieldsOf("recordid"), "Success", ids(1))
	f.want(2, "SearchForRecords", "t", "<sort>average_rating desc</sort><max>9</max>"+fieldsOf("recordid"), "Success", ids(2, 1))
}

// TestLimits checks each limit at its edge: the allowed number, and one more.
func TestLimits(t *testing.T) {
	many := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprint("f", i), "byteValue", "1")
		}
		return record(all...)
	}
	text := func(n int) string { return record("t", "asciiStringValue", strings.Repeat("x", n)) }
	create := func(f *fixture, player storage.ProfileID, table, values string) string {
		got := f.ask(player, "CreateRecord", table, values)
		return strings.TrimPrefix(strings.Split(got, "</")[0], "<CreateRecordResult>")
	}
	for name, test := range map[string]struct {
		edit  func(*RecordConfig)
		calls []string // player, table and values of each
		want  []string
	}{
		"fields":        {func(c *RecordConfig) { c.FieldsPerRecord = 3 }, []string{"1", "t", many(3), "1", "t", many(4)}, []string{"Success", "RecordLimitReached"}},
		"value":         {func(c *RecordConfig) { c.ValueSize = 10 }, []string{"1", "t", text(10), "1", "t", text(11)}, []string{"Success", "FieldTypeInvalid"}},
		"record":        {func(c *RecordConfig) { c.RecordSize = 100 }, []string{"1", "t", text(50), "1", "t", text(101)}, []string{"Success", "RecordLimitReached"}},
		"owner":         {func(c *RecordConfig) { c.RecordsPerOwner = 1 }, []string{"1", "t", "", "1", "t", "", "2", "t", "", "1", "u", ""}, []string{"Success", "RecordLimitReached", "Success", "Success"}},
		"player":        {func(c *RecordConfig) { c.PlayerRecords = 1 }, []string{"1", "t", "", "1", "u", "", "2", "u", ""}, []string{"Success", "RecordLimitReached", "Success"}},
		"player's size": {func(c *RecordConfig) { c.PlayerRecordSize = 200 }, []string{"1", "t", text(100), "1", "t", text(100), "2", "t", text(100)}, []string{"Success", "RecordLimitReached", "Success"}},
		"tables":        {func(c *RecordConfig) { c.TablesPerGame = 1 }, []string{"1", "t", "", "1", "u", "", "1", "T", ""}, []string{"Success", "RecordLimitReached", "Success"}},
		"game":          {func(c *RecordConfig) { c.RecordsPerGame = 1 }, []string{"1", "t", "", "2", "u", ""}, []string{"Success", "RecordLimitReached"}},
		"total":         {func(c *RecordConfig) { c.MaxRecords = 1 }, []string{"1", "t", "", "2", "u", ""}, []string{"Success", "RecordLimitReached"}},
		"total size":    {func(c *RecordConfig) { c.MaxRecordSpace = 200 }, []string{"1", "t", text(100), "2", "t", text(100)}, []string{"Success", "RecordLimitReached"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, func(o *Options) { test.edit(&o.Config) })
			for i, want := range test.want {
				player := storage.ProfileID(test.calls[3*i][0] - '0')
				if got := create(f, player, test.calls[3*i+1], test.calls[3*i+2]); got != want {
					t.Errorf("call %d: %s, want %s", i, got, want)
				}
			}
		})
	}
}

func TestScanLimit(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Config.ScanRecords = 3 })
	for i := range 4 {
		f.ask(1, "CreateRecord", "t", record("i", "intValue", fmt.Sprint(i)))
	}
	f.want(1, "SearchForRecords", "t", "<filter>i &gt; 5</filter><max>1</max>"+fieldsOf("i"), "DatabaseUnavailable", "")
	f.want(1, "SearchForRecords", "t", "<max>3</max>"+fieldsOf("recordid"), "Success", ids(1, 2, 3))
	f.want(1, "GetRecordCount", "t", "", "Success", "<count>4</count>")
	f.want(1, "GetRecordCount", "t", "<filter>i &gt;= 0</filter>", "DatabaseUnavailable", "")
	if n := f.metric("respawnd_webservices_sake_scan_limited_total"); n != 2 {
		t.Errorf("%v searches were counted as too large, want 2", n)
	}
	if e := f.opt.Verdicts.Of(client.Addr()); len(e) == 0 || e[len(e)-1].Verdict != verdicts.SearchTooLarge {
		t.Errorf("verdicts %+v, want SearchTooLarge", e)
	}
	c := config()
	f.backend.Reload(c)
	f.want(1, "GetRecordCount", "t", "<filter>i &gt;= 0</filter>", "Success", "<count>4</count>")
}

func TestRates(t *testing.T) {
	var log bytes.Buffer
	f := newFixture(t, func(o *Options) {
		o.Config.PlayerRequests, o.Config.PlayerWrites = 6, 3
		o.Log = zerolog.New(&log)
	})
	create := func(player storage.ProfileID, want string) {
		t.Helper()
		if got := f.ask(player, "CreateRecord", "t", record("i", "intValue", "1")); !strings.Contains(got, ">"+want+"<") {
			t.Errorf("player %d: %s, want %s", player, got, want)
		}
	}
	limited := func(bound string) float64 { return f.counter("respawnd_webservices_sake_rate_limited_total", bound) }
	for range 3 {
		create(1, "Success")
	}
	create(1, "DatabaseUnavailable")
	create(2, "Success")
	f.want(1, "GetRecordCount", "t", "", "Success", "<count>4</count>")
	f.want(1, "DeleteRecord", "t", id(1), "DatabaseUnavailable", "") // the sixth request
	f.want(1, "GetRecordCount", "t", "", "DatabaseUnavailable", "")
	f.want(2, "GetRecordCount", "t", "", "Success", "<count>4</count>")
	if w, r := limited("writes"), limited("requests"); w != 2 || r != 1 {
		t.Errorf("%v writes and %v requests were counted, want 2 and 1", w, r)
	}
	e := f.opt.Verdicts.Of(client.Addr())
	if len(e) == 0 || e[len(e)-1].Verdict != verdicts.Limited || !strings.Contains(e[len(e)-1].Detail, "webservices.player_requests") {
		t.Errorf("verdicts %+v, want Limited", e)
	}
	if n := strings.Count(log.String(), "request about records refused"); n != 3 || strings.Contains(log.String(), `"level":"error"`) {
		t.Errorf("%d lines, want 3 and no error:\n%s", n, log.String())
	}
	f.backend.Reload(config()) // without bounds
	f.want(1, "GetRecordCount", "t", "", "Success", "<count>4</count>")
	create(1, "Success")
}

// A filter that is slow on long texts counts as many records.
func TestScanWork(t *testing.T) {
	racetest.Skip(t, "compares long texts")
	f := newFixture(t, func(o *Options) { o.Config.ScanRecords = 50 })
	f.ask(1, "CreateRecord", "t", record("a", "asciiStringValue", strings.Repeat("a", 60_000)))
	f.ask(1, "CreateRecord", "t", record("a", "asciiStringValue", "b"))
	f.want(1, "GetRecordCount", "t", "<filter>a like '%b'</filter>", "Success", "<count>1</count>")
	f.want(1, "GetRecordCount", "t", "<filter>a like '%"+strings.Repeat("a", 2000)+"b%'</filter>", "DatabaseUnavailable", "")
}

// The replies of the backend are within the bounds of the clients.
func TestResultsFit(t *testing.T) {
	for _, name := range resultNames {
		if len(name) > 31 {
			t.Errorf("%s has %d characters, clients read 31", name, len(name))
		}
	}
}
