package filter_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/master/filter"
)

func TestSamplesOfGamesMatchAsExpected(t *testing.T) {
	s := loadSamples(t)
	for _, c := range s.Expect {
		if got := matches(compile(t, c.Filter), s.Server); got != c.Match {
			t.Errorf("Match(%q) = %v, want %v", c.Filter, got, c.Match)
		}
	}
	for _, text := range s.MustParse {
		f := compile(t, text)
		if again := compile(t, f.String()); again.String() != f.String() {
			t.Errorf("String() of %q = %q, compiled again %q", text, f, again)
		}
	}
	for _, text := range s.SyntaxErrors {
		var syntax *filter.SyntaxError
		if _, err := filter.Compile(text); !errors.As(err, &syntax) {
			t.Errorf("Compile(%q): %v, want a *SyntaxError", text, err)
		}
	}
}

// arena is the server that the tests below match expressions against.
func arena() server {
	return server{
		"hostname": "The Arena", "gametype": "CTF", "gamever": "1.10", "numplayers": "10",
		"maxplayers": "16", "password": "0", "groupid": "0", "empty": "", "ratio": "0.5",
		"negative": "-3", "big": "9223372036854775807", "bigger": "9223372036854775808",
		"quote": "it's", "percent": "100%", "path": `a\b`, "android": "1", "not.a.keyword": "1",
		"minimum": "-9223372036854775808", "zeros": "0000000000000000000007",
	}
}

func TestMeaning(t *testing.T) {
	type table map[string]bool // filter to result
	for about, table := range map[string]table{
		"equality of text ignores case": {
			"gametype='ctf'": true, "gametype!='ctf'": false, "'Ctf' = gametype": true, `gametype == "ctf"`: true,
			"gametype <> 'dm'": true, "gametype = 'ct'": false, "gametype = 'ctfs'": false,
		},
		"lists of values": {
			"gametype in ('dm','ctf')": true, "gametype in('dm')": false, "gametype not in ('dm')": true, "gametype not in ('dm', \"CTF\")": false,
			"numplayers IN (1,2,10)": true, "numplayers in (1,2)": false, "numplayers Not In(1,2)": true, "numplayers ! in (10)": false,
			"10 in (maxplayers, numplayers)": true, "gamever in ('1.1')": false, "gamever in (1.1)": true, "not gametype in ('ctf')": false,
			"nosuch in (0)": true, "nosuch in ('')": true, "nosuch not in ('x')": true, "nosuch in (1, null)": true, "gametype in (null)": false,
			"groupid in (null)": true, "groupid not in (null)": false, "null in (nosuch)": true, "null in (gametype)": false,
			"1/0 in (1)": false, "1/0 not in (1)": false, "1 in (1/0, 1)": true, "1 not in (1/0, 2)": false,
			"numplayers+1 in (10+1)": true, "numplayers in ((gametype='ctf') * 10)": true, "android in (1) and inside in (0)": true,
			"numplayers in (-10, - 3)": false, "negative in (-3)": true, "(numplayers in (10)) = 1": true, "numplayers & 2 in (2)": true,
		},
		"a quoted literal makes equality one of text": {
			"gamever='1.10'": true, "gamever='1.1'": false, "'1.1'=gamever": false, "gamever!='1.1'": true,
			"gamever=1.1": true, "gamever=('1.1')": false, "1.10='1.1'": false, "1.10='1.10'": true, "1.50f='1.50'": true,
		},
		"a quoted literal may be a number for order": {
			"numplayers>'9'": true, "numplayers<'9'": false, "'9'<numplayers": true, "gamever>='1.9'": false,
		},
		"numbers": {
			"numplayers>9": true, "9<numplayers": true, "numplayers>=10": true, "numplayers<=10": true, "numplayers<10": false,
			"numplayers>10": false, "numplayers=10.0": true, "negative<0": true, "negative=-3": true,
			"numplayers<maxplayers": true, "ratio<1": true, "zeros=7": true, "1.5f=1.5": true, "5F=5": true, "1 = 2": false,
		},
		"whole numbers are exact up to 64 bits": {
			"big=9223372036854775807": true, "big=9223372036854775806": false, "big>9223372036854775806": true,
			"bigger>big": false, "bigger=9223372036854775808": true, "minimum=-9223372036854775807-1": true,
			"minimum<-9223372036854775807": true, "bigger>9223372036854774000": true,
		},
		"text that is no number is compared as text": {
			"gametype>5": true, "gametype<5": false, "gametype=5": false, "gametype!=5": true,
			"gametype=hostname": false, "gametype=gametype": true, "hostname>gametype": true,
			"gametype<'d'": true, "gametype<'CTG'": true, "gametype<'ctfa'": true, "gametype<='CTF'": true,
			"gametype>='cTf'": true, "gametype>'CTF'": false, "'Z'>'a'": true, "gamever>='x'": false,
		},
		"a missing or empty field is 0 next to a number": {
			"nosuch=0": true, "nosuch<1": true, "empty=0": true, "nosuch>=0": true, "nosuch=numplayers": false,
			"nosuch=password": true, "password=nosuch": true, "nosuch>-1": true, "nosuch<'1'": true, "nosuch+1=1": true,
		},
		"a missing or empty field is empty text otherwise": {
			"nosuch=''": true, "empty=''": true, "nosuch='0'": false, "nosuch!='x'": true, "nosuch<'x'": true,
			"nosuch=empty": true, "nosuch<gametype": true, "nosuch like ''": true, "nosuch like '%'": true,
			"nosuch like '_'": false, "nosuch not like 'x'": true,
		},
		"null": {
			"nosuch is null": true, "NoSuch IS NULL": true, "empty is null": true, "gametype is null": false,
			"gametype is not null": true, "nosuch is not null": false, "groupid is null": true, "(groupid) is null": true,
			"GroupID = NULL": true, "password is null": false, "nosuch = null": true, "null = nosuch": true,
			"gametype = null": false, "gametype != null": true, "null<>nosuch": false, "null is null": true, "null = null": true,
			"'' is null": false, "0 is null": false, "null": false, "not null": true, "nosuch < null": false,
			"null >= null": false, "gametype like null": false, "gametype not like null": false, "null like '%'": false,
			"null+1 is null": true, "-null is null": true, "groupid=0": true, "groupid is not null": false,
			"nosuch+0 is null": false,
		},
		"like": {
			"hostname like '%arena%'": true, "hostname like 'the%'": true, "hostname like '%ARENA'": true, "hostname like 'the'": false,
			"hostname like 'The Arena'": true, "hostname like '%'": true, "hostname like '%%'": true, "hostname like ''": false,
			"hostname like 't_e a%a'": true, "hostname like 't_e'": false, "hostname like '_________'": true,
			"hostname like '__________'": false, "hostname like ' % Arena % '": false, "hostname not like '%x%'": true,
			"hostname NOT LIKE 'the%'": false, "hostname like '%e%e%a'": true, "hostname like '%e%e%e%'": false,
			`percent like '100\%'`: true, `percent like '10\%'`: false, `percent like '%\%'`: true, `hostname like '\the%'`: true,
			`path like 'a\\b'`: true, `path like 'a\'`: false, `path like '%\\_'`: true, `'a\' like 'a\'`: true, `'a_' like 'a\_'`: true,
			"numplayers like 10": true, "numplayers like '1%'": true, "hostname like hostname": true, "numplayers+1 like '1_'": true,
			"'aab' like '%ab'": true, "'abab' like 'ab%ab'": true, "'aba' like 'ab%ba'": false, "'xayaz' like '%a%az'": true,
		},
		"arithmetic": {
			"maxplayers-numplayers == 6": true, "numplayers*2>maxplayers": true, "numplayers+1=11": true, "7/2=3": true,
			"-7/2=-3": true, "7.0/2=3.5": true, "7%3=1": true, "-7%3=-1": true, "7.5%2=1.5": true, "--1=1": true, "- 1<0": true,
			"gametype+1=1": true, "'5'+1=6": true, "-gametype=0": true, "maxplayers%2=0": true, "0.1+0.2>0.3": true,
		},
		"division by zero is null": {
			"1/0": false, "1/0=0": false, "1/0!=0": false, "1%0=0": false, "1/0 is null": true, "1%0 is null": true, "1.5/0 is null": true,
			"0/0 is null": true, "1.5%0 is null": true, "1/password is null": true, "not 1/0": true, "1/0+1 is null": true, "not 1/0=0": true,
		},
		"a whole result beyond 64 bits becomes a float": {
			"big+1>big": false, "big+1=9223372036854775808": true, "big*2=18446744073709551614": true, "-minimum=9223372036854775808": true,
			"minimum-1=minimum": true, "minimum/-1=9223372036854775808": true, "minimum%-1=0": true, "minimum*-1>0": true,
			"-1*minimum>0": true, "big-minimum>0": true,
		},
		"bits": {
			"6&3=2": true, "6|3=7": true, "6^3=5": true, "1<<4=16": true, "16>>2=4": true, "-1>>1=-1": true, "5.9&4=4": true, "1&-1=1": true,
			"1<<63<0": true, "1<<64 is null": true, "1<<-1 is null": true, "1>>64 is null": true, "3<<63=minimum": true,
			"bigger&1 is null": true, "-bigger&1=0": true, "gametype|4=4": true, "2&2": true, "2&1": false,
		},
		"calculated numbers are decimal text next to text": {
			"numplayers+1='11'": true, "'11'=numplayers+1": true, "numplayers+1!='11.0'": true, "1.5+1.5='3'": true, "0.5+0.25='0.75'": true,
			"numplayers+1<gametype": true, "(1=1)='1'": true, "10000000000.0*100000000000.0='1e+21'": true, "1000000.0*1='1000000'": true,
			"0.0000001*1='1e-07'": true, "0.0*1='0'": true,
		},
		"truth of a bare value": {
			"gametype": true, "password": false, "numplayers": true, "nosuch": false, "empty": false, "'x'": true, "''": false, "'0'": false,
			"'0.0'": false, "'-0'": false, "0.0": false, "0.1": true, "-1": true, "not gametype": false, "!nosuch": true, "numplayers-10": false,
			"'1.'": true, "'0x0'": true, "'-'": true, "'.0'": true, "'+0'": true, "'0 '": true, "'0.'": true,
		},
		"truth is 1 or 0": {
			"(1=1)=1": true, "(1=2)=0": true, "(gametype)=1": false, "(not nosuch)=1": true, "(1=1)+(2=2)=2": true,
			"(1 and 'x')=1": true, "(0 or nosuch)=0": true, "(nosuch is null)+1=2": true,
		},
		"keywords are whole words": {
			"android=1": true, "(1=1)AND(2=2)": true, "(1=1)OR(2=3)": true, "NOT(1=2)": true, "not.a.keyword=1": true, "ornot is null": true,
			"1and 1": true, "1or 0": true, "'a'like'a'": true, "'a'not like'b'": true, "nosuch is\tnull\r\n": true, "1=1and 2=2": true,
		},
		"quotes": {
			"quote='it''s'": true, `quote="it's"`: true, `'a"b'="a""b"`: true, "''''=\"'\"": true,
			"gametype=\x91ctf\x92": true, "gametype=\x93ctf\x94": true, "gametype=\x92ctf\x92": true,
			"gametype=\u2018ctf\u2019": true, "gametype=\u201cctf\u201d": true, "gametype=\u2019ctf\u2019": true, "gametype=\u201actf\u2018": true,
			"\u2018it's\u2019=quote": true, "\u2018a\u201cb\u2019='a\u201cb'": true, "\u2018\u2019=''": true, "\u2018a\u2019\u2019b\u2019='a\u2019b'": true,
			"'\xd1\x91'=\u2018\xd1\x91\u2019": true,
		},
		"precedence": {
			"1=1 or 1=1 and 1=2": true, "(1=1 or 1=1) and 1=2": false, "not 1=2": true, "not 1=1 or 1=1": true, "!1=1&&1=2": false,
			"1&1=1": true, "14&6+1=6": true, "2+3*4=14": true, "(2+3)*4=20": true, "10-3-2=5": true, "16/4/2=2": true, "1|2&4=0": true,
			"-2*3=-6": true, "not not 1": true, "1+1<<2=8": true, "not gametype is null": true, "1 - -1 = 2": true, "2*-3=-6": true,
		},
		"fields ignore case": {
			"NumPlayers=10": true, "NUMPLAYERS=numplayers": true,
		},
	} {
		t.Run(about, func(t *testing.T) {
			for text, want := range table {
				f := compile(t, text)
				if got := matches(f, arena()); got != want {
					t.Errorf("Match(%q) = %v, want %v", text, got, want)
				}
				if got := matches(compile(t, f.String()), arena()); got != want {
					t.Errorf("Match(%q), canonical form of %q, = %v, want %v", f, text, got, want)
				}
			}
		})
	}
}

func TestBlankFilterMatchesEverything(t *testing.T) {
	for _, text := range []string{"", " ", "\t\r\n "} {
		f := compile(t, text)
		if !f.Trivial() || !f.Match(nil, nil) || len(f.Names()) != 0 || f.String() != "" {
			t.Errorf("Compile(%q): trivial %v, names %q, text %q", text, f.Trivial(), f.Names(), f)
		}
	}
	if compile(t, "1=1").Trivial() {
		t.Error("Trivial() of 1=1 = true, want false")
	}
	if !new(filter.Filter).Match(nil, nil) {
		t.Error("Match of the zero Filter = false, want true")
	}
}

func TestSyntaxErrorsSayWhereAndWhy(t *testing.T) {
	for text, want := range map[string]filter.SyntaxError{
		"numplayers >":                 {Offset: 12, Message: "expected a value after >"},
		"(a=1":                         {Offset: 0, Message: "missing closing parenthesis"},
		"a=1)":                         {Offset: 3, Message: "closing parenthesis without an opening one"},
		"and":                          {Offset: 0, Message: "expected a value"},
		"  'abc":                       {Offset: 2, Message: "missing closing quote"},
		"a='b''":                       {Offset: 2, Message: "missing closing quote"},
		"a=\u2018b'":                   {Offset: 2, Message: "missing closing quote"},
		"a = = 1":                      {Offset: 4, Message: "expected a value after ="},
		"groupid is 5":                 {Offset: 11, Message: "expected null after is"},
		"groupid is not 5":             {Offset: 15, Message: "expected null after not"},
		"a = 1 = 2":                    {Offset: 6, Message: "comparisons do not chain"},
		"b and a = 1 = 2":              {Offset: 12, Message: "comparisons do not chain"},
		"a is null is null":            {Offset: 10, Message: "comparisons do not chain"},
		"a < 1 like 'x'":               {Offset: 6, Message: "comparisons do not chain"},
		"a 1":                          {Offset: 2, Message: "expected an operator before 1"},
		"(a 'secret')":                 {Offset: 3, Message: "expected an operator before the text"},
		"'secret' not 5":               {Offset: 13, Message: "expected like or in after not"},
		"a not = 5":                    {Offset: 6, Message: "expected like or in after not"},
		"a = not b":                    {Offset: 4, Message: "expected a value after ="},
		"- not b":                      {Offset: 2, Message: "expected a value after -"},
		"ratio=.5":                     {Offset: 6, Message: "unexpected character"},
		"a = 1.":                       {Offset: 5, Message: "expected digits after the point"},
		"a = 1.2.3":                    {Offset: 7, Message: "unexpected character"},
		"a = 5foo":                     {Offset: 5, Message: "expected an operator before foo"},
		"a is #":                       {Offset: 5, Message: "unexpected character"},
		"a is not #":                   {Offset: 9, Message: "unexpected character"},
		"a not #":                      {Offset: 6, Message: "unexpected character"},
		"a not like #":                 {Offset: 11, Message: "unexpected character"},
		"not #":                        {Offset: 4, Message: "unexpected character"},
		"(#":                           {Offset: 1, Message: "unexpected character"},
		"(1 2":                         {Offset: 3, Message: "expected an operator before 2"},
		"a = \xe2\x80\x9e":             {Offset: 4, Message: "unexpected character"},
		"a is":                         {Offset: 4, Message: "expected null after is"},
		"a = 'b' 'c'":                  {Offset: 8, Message: "expected an operator before the text"},
		"a # b":                        {Offset: 2, Message: "unexpected character"},
		"a = \xff":                     {Offset: 4, Message: "unexpected character"},
		"\u20ac":                       {Offset: 0, Message: "unexpected character"},
		"()":                           {Offset: 1, Message: "expected a value after ("},
		"a and":                        {Offset: 5, Message: "expected a value after and"},
		"a in":                         {Offset: 4, Message: "expected a list in parentheses after in"},
		"a in 'b'":                     {Offset: 5, Message: "expected a list in parentheses after in"},
		"a in ()":                      {Offset: 6, Message: "expected a value after ("},
		"a in (1,)":                    {Offset: 8, Message: "expected a value after ,"},
		"a in (1":                      {Offset: 5, Message: "missing closing parenthesis"},
		"a in (1 2)":                   {Offset: 8, Message: "expected an operator before 2"},
		"a in (b = 1)":                 {Offset: 8, Message: "expected an operator before ="},
		"a in (1) in (2)":              {Offset: 9, Message: "comparisons do not chain"},
		"(1, 2)":                       {Offset: 2, Message: "expected an operator before ,"},
		"a in (#":                      {Offset: 6, Message: "unexpected character"},
		"not":                          {Offset: 3, Message: "expected a value after not"},
		strings.Repeat("1", 65):        {Offset: 0, Message: "number with too many digits"},
		"1 " + strings.Repeat("x", 40): {Offset: 2, Message: "expected an operator before " + strings.Repeat("x", 32) + "..."},
	} {
		_, err := filter.Compile(text)
		var got *filter.SyntaxError
		if !errors.As(err, &got) {
			t.Errorf("Compile(%q): %v, want a *SyntaxError", text, err)
			continue
		}
		if diff := cmp.Diff(want, *got); diff != "" {
			t.Errorf("Compile(%q) (-want +got):\n%s", text, diff)
		}
	}
	if got := (&filter.SyntaxError{Offset: 7, Message: "expected a value"}).Error(); got != "filter: expected a value at byte 7" {
		t.Errorf("Error() = %q", got)
	}
}

func TestLengthIsLimited(t *testing.T) {
	if _, err := filter.Compile(padded(filter.MaxLength, "1", " ", "")); err != nil {
		t.Errorf("Compile of %d bytes: %v", filter.MaxLength, err)
	}
	if _, err := filter.Compile(padded(filter.MaxLength+1, "1", " ", "")); !errors.Is(err, filter.ErrTooLong) {
		t.Errorf("Compile of %d bytes: %v, want %v", filter.MaxLength+1, err, filter.ErrTooLong)
	}
	if _, err := filter.Compile("a=" + strings.Repeat("0", 64)); err != nil {
		t.Errorf("Compile of a number of 64 digits: %v", err)
	}
	long := server{"a": strings.Repeat("0", 65), "b": strings.Repeat("0", 64)}
	if f := compile(t, "a and not b"); !matches(f, long) {
		t.Errorf("Match(%q) of 65 and 64 zeros = false, want the longer to be text", f)
	}
}

func TestDeepAndWideFiltersFit(t *testing.T) {
	deep := func(open, inner, closing string) string {
		n := (filter.MaxLength - len(inner)) / (len(open) + len(closing))
		return strings.Repeat(open, n) + inner + strings.Repeat(closing, n)
	}
	for about, c := range map[string]struct {
		text string
		want bool
	}{
		"parentheses":            {deep("(", "1", ")"), true},
		"nots, an odd number":    {deep("!", "1", ""), false},
		"minuses":                {deep("-", "1", ""), true},
		"sums to the right":      {deep("(1+", "1", ")"), true},
		"sums to the left":       {deep("(", "1", "+1)"), true},
		"a long sum":             {deep("1+", "1", ""), true},
		"nots of parentheses":    {deep("!(", "1", ")"), false},
		"comparisons of results": {deep("(1=", "1", ")"), true},
		"ors in parentheses":     {deep("(0||", "1", ")"), true},
		"ands":                   {deep("1&&", "0", ""), false},
		"bits of minuses":        {deep("(-1&", "1", ")"), true},
		"lists in lists":         {deep("(", "1", " in (0,1))"), true},
		"a long list":            {padded(filter.MaxLength, "1 in (0", ",2", ",1)"), true},
		"different fields":       {padded(filter.MaxLength, "", "a.", "=0"), true},
	} {
		f, err := filter.Compile(c.text)
		if err != nil {
			t.Errorf("%s: Compile of %d bytes: %v", about, len(c.text), err)
			continue
		}
		if got := matches(f, nil); got != c.want {
			t.Errorf("%s: Match = %v, want %v", about, got, c.want)
		}
		if got := matches(compile(t, f.String()), nil); got != c.want {
			t.Errorf("%s: Match of the canonical form = %v, want %v", about, got, c.want)
		}
	}
	for _, text := range []string{strings.Repeat("(", 1000), strings.Repeat("!", 1000), strings.Repeat("-", 1000), strings.Repeat("(1+", 340)} {
		var syntax *filter.SyntaxError
		if _, err := filter.Compile(text); !errors.As(err, &syntax) {
			t.Errorf("Compile(%.8q...): %v, want a *SyntaxError", text, err)
		}
	}
}

func TestNamesAreLowerCaseInOrderAndOnce(t *testing.T) {
	f := compile(t, "Beta=1 and (alpha=2 or BETA=gamma) and 'delta'=alpha and Alpha is null")
	if want := []string{"beta", "alpha", "gamma"}; !slices.Equal(f.Names(), want) {
		t.Errorf("Names() = %q, want %q", f.Names(), want)
	}
}

func TestCanonicalForm(t *testing.T) {
	for text, want := range map[string]string{
		" ( (NumPlayers>0)AND(a==1) ) ": "numplayers > 0 and a = 1",
		"a<>1||b!=2&&!c":                "a != 1 or b != 2 and not c",
		"(a or b) and c":                "(a or b) and c",
		"a or (b or c)":                 "a or b or c",
		"a-(b-c)-d":                     "a - (b - c) - d",
		"x = NULL and null != y":        "x is null and y is not null",
		"x Is Not Null":                 "x is not null",
		`a="it's"`:                      "a = 'it''s'",
		"a=\u2018Mixed Case\u2019":      "a = 'Mixed Case'",
		"a=1.50F":                       "a = 1.50",
		"(a=b)=(not c)":                 "(a = b) = (not c)",
		"-(a+b)*-c":                     "-(a + b) * -c",
		"not (not a)":                   "not not a",
		"not (a=b)":                     "not a = b",
		"A IN('x',2 , (b+1),(c=d))":     "a in ('x', 2, b + 1, (c = d))",
		"(a ! in (1)) or not b in (1)":  "a not in (1) or not b in (1)",
		"(a NOT  LIKE 'x%') is null":    "(a not like 'x%') is null",
		"(((20=auth)AND((1&mskdif)=mskdif)))and b": "20 = auth and 1 & mskdif = mskdif and b",
	} {
		if got := compile(t, text).String(); got != want {
			t.Errorf("String() of %q = %q, want %q", text, got, want)
		}
	}
}

func TestCanonicalFormNeverOutgrowsTheLimit(t *testing.T) {
	text := padded(filter.MaxLength, "", "a=1&&", "1")
	f := compile(t, text)
	again := compile(t, f.String())
	if again.String() != f.String() {
		t.Errorf("String() compiled again = %q, want %q", again, f)
	}
}

func TestMatchDoesNotAllocate(t *testing.T) {
	s := loadSamples(t)
	texts := append(s.MustParse, three, "gametype in ('dm', 'ctf', null) and numplayers not in (1, 2, maxplayers)", "hostname like '%a_e%' and gamever=1.1 or bigger>big+1.5 and -ratio<zeros")
	for _, c := range s.Expect {
		texts = append(texts, c.Filter)
	}
	for _, text := range texts {
		f := compile(t, text)
		r := arena().row(f.Names())
		budget := &filter.Budget{}
		got := testing.AllocsPerRun(20, func() {
			budget.Steps = 1000
			f.Match(r, budget)
		})
		if got != 0 {
			t.Errorf("Match(%q) allocates %v times, want 0", text, got)
		}
	}
}
