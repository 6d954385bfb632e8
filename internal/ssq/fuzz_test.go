package ssq

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzHeaderAndAssembly(f *testing.F) {
	f.Add([]byte("\x5d\x00j\x00\n"))
	f.Add([]byte("\x5f\x21middle|\x5f\x20first|\x5f\x22last"))
	f.Add([]byte("\x01\x10a|\x01\x20b|\x01\x11c"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var a Assembly
		parts := make(map[int][]byte)
		for packet := range bytes.SplitSeq(b, []byte{'|'}) {
			h, body, err := ParseHeader(packet)
			if err == nil && !bytes.Equal(append(h.AppendTo(nil), body...), packet) {
				t.Fatalf("%x is read as %+v and not written so", packet, h)
			}
			whole, err := a.Add(packet)
			if err != nil {
				continue
			}
			if _, seen := parts[h.Number]; !seen {
				parts[h.Number] = body
			}
			if whole != (len(parts) == h.Count) {
				t.Fatalf("whole = %v with %d of %d packets", whole, len(parts), h.Count)
			}
		}
		var want []byte
		for i := range MaxPackets {
			want = append(want, parts[i]...)
		}
		if got := a.Answer(); !bytes.Equal(got, want) {
			t.Errorf("answer %q, want %q", got, want)
		}
	})
}

func FuzzTable(f *testing.F) {
	f.Add([]byte("hostname\x00map\x00\n\x00My Server\x00de_dust\x00\n\x00"), "hostname,map")
	f.Add([]byte("1\x000\x00\n\x00"+`a\\b\nc`+"\x00\n\x00"), "hostname,map")
	f.Add([]byte("\x00\n\x00a\x00b\x00\n\x00"), "hostname,map")
	f.Add([]byte("\x00x-more=7\x00\n\x00a\\\nb\x00\n\x00"), "hostname")
	f.Add([]byte("PROTO\x00GAME\x00SERVER\n\x001\x00x\x00y\x00\n\x00"), "")
	f.Add([]byte("\n\x00"), "")
	f.Fuzz(func(t *testing.T, b []byte, asked string) {
		table, err := ParseTable(b, strings.Split(asked, ","))
		if err != nil {
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrTooMuch) {
				t.Fatalf("error %v", err)
			}
			return
		}
		for _, row := range table.Rows {
			if len(row) != len(table.Columns) {
				t.Fatalf("%d cells under %d columns", len(row), len(table.Columns))
			}
		}
		if !plainColumns(table.Columns) {
			return
		}
		again, err := ParseTable(table.AppendTo(nil), nil)
		if diff := cmp.Diff(table, again); diff != "" || err != nil {
			t.Fatalf("written and read again: error %v (-want +got):\n%s", err, diff)
		}
	})
}

// plainColumns reports whether none of these columns has a reserved name.
func plainColumns(columns []string) bool {
	reserved := func(c string) bool {
		return c == "" || c == "0" || c == "1" || strings.HasPrefix(c, moreCell) || strings.Contains(c, "\x00")
	}
	return !slices.ContainsFunc(columns, reserved)
}

func FuzzQuery(f *testing.F) {
	for _, text := range []string{
		`SELECT a,b WHERE a > 1 and b != "x\"y\\z\n" or c = 'q' IDENTIFIED tok X-HEADER null X-OFFSET 7 X-LIMIT 3 X-TOKEN abc`,
		"SP info WHERE hostip = 1.2.3.4:5", "AUTH john", `AUTH "jo hn"`, "CL LONG", "VERSION", "PING", "sp PING\x00\x00",
		`SELECT a WHERE b = "`, "SELECT a,,b", "SELECT", "SELECT a WHERE a = 1 or", "\n\x00", "j\x00\n", strings.Repeat("a=1 or ", 300),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := ParseQuery(b)
		if err != nil {
			if !errors.Is(err, ErrSyntax) && !errors.Is(err, ErrTooLong) && !errors.Is(err, ErrNoQuery) {
				t.Fatalf("error %v", err)
			}
			if len(err.Error()) > 300 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		if len(b) > MaxQuery || len(q.Fields) > MaxFields || len(q.Where) > MaxComparisons {
			t.Fatalf("a bound is passed: %d bytes, %d fields, %d comparisons", len(b), len(q.Fields), len(q.Where))
		}
		text := q.AppendTo(nil)
		if len(text) > MaxQuery {
			return // quotes make it longer
		}
		again, err := ParseQuery(text)
		if diff := cmp.Diff(q, again); diff != "" || err != nil {
			t.Fatalf("%q is written as %q: error %v (-want +got):\n%s", b, text, err, diff)
		}
	})
}

// FuzzExchange feeds an exchange with packets of a hostile server.
func FuzzExchange(f *testing.F) {
	f.Add([]byte("\x07\x00x-token\x00\n\x00abc\x00\n\x00|\x08\x00hostname\x00\n\x00x\x00\n\x00"))
	f.Add([]byte("\x07\x10hostname\x00\n\x00|\x07\x11x\x00\n\x00"))
	f.Add([]byte("\x07\x00x-error\x00\n\x00no\x00\n\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		e := NewExchange(Query{Verb: Procedure, Name: "info"}, 7)
		asked := 0
		for packet := range bytes.SplitSeq(b, []byte{'|'}) {
			step, err := e.Take(packet)
			switch {
			case step == Ask && err != nil:
				t.Fatalf("asks again after %v", err)
			case step == Ask:
				if asked++; asked > maxTokens {
					t.Fatalf("asks %d times", asked)
				}
			case step == Done && err == nil:
				for _, row := range e.Answer().Rows {
					if len(row) != len(e.Answer().Columns) {
						t.Fatalf("answer %+v", e.Answer())
					}
				}
			}
			if q := e.Question(); len(q) < minRequest || len(q) > 3*MaxWord {
				t.Fatalf("a question of %d bytes", len(q))
			}
		}
	})
}

func TestQueriesAreBounded(t *testing.T) {
	fields := func(n int) string { return "SELECT " + strings.TrimSuffix(strings.Repeat("a,", n), ",") }
	where := func(n int) string {
		return "SELECT a WHERE " + strings.TrimSuffix(strings.Repeat("a=1 or ", n), " or ")
	}
	for name, tc := range map[string]struct {
		text string
		want error
	}{
		"fields":            {fields(MaxFields), nil},
		"a field more":      {fields(MaxFields + 1), ErrTooLong},
		"comparisons":       {where(MaxComparisons), nil},
		"a comparison more": {where(MaxComparisons + 1), ErrTooLong},
		"10,000 operators":  {where(10_000), ErrTooLong},
		"a word":            {"SELECT " + strings.Repeat("a", MaxWord), nil},
		"a longer word":     {"SELECT " + strings.Repeat("a", MaxWord+1), ErrTooLong},
		"a quoted word":     {`SELECT a WHERE a = "` + strings.Repeat(`\"`, MaxWord) + `"`, nil},
		"a longer one":      {`SELECT a WHERE a = "` + strings.Repeat(`\"`, MaxWord+1) + `"`, ErrTooLong},
		"all bytes":         {"SELECT a" + strings.Repeat(" ", MaxQuery-8), nil},
		"a byte more":       {"SELECT a" + strings.Repeat(" ", MaxQuery-7), ErrTooLong},
		"padded with NULs":  {"SELECT a" + strings.Repeat("\x00", MaxQuery-8), nil},
		"64 KiB fields":     {"SELECT " + strings.Repeat("a", 64<<10), ErrTooLong},
		"64 KiB of quotes":  {"SELECT a WHERE a = " + strings.Repeat(`"`, 64<<10), ErrTooLong},
		"the largest limit": {fmt.Sprintf("SELECT a X-LIMIT %d X-OFFSET %d", maxNumber, maxNumber), nil},
		"a larger one":      {fmt.Sprintf("SELECT a X-LIMIT %d", maxNumber+1), ErrSyntax},
		"the least limit":   {"SELECT a X-LIMIT 1 X-OFFSET 0", nil},
		"a lesser one":      {"SELECT a X-LIMIT 0", ErrSyntax},
	} {
		if _, err := ParseQuery([]byte(tc.text)); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}

func TestMistakesInQueries(t *testing.T) {
	for text, want := range map[string]string{
		"DROP":                         `want SELECT, SP, AUTH, CL, VERSION or PING, got "DROP"`,
		`"SELECT" a`:                   "want SELECT",
		"SELECT":                       "want the name of a column, got the end",
		"SELECT a,":                    "got the end",
		"SELECT ,a":                    "got a comma",
		"SELECT a b":                   `"b" makes no sense there`,
		"SELECT a WHERE":               "got the end",
		"SELECT a WHERE b":             `behind "b", got the end`,
		"SELECT a WHERE b = ":          "want a value behind =, got the end",
		"SELECT a WHERE b = = 1":       "want a value behind =, got =",
		"SELECT a WHERE b ! 1":         "want != and not !",
		"SELECT a WHERE b = 1 and":     "got the end",
		"SELECT a WHERE b = 1 xor":     `"xor" makes no sense there`,
		"SELECT a WHERE (b = 1)":       "no parentheses",
		`SELECT a WHERE b = "1`:        "quote without end",
		`SELECT a WHERE b = '1"`:       "quote without end",
		`SELECT a WHERE b = "1\`:       "quote without end",
		"SELECT a\x01":                 "control character",
		"SELECT a WHERE b=1 WHERE c=1": `"WHERE" comes twice`,
		"SELECT a IDENTIFIED":          "want a token",
		"SELECT a X-HEADER small":      "want normal, compact or null",
		"SELECT a X-OFFSET many":       "want a number",
		"SP":                           "want the name of a procedure",
		"AUTH":                         "want a password",
		`AUTH ""`:                      "want a password",
		"AUTH a b":                     `"b" makes no sense there`,
		"CL SHORT":                     `"SHORT" makes no sense there`,
		"CL WHERE a = 1":               `"WHERE" makes no sense there`,
		"VERSION 2":                    `"2" makes no sense there`,
		"PING X-TOKEN":                 "want a token",
	} {
		_, err := ParseQuery([]byte(text))
		if !errors.Is(err, ErrSyntax) || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseQuery(%q): %v, want %s", text, err, want)
		}
	}
}

func TestAnswersAreNoQueries(t *testing.T) {
	for _, body := range []string{"", " ", "\x00\x00", "\n\x00", "j\x00\n", "a\x00\n\x00", "SELECT a\x00\n\x00", "\x00\n\x00x\x00\n\x00"} {
		if q, err := ParseQuery([]byte(body)); !errors.Is(err, ErrNoQuery) {
			t.Errorf("ParseQuery(%q) = %+v, %v; want ErrNoQuery", body, q, err)
		}
	}
}

func TestMalformedTables(t *testing.T) {
	for name, tc := range map[string]struct {
		answer string
		asked  []string
	}{
		"nothing":                {"", nil},
		"no row end":             {"a\x00", nil},
		"cut in a row":           {"a\x00\n\x00x\x00", nil},
		"too few cells":          {"a\x00b\x00\n\x00x\x00\n\x00", nil},
		"too many cells":         {"a\x00\n\x00x\x00y\x00\n\x00", nil},
		"an empty row":           {"a\x00\n\x00\n\x00", nil},
		"rows without columns":   {"\n\x00\n\x00", nil},
		"an empty name":          {"a\x00\x00\n\x00", nil},
		"null, names unknown":    {"\x00\n\x00x\x00\n\x00", nil},
		"compact, names unknown": {"1\x00\n\x00x\x00\n\x00", nil},
		"compact, other number":  {"1\x001\x00\n\x00", []string{"a"}},
		"more, no number":        {"a\x00x-more=\x00\n\x00", nil},
		"more, 0":                {"a\x00x-more=0\x00\n\x00", nil},
		"more, 4 G":              {"a\x00x-more=4294967296\x00\n\x00", nil},
		"more than fits":         {strings.Repeat("\x00", MaxAnswer+1), nil},
	} {
		if got, err := ParseTable([]byte(tc.answer), tc.asked); err == nil {
			t.Errorf("%s: ParseTable = %+v, want an error", name, got)
		}
	}
	whole := "a\x00b\x00\n\x00" + `x\\\n` + "\x00y\x00\n\x00"
	for n := range len(whole) - 1 { // cut anywhere
		_, err := ParseTable([]byte(whole[:n]), nil)
		if rowEnd := n == len("a\x00b\x00\n\x00"); (err == nil) != rowEnd {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
}
