package gstats

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/nettest"

	"github.com/respawnd/respawnd/internal/stats"
)

// greeted is the greeting and the second message of a service.
var greeted = string(appendServed(appendGreeting(nil, "ABCDEFGHIJ"), 160))

func TestClient(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	c := f.game()
	if err := c.AuthenticatePlayer(t.Context(), firstPlayer, "wrong"); !errors.Is(err, ErrRefused) {
		t.Errorf("AuthenticatePlayer with another password: %v", err)
	}
	if err := c.AuthenticatePlayer(t.Context(), firstPlayer, testPassword); err != nil {
		t.Fatalf("AuthenticatePlayer: %v", err)
	}
	data := []byte("a\\b\\final\\\x00c")
	at, err := c.Set(t.Context(), firstPlayer, 1, 4, false, data)
	if err != nil || !at.Equal(f.book.now) {
		t.Errorf("Set: %v, %v", at, err)
	}
	if got, at, err := c.Get(t.Context(), firstPlayer, 1, 4); err != nil || !at.Equal(f.book.now) || string(got) != string(data) {
		t.Errorf("Get: %q, %v, %v, want %q", got, at, err, data)
	}
	if _, err := c.Set(t.Context(), firstPlayer, 2, 4, false, data); !errors.Is(err, ErrRefused) {
		t.Errorf("Set of a block that is read only: %v", err)
	}
	if err := errors.Join(c.Begin(-5), c.Report(-5, true, "a", "b", "c", "")); err != nil {
		t.Fatal(err)
	}
	c.want(`\ka\`, `\ka\`)
	compareReports(t, f.book.reported(), []stats.Snapshot{
		{Session: -5, Begin: true, Trusted: true}, {Session: -5, Done: true, Trusted: true, Pairs: pairsOf("a", "b", "c", "")},
	})
}

func TestClientErrors(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ says, want string }{
		"no greeting":      {"", "EOF"},
		"another greeting": {sealed(`\lc\1\id\1`), "no greeting"},
		"no session key":   {string(appendGreeting(nil, "ABCDEFGHIJ")) + sealed(`\lc\2\proof\0`), errAnswer.Error()},
		"refused":          {string(appendGreeting(nil, "ABCDEFGHIJ")) + string(appendError(nil, "No.")), "refused: No."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, _ := nettest.Recite(t, tt.says)
			c, err := Connect(t.Context(), conn)
			if err == nil {
				err = c.Authenticate(t.Context(), "gmtest", "HA6zkS")
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestSelfTest(t *testing.T) {
	t.Parallel()
	const (
		public  = `\getpdr\1\lid\1\pid\1\mod\0\length\0\data\`
		private = `\getpdr\0\lid\2\pid\1`
		set     = `\setpdr\0\lid\3\pid\1\mod\0`
	)
	for name, tt := range map[string]struct {
		says []string
		want string
	}{
		"all right":       {[]string{public, private, set}, ""},
		"another answer":  {[]string{`\getpdr\1\lid\7\pid\1\mod\0\length\0\data\`}, errAnswer.Error()},
		"public, refused": {[]string{`\getpdr\0\lid\1\pid\1`}, "refused"},
		"private, given":  {[]string{public, `\getpdr\1\lid\2\pid\1\mod\0\length\0\data\`}, errPrivate.Error()},
		"stored":          {[]string{public, private, `\setpdr\1\lid\3\pid\1\mod\5`}, errStored.Error()},
		"closed":          {[]string{public}, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			says := greeted
			for _, m := range tt.says {
				says += sealed(m)
			}
			conn, _ := nettest.Recite(t, says)
			c, err := Connect(t.Context(), conn)
			if err != nil {
				t.Fatal(err)
			}
			err = checkOn(t.Context(), c, "gmtest", "HA6zkS")
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for list, want := range map[string][]string{
		"":                 nil,
		"\x01":             {""},
		"\x01a":            {"a"},
		"a\x01b":           {"a", "b"},
		"\x01a\x01\x01b":   {"a", "", "b"},
		"\x01a\x01":        {"a", ""},
		"\x01clan\x01age":  {"clan", "age"},
		"\x01a b\x00\x01c": {"a b\x00", "c"},
	} {
		if got := slices.Collect(split(list)); !slices.Equal(got, want) {
			t.Errorf("split(%q) = %q, want %q", list, got, want)
		}
	}
}
