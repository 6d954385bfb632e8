package sake

import (
	"fmt"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/soap"
)

// text escapes a text of a request as clients do.
func text(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", " ", "&#x20;", "'", "&apos;", `"`, "&quot;").Replace(s)
}

// library is a fixture with the table that searches look at.
func library(t testing.TB) *fixture {
	f := newFixture(t, nil)
	for _, r := range []struct {
		owner  storage.ProfileID
		values string
	}{
		{1, record("name", "unicodeStringValue", "Castle", "score", "intValue", "10", "ratio", "floatValue", "0.1", "day", "dateAndTimeValue", "2010-05-06T07:08:09Z")},
		{1, record("name", "unicodeStringValue", "castle two", "score", "intValue", "-3", "easy", "booleanValue", "1")},
		{2, record("name", "unicodeStringValue", "Dungeon_100%", "score", "int64Value", "9007199254740993")},
		{2, record("name", "unicodeStringValue", "it's", "score", "byteValue", "10", "easy", "booleanValue", "0")},
		{3, record("name", "unicodeStringValue", "h&#xc3;&#xa9;llo", "score", "asciiStringValue", "10")},
		{3, record("data", "binaryDataValue", "AAEC")},
	} {
		f.ask(r.owner, "CreateRecord", "levels", r.values)
	}
	return f
}

func TestFilter(t *testing.T) {
	f := library(t)
	for filter, want := range map[string][]int{
		"":                             {1, 2, 3, 4, 5, 6},
		"  ":                           {1, 2, 3, 4, 5, 6},
		"score = 10":                   {1, 4, 5},
		"SCORE == '10'":                {1, 4, 5},
		"[score] = 10.0":               {1, 4}, // the text "10" is not "10.0"
		"10 = score":                   {1, 4, 5},
		"score < 10":                   {2},
		"10 > score":                   {2},
		"score <= -3":                  {2},
		"score >= 9007199254740993":    {3},
		"score > 9007199254740992":     {3},
		"score <> 10":                  {2, 3},
		"score != 10":                  {2, 3},
		"not score = 10":               {2, 3},
		"not (score = 10)":             {2, 3},
		"score is null":                {6},
		"score is not null":            {1, 2, 3, 4, 5},
		"not score is null":            {1, 2, 3, 4, 5},
		"name = 'CASTLE'":              {1},
		`name = "castle"`:              {1},
		"name = N'castle'":             {1},
		"name = 'it''s'":               {4},
		`name = 'it\'s'`:               {4},
		"name < 'castle t'":            {1},
		"name like 'castle%'":          {1, 2},
		"name like '%STLE'":            {1},
		"name not like '%e%'":          {4, 5},
		"name like 'castle'":           {1},
		"name like '%'":                {1, 2, 3, 4, 5},
		"name like ''":                 {},
		"name like '_astle'":           {1},
		"name like 'h_llo'":            {5}, // a character of two bytes
		"name like '%l_o'":             {5},
		"name like '%l%o'":             {2, 5},
		"name like '%a%t%e%t%o'":       {2},
		"name like '%t__'":             {1, 2, 4},
		"ratio = 0.1":                  {1},
		"ratio < 0.2 and ratio > 0.05": {1},
		"easy = 1":                     {2},
		"easy = true":                  {2},
		"easy = false or easy is null": {1, 3, 4, 5, 6},
		"day = '2010-05-06T07:08:09Z'": {1},
		"day > '2010-05-05'":           {1},
		"day > '2010-05-06 07:08:09'":  {},
		"day >= 1273129689":            {1},
		"recordid = 3":                 {3},
		"ownerid = 2 and score = 10":   {4},
		"ownerid = recordid":           {1},
		"score = score":                {1, 2, 3, 4, 5},
		"name = score":                 {},
		"data = 'AAEC'":                {},
		"score = 10 or score < 0 and ownerid = 9":   {1, 4, 5},
		"(score = 10 or score < 0) and ownerid = 1": {1, 2},
		"not not score = 10":                        {1, 4, 5},
		"1 = 1":                                     {1, 2, 3, 4, 5, 6},
		"1 = 2":                                     {},
		"'a' = 'A' and score = 10":                  {1, 4, 5},
		"2 < 10":                                    {1, 2, 3, 4, 5, 6},
		"score = 1e1":                               {1, 4},
		"score=10and(ownerid=1)":                    {1},
		"score = -3":                                {2},
		"score = + 10":                              {1, 4}, // "+10" is not the text "10"
		"num_ratings = 0 and my_rating < 0":         {1, 2, 3, 4, 5, 6},
	} {
		f.want(1, "SearchForRecords", "levels", "<filter>"+text(filter)+"</filter><offset>0</offset><max>99</max>"+fieldsOf("recordid"), "Success", ids(want...))
		f.want(1, "GetRecordCount", "levels", "<filter>"+text(filter)+"</filter>", "Success", fmt.Sprintf("<count>%d</count>", len(want)))
	}
}

func TestFilterInvalid(t *testing.T) {
	f := library(t)
	terms := func(n int) string { return strings.Repeat("score=1 or ", n-1) + "score=1" }
	nested := func(n int) string { return strings.Repeat("(", n) + "score=1" + strings.Repeat(")", n) }
	for _, filter := range []string{
		"score", "score =", "= 1", "score = 1 and", "and score = 1", "score = 1 score = 2", "(score = 1", "score = 1)", "()", "score like score", "score like 5",
		"'a' like 'a'", "score is", "score is 5", "5 is null", "score = null", "unknown = 1", "score = unknown", "score = 'x", "score ; 1", "score = 1; drop table", "score = 1 --",
		"[score = 1", "[] = 1", "score === 1", "score = -", "score = - -1", "score = 1 or not", "and = 1", "a.b.c = 1", "\x00", "score = (1)", "score << 1", "like", "score not 5",
		terms(maxTerms + 1), nested(maxNesting), strings.Repeat("not ", maxNesting) + "score=1", strings.Repeat(" ", maxFilter+1), strings.Repeat("(", maxFilter),
	} {
		if got := f.ask(1, "GetRecordCount", "levels", "<filter>"+text(filter)+"</filter>"); got != "<GetRecordCountResult>FilterInvalid</GetRecordCountResult>" {
			t.Errorf("filter %.60q: %s", filter, got)
		}
	}
	for _, filter := range []string{strings.Repeat("ownerid>1 or ", 300) + "score=1", nested(maxNesting - 1), strings.Repeat("not ", maxNesting-2) + "score=10"} {
		if got := f.ask(1, "GetRecordCount", "levels", "<filter>"+text(filter)+"</filter>"); !strings.Contains(got, "Success") {
			t.Errorf("filter %.60q: %s", filter, got)
		}
	}
	if _, err := parseFilter(strings.Repeat("a=1or ", maxTerms)+"a=1", testColumns()); err == nil {
		t.Error("a filter with one term too many is accepted")
	}
	if _, err := parseFilter(strings.Repeat("a=1or ", maxTerms-1)+"a=1", testColumns()); err != nil {
		t.Error("a filter with as many terms as allowed is refused")
	}
}

func TestSearch(t *testing.T) {
	f := library(t)
	search := func(rest string) string { return rest + fieldsOf("recordid") }
	for name, test := range map[string]struct {
		rest string
		want []int
	}{
		"max":                    {"<max>2</max>", []int{1, 2}},
		"no max":                 {"", nil},
		"negative max":           {"<max>-1</max>", nil},
		"offset":                 {"<offset>4</offset><max>9</max>", []int{5, 6}},
		"offset and max":         {"<offset>1</offset><max>2</max>", []int{2, 3}},
		"offset beyond the end":  {"<offset>99</offset><max>9</max>", nil},
		"offset without end":     {"<offset>9223372036854775807</offset><max>9</max>", nil},
		"negative offset":        {"<offset>-5</offset><max>1</max>", []int{1}},
		"falling":                {"<sort>recordid desc</sort><max>3</max>", []int{6, 5, 4}},
		"two columns":            {"<sort>ownerid desc, recordid asc</sort><max>9</max>", []int{5, 6, 3, 4, 1, 2}},
		"by number":              {"<filter>score&#x20;is&#x20;not&#x20;null</filter><sort>score&#x20;asc</sort><max>9</max>", []int{2, 1, 4, 3, 5}},
		"mixed types":            {"<sort>score</sort><max>9</max>", []int{6, 2, 1, 4, 3, 5}},
		"by text":                {"<sort>name DESC</sort><max>3</max>", []int{4, 5, 3}},
		"sort and offset":        {"<sort>recordid desc</sort><offset>2</offset><max>2</max>", []int{4, 3}},
		"owner":                  {"<max>9</max><ownerids><int>2</int></ownerids>", []int{3, 4}},
		"owners":                 {"<max>9</max><ownerids><int>3</int><int>1</int><int>1</int></ownerids>", []int{1, 2, 5, 6}},
		"owners and max":         {"<max>3</max><ownerids><int>3</int><int>1</int></ownerids>", []int{1, 2, 5}},
		"unknown owner":          {"<max>9</max><ownerids><int>77</int></ownerids>", nil},
		"empty owners":           {"<max>1</max><ownerids></ownerids>", []int{1}},
		"target":                 {"<max>9</max><targetfilter>recordid = 4</targetfilter><surrounding>1</surrounding>", []int{3, 4, 5}},
		"target at the start":    {"<max>9</max><targetfilter>recordid = 1</targetfilter><surrounding>2</surrounding>", []int{1, 2, 3}},
		"target at the end":      {"<max>9</max><targetfilter>recordid = 6</targetfilter><surrounding>2</surrounding>", []int{4, 5, 6}},
		"target alone":           {"<max>9</max><targetfilter>recordid = 6</targetfilter><surrounding>0</surrounding>", []int{6}},
		"target in a sort":       {"<sort>recordid desc</sort><max>9</max><targetfilter>ownerid = 2</targetfilter><surrounding>1</surrounding>", []int{5, 4, 3}},
		"target behind a filter": {"<filter>ownerid != 2</filter><max>9</max><targetfilter>recordid = 5</targetfilter><surrounding>1</surrounding>", []int{2, 5, 6}},
		"target is filtered":     {"<filter>ownerid != 2</filter><max>9</max><targetfilter>recordid = 4</targetfilter><surrounding>1</surrounding>", nil},
		"target and max":         {"<max>2</max><targetfilter>recordid = 4</targetfilter><surrounding>1</surrounding>", []int{3, 4}},
		"cache":                  {"<max>1</max><cacheFlag>1</cacheFlag>", []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			rest := strings.NewReplacer(" = ", "&#x20;=&#x20;", " != ", "&#x20;!=&#x20;").Replace(test.rest)
			f.want(1, "SearchForRecords", "levels", search(rest), "Success", ids(test.want...))
		})
	}
}

func TestSortInvalid(t *testing.T) {
	for _, sort := range []string{
		"x", "score x", "score,", ",score", "score desc asc", "score desc desc", "5", "'score'", "random(5)", "random(", "random, random",
		strings.Repeat("score,", maxSort) + "score", strings.Repeat(" ", maxFilter) + "score",
	} {
		c := testColumns()
		if _, err := parseSort(sort, c); err == nil {
			t.Errorf("sort %.40q is accepted", sort)
		}
	}
	for _, sort := range []string{"", "score", "Score DESC", "score asc , a desc", "random", "rand()", "NEWID()", "score desc, @random", "[score] desc"} {
		if _, err := parseSort(sort, testColumns()); err != nil {
			t.Errorf("sort %q: %v", sort, err)
		}
	}
}

func TestRandom(t *testing.T) {
	f := library(t)
	seen := map[string]bool{}
	for range 200 {
		seen[f.ask(1, "GetRandomRecords", "levels", "<filter>score&#x20;=&#x20;10</filter><max>1</max>"+fieldsOf("recordid"))] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d different answers, want each of 3 records alone: %v", len(seen), seen)
	}
	got := f.ask(1, "SearchForRecords", "levels", "<sort>random()</sort><max>99</max>"+fieldsOf("recordid"))
	if n := strings.Count(got, "<ArrayOfRecordValue>"); n != 6 {
		t.Errorf("a random order has %d records, want 6", n)
	}
	f.want(1, "GetRandomRecords", "levels", "<max>0</max>"+fieldsOf("recordid"), "Success", list())
}

// testColumns has the columns "a" and "score".
func testColumns() *columns {
	return &columns{table: &storage.SakeTable{Columns: []storage.SakeColumn{{Name: "a", Type: storage.SakeASCII}, {Name: "score", Type: storage.SakeInt}}}}
}

// FuzzFilter compiles any text and runs it on records; its cost is bounded.
func FuzzFilter(f *testing.F) {
	for _, filter := range []string{"score > 5 and a like '%x_%'", "not (a = 'it''s' or score is not null)", "[a]<>N'b'", "recordid>=1e3", strings.Repeat("(", 200), "a like '%a%a%a%a%b'"} {
		f.Add(filter, "some text", int64(5))
	}
	f.Fuzz(func(t *testing.T, filter, value string, n int64) {
		c := testColumns()
		compiled, err := parseFilter(filter, c)
		if err != nil {
			return
		}
		value = value[:min(len(value), 4096)]
		rec := storage.SakeRecord{ID: 7, Owner: 1, Fields: []storage.SakeField{
			{Name: "a", Value: storage.SakeValue{Type: storage.SakeASCII, Text: []byte(value)}},
			{Name: "score", Value: storage.SakeValue{Type: storage.SakeInt64, Num: n}},
		}}
		var row storage.SakeRow
		if err := row.Open(7, storage.AppendSakeRow(nil, &rec, []uint32{0, 1})); err != nil {
			t.Fatal(err)
		}
		s := c.newSlots()
		s.read(&row)
		result := compiled.root.eval(s)
		negated := term{op: notOp, parts: []*term{compiled.root}}
		if got := negated.eval(s); (result == unknown) != (got == unknown) || result != unknown && (result == yes) == (got == yes) {
			t.Errorf("%q is %d, its negation %d", filter, result, got)
		}
		if most := 2 * (len(value) + 1) * (len(filter) + termWork + 1) * 2; s.work > most+2*rowWork+2*len(value) {
			t.Errorf("%q on %d bytes: %d units of work", filter, len(value), s.work)
		}
	})
}

// FuzzPattern compares a pattern with a slow one that tries everything.
func FuzzPattern(f *testing.F) {
	f.Add("%a_b%", "xxacbxx")
	f.Add("a%", "A")
	f.Add("%a%a%a%b", "aaaaaaaaaaaa")
	f.Fuzz(func(t *testing.T, like, text string) {
		for _, s := range []string{like, text} {
			if len(s) > 24 || strings.Trim(ascii.ToLower(s), "abcdefghijklmnopqrstuvwxyz_%") != "" {
				return
			}
		}
		work := 0
		p := newPattern(like)
		if got, want := p.match([]byte(text), &work), slowMatch(ascii.ToLower(like), ascii.ToLower(text), map[[2]int]bool{}); got != want {
			t.Errorf("%q like %q is %t, want %t", text, like, got, want)
		}
	})
}

// slowMatch tries all lengths for each %. tried has the pairs of lengths that failed.
func slowMatch(like, text string, tried map[[2]int]bool) bool {
	key := [2]int{len(like), len(text)}
	switch {
	case like == "":
		return text == ""
	case tried[key]:
		return false
	}
	tried[key] = true
	if like[0] == '%' {
		for i := range len(text) + 1 {
			if slowMatch(like[1:], text[i:], tried) {
				return true
			}
		}
		return false
	}
	return text != "" && (like[0] == '_' || like[0] == text[0]) && slowMatch(like[1:], text[1:], tried)
}

// BenchmarkSearch100000 is a filtered and sorted search over 100,000 records.
func BenchmarkSearch100000(b *testing.B) {
	f := newFixture(b, func(o *Options) { o.Config.RecordsPerOwner, o.Config.PlayerRecords = 10_000, 10_000 })
	table := storage.SakeTableID{Game: "gmtest", Name: "levels"}
	fill(b, f, table, 100_000)
	for name, rest := range map[string]string{
		"filter":          "<filter>" + text("score > 5 and level > 90 and name like '%9999'") + "</filter><max>20</max>",
		"filter and sort": "<filter>" + text("score > 50 and level < 90") + "</filter><sort>score&#x20;desc</sort><max>20</max>",
		"target":          "<sort>score&#x20;desc</sort><max>20</max><targetfilter>recordid&#x20;=&#x20;77</targetfilter><surrounding>5</surrounding>",
	} {
		b.Run(name, func(b *testing.B) {
			e, err := soap.Parse([]byte(body(1, "SearchForRecords", "levels", rest+fieldsOf("name", "score", "data"))))
			if err != nil {
				b.Fatal(err)
			}
			q := &soap.Request{Game: "gmtest", Method: e.Name, Body: e, From: client}
			run := f.backend.Services()[0].Methods[e.Name]
			b.ReportAllocs()
			for b.Loop() {
				if reply := run(b.Context(), q); !strings.Contains(string(reply), "<ArrayOfRecordValue>") {
					b.Fatal(string(reply))
				}
			}
		})
	}
}

// BenchmarkGetMyRecords asks for ten records in small and large tables. The largest takes
// a minute to fill.
func BenchmarkGetMyRecords(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			if testing.Short() && n > 1_000 {
				b.Skip("takes long to fill")
			}
			f := newFixture(b, nil)
			table := storage.SakeTableID{Game: "gmtest", Name: "levels"}
			fill(b, f, table, n)
			e, err := soap.Parse([]byte(body(1, "GetMyRecords", "levels", fieldsOf("name", "score", "data"))))
			if err != nil {
				b.Fatal(err)
			}
			q := &soap.Request{Game: "gmtest", Method: e.Name, Body: e, From: client}
			run := f.backend.Services()[0].Methods[e.Name]
			b.ReportAllocs()
			for b.Loop() {
				if reply := run(b.Context(), q); strings.Count(string(reply), "<ArrayOfRecordValue>") != 10 {
					b.Fatal(string(reply))
				}
			}
		})
	}
}

// fill imports n records: ten of player 1, the others of player 2 and 3 and of players
// that it creates.
func fill(b *testing.B, f *fixture, table storage.SakeTableID, n int) {
	b.Helper()
	const perOwner = 9_000
	owners := []storage.ProfileID{2, 3}
	for len(owners)*perOwner < n {
		nick := fmt.Sprint("Filler", len(owners))
		_, p, err := f.db.CreateUser(b.Context(), storage.User{Email: nick + "@b.c"}, storage.Profile{Nick: nick})
		if err != nil {
			b.Fatal(err)
		}
		owners = append(owners, p.ID)
	}
	errs := make(chan error)
	const writers = 256
	for w := range writers {
		go func() {
			for i := w; i < n; i += writers {
				owner := owners[i%len(owners)]
				if i < 10 {
					owner = 1
				}
				err := f.db.ImportSakeRecord(b.Context(), storage.OwnedSakeRecord{SakeTableID: table, SakeRecord: storage.SakeRecord{
					ID: uint32(i + 1), Owner: owner, Fields: []storage.SakeField{
						{Name: "name", Value: storage.SakeValue{Type: storage.SakeUnicode, Text: fmt.Appendf(nil, "player %d", i)}},
						{Name: "score", Value: storage.SakeValue{Type: storage.SakeInt, Num: int64(i*7919) % 100_003}},
						{Name: "level", Value: storage.SakeValue{Type: storage.SakeByte, Num: int64(i % 100)}},
						{Name: "ratio", Value: storage.SakeFloatValue(float32(i) / 3)},
						{Name: "data", Value: storage.SakeValue{Type: storage.SakeBinary, Text: make([]byte, 64)}},
					},
				}})
				if err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range writers {
		if err := <-errs; err != nil {
			b.Fatal(err)
		}
	}
}
