package zanmaster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/storage"
)

func TestRules(t *testing.T) {
	at := func(text string) time.Time {
		v, err := time.ParseInLocation("2006-01-02 15:04", text, time.Local)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	tests := map[string]struct {
		line    string
		texts   []string
		expires time.Time
		comment string
	}{
		"address":                  {line: "10.1.2.3", texts: []string{"10.1.2.3"}},
		"comment":                  {line: "10.1.2.3:cheating", texts: []string{"10.1.2.3"}, comment: "cheating"},
		"comment with colons":      {line: "10.1.2.3:a:b // c", texts: []string{"10.1.2.3"}, comment: "a:b // c"},
		"space before the colon":   {line: "  10.1.2.3 : x ", texts: []string{"10.1.2.3"}, comment: "x"},
		"wildcards":                {line: "10.20.*.*", texts: []string{"10.20.*.*"}},
		"wildcard in the middle":   {line: "10.*.3.4", texts: []string{"10.*.3.4"}},
		"everybody":                {line: "*.*.*.*", texts: []string{"*.*.*.*"}},
		"expiry":                   {line: "192.0.2.77<12/31/2030 23:59>:temporary", texts: []string{"192.0.2.77"}, expires: at("2030-12-31 23:59"), comment: "temporary"},
		"expiry with a short year": {line: "192.0.2.77 <1/2/31 3:04>", texts: []string{"192.0.2.77"}, expires: at("2031-01-02 03:04")},
		"short year of long ago":   {line: "192.0.2.77<1/2/99 3:04>", texts: []string{"192.0.2.77"}, expires: at("2099-01-02 03:04")},
		"long year of long ago":    {line: "192.0.2.77<1/2/1999 3:04>", texts: []string{"192.0.2.77"}, expires: at("1999-01-02 03:04")},
		"comment line":             {line: "// 10.1.2.3"},
		"hash line":                {line: "# 10.1.2.3"},
		"empty line":               {line: " \t"},
		"remark behind":            {line: "10.1.2.3 // remark", texts: []string{"10.1.2.3"}},
		"remark directly behind":   {line: "10.1.2.3//remark", texts: []string{"10.1.2.3"}},
		"/32":                      {line: "10.1.2.3/32", texts: []string{"10.1.2.3"}},
		"/24":                      {line: "10.1.2.99/24:net", texts: []string{"10.1.2.*"}, comment: "net"},
		"/22":                      {line: "10.1.4.0/22", texts: []string{"10.1.4.*", "10.1.5.*", "10.1.6.*", "10.1.7.*"}},
		"/30":                      {line: "10.1.2.4/30", texts: []string{"10.1.2.4", "10.1.2.5", "10.1.2.6", "10.1.2.7"}},
		"/8":                       {line: "10.0.0.0/8", texts: []string{"10.*.*.*"}},
		"range":                    {line: "10.1.2.254-10.1.4.1<12/31/2030 23:59>", texts: []string{"10.1.2.254", "10.1.2.255", "10.1.3.*", "10.1.4.0", "10.1.4.1"}, expires: at("2030-12-31 23:59")},
		"range of one":             {line: "10.1.2.3-10.1.2.3", texts: []string{"10.1.2.3"}},
		"range to the end":         {line: "255.255.255.254-255.255.255.255", texts: []string{"255.255.255.254", "255.255.255.255"}},
		"leading zeros":            {line: "010.001.002.003", texts: []string{"10.1.2.3"}},
		"long comment":             {line: "10.1.2.3:" + strings.Repeat("x", 200), texts: []string{"10.1.2.3"}, comment: strings.Repeat("x", maxComment)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r, ok, err := parseRule(tc.line)
			if err != nil || ok != (tc.texts != nil) {
				t.Fatalf("parseRule(%q): ok %t, %v", tc.line, ok, err)
			}
			var texts []string
			for _, p := range r.patterns {
				texts = p.appendTexts(texts)
			}
			if !slices.Equal(texts, tc.texts) || !r.expires.Equal(tc.expires) || r.comment != tc.comment {
				t.Errorf("parseRule(%q): got %q, expires %v, comment %q; want %q, %v, %q",
					tc.line, texts, r.expires, r.comment, tc.texts, tc.expires, tc.comment)
			}
		})
	}
}

func TestBadLinesAreNamed(t *testing.T) {
	tests := map[string]error{
		"10.1.2":                       errNoAddress,
		"10.1.2.3.4":                   errNoAddress,
		"10.1.2.256":                   errNoAddress,
		"10.1.2.-1":                    errNoAddress,
		"10.1.2.+1":                    errNoAddress,
		"10.1.2.":                      errNoAddress,
		"10.1.2.1*":                    errNoAddress,
		"localhost":                    errNoAddress,
		"2001:db8::1":                  errNoAddress,
		"10.1.2.3/33":                  errNoAddress,
		"10.1.2.*/24":                  errNoAddress,
		"0.0.0.0/0":                    errEverybody,
		"0.0.0.0-255.255.255.255":      errEverybody,
		"10.1.2.3-10.1.2.2":            errBackwards,
		"10.1.2.3-":                    errNoAddress,
		"10.1.2.3<tomorrow>":           errBadExpiry,
		"10.1.2.3<13/31/2030 23:59>":   errBadExpiry,
		"10.1.2.3<12/31/2030 23:59":    errBadExpiry,
		"10.1.2.3 cheater":             errTrailing,
		strings.Repeat("1", maxLine+1): errTooLong,
	}
	for line, want := range tests {
		data := "10.9.9.9\n\n" + line + "\r\n10.9.9.10:fine\r\n"
		rules, err := parseRules("dir/banlist.txt", []byte(data))
		if err == nil || !strings.Contains(err.Error(), "dir/banlist.txt:3: ") || !strings.Contains(err.Error(), want.Error()) {
			t.Errorf("line %.40q: got error %v, want one that names line 3 and says %q", line, err, want)
		}
		if len(rules) != 2 {
			t.Errorf("line %.40q: %d rules read around it, want 2", line, len(rules))
		}
	}
}

func TestManyBadLinesAreCounted(t *testing.T) {
	_, err := parseRules("f", []byte(strings.Repeat("x\n", 1000)))
	if n := len(strings.Split(err.Error(), "\n")); n != maxProblems+1 || !strings.Contains(err.Error(), "980 more") {
		t.Errorf("1,000 bad lines: %d lines of error, want %d", n, maxProblems+1)
	}
}

func TestTooManyRules(t *testing.T) {
	rules, err := parseRules("f", []byte(strings.Repeat("10.0.0.1\n", maxRules+2)))
	if len(rules) != maxRules || err == nil || !strings.Contains(err.Error(), fmt.Sprintf("f:%d: ", maxRules+1)) {
		t.Errorf("%d rules, %v", len(rules), err)
	}
}

func TestRuleSet(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.Local)
	rules, err := parseRules("f", []byte(strings.Join([]string{
		"10.1.2.3", "10.20.*.*", "10.*.30.40", "192.0.2.0/25", "198.51.100.10-198.51.100.20",
		"203.0.113.1<12/31/2025 23:59>", "203.0.113.2<01/01/2026 00:01>", "203.0.113.1<12/31/2024 23:59>",
		"203.0.113.3<12/31/2025 23:59>", "203.0.113.3",
	}, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	s := newRuleSet(rules)
	for a, want := range map[string]bool{
		"10.1.2.3": true, "10.1.2.4": false, "10.20.0.0": true, "10.20.255.255": true, "10.21.0.0": false,
		"10.99.30.40": true, "10.99.30.41": false, "192.0.2.127": true, "192.0.2.128": false,
		"198.51.100.9": false, "198.51.100.10": true, "198.51.100.20": true, "198.51.100.21": false,
		"203.0.113.1": false, "203.0.113.2": true, "203.0.113.3": true,
	} {
		if got := s.has(netip.MustParseAddr(a), now); got != want {
			t.Errorf("has(%s): got %t, want %t", a, got, want)
		}
	}
	texts, next := s.texts(nil, now)
	if slices.Contains(texts, "203.0.113.1") || !next.Equal(now.Add(time.Minute)) {
		t.Errorf("texts: got %q, next %v", texts, next)
	}
	if s.has(netip.MustParseAddr("203.0.113.2"), now.Add(time.Minute)) {
		t.Error("ban counts at the instant when it is over")
	}
}

func FuzzParseRules(f *testing.F) {
	f.Add("10.1.2.3:x\n// y\n10.*.*.*\n1.2.3.4/9\n1.2.3.4-200.1.1.1<1/1/30 1:1>")
	f.Fuzz(func(t *testing.T, data string) {
		rules, _ := parseRules("f", []byte(data))
		for _, r := range rules {
			var texts []string
			for _, p := range r.patterns {
				texts = p.appendTexts(texts)
			}
			if len(texts) == 0 || len(texts) > 62*128 {
				t.Fatalf("%d texts for a rule of %q", len(texts), data)
			}
			for _, text := range texts[:min(len(texts), 4)] {
				if _, ok, err := parseRule(text); !ok || err != nil {
					t.Fatalf("text %q of %q is not read again: %v", text, data, err)
				}
			}
		}
	})
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestBannedBlockedAndExempt(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, BanFile, "127.0.50.1:banned tester\n127.0.51.*\n")
	write(t, dir, BlockFile, "127.0.52.1:no hosting\n127.0.52.2\n")
	write(t, dir, ExemptFile, "127.0.51.9\n127.0.52.2")
	z := newZan(t, func(o *Options) { o.Files = dir })
	for from, want := range map[string]zandronum.Answer{
		"127.0.50.1:1": zandronum.AnswerBanned, "127.0.51.7:1": zandronum.AnswerBanned,
		"127.0.51.9:1": zandronum.AnswerList, "127.0.52.1:1": zandronum.AnswerList,
	} {
		if got, _ := z.ask(from); got != want {
			t.Errorf("list for %s: answer %d, want %d", from, got, want)
		}
	}
	for addr, want := range map[string]uplink.Drop{
		"127.0.50.1:10666": uplink.Banned, "127.0.52.1:10666": uplink.Blocked, "127.0.52.2:10666": uplink.NotDropped, "127.0.51.9:10666": uplink.NotDropped,
	} {
		g := z.server(addr)
		if got := g.announce(); got != want {
			t.Errorf("challenge of %s: dropped %q, want %q", addr, got, want)
		}
		answers := z.w.Take()
		if len(answers) != 1 {
			t.Fatalf("%d answers to %s, want one", len(answers), addr)
		}
		if banned := answers[0].message[0] == byte(zandronum.AnswerBanned); banned != (want != uplink.NotDropped) {
			t.Errorf("challenge of %s: answer %x", addr, answers[0].message)
		}
		word := map[uplink.Drop]string{uplink.Banned: "banned", uplink.Blocked: "blocked from hosting", uplink.NotDropped: z.verdict(g.addr)}[want]
		if got := z.verdict(g.addr); got != word {
			t.Errorf("verdict on %s: got %q, want %q", addr, got, word)
		}
	}
	// Whatever a banned address sends is answered, but not with more bytes.
	banned := netip.MustParseAddrPort("127.0.50.1:5")
	for range 3 {
		z.send(banned, []byte{1, 2, 3, 4})
	}
	if n := len(z.w.Take()); n != 3 {
		t.Errorf("%d answers to garbage of a banned address, want 3", n)
	}
	z.send(banned, []byte{0})
	if n := len(z.w.Take()); n != 0 {
		t.Errorf("%d answers to a packet that is shorter than the answer", n)
	}
}

func TestFilesAreReadWhenTheyChange(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, BanFile, "10.0.0.1\n")
	synctest.Test(t, func(t *testing.T) {
		z := newZan(t, func(o *Options) { o.Files = dir })
		g := z.server("192.0.2.1:10666")
		g.register()
		g.acknowledge()
		z.pass(10 * time.Second)
		if sent := z.w.Take(); len(sent) != 0 {
			t.Errorf("%d packets sent although nothing changed", len(sent))
		}
		write(t, dir, BanFile, "10.0.0.1\n10.0.0.2:new\nbroken\n")
		write(t, dir, BlockFile, "192.0.2.9\n")
		z.pass(3 * time.Second)
		parts := banLists(t, z.w.Take(), g.addr)
		if len(parts) != 1 || !slices.Equal(parts[0].Bans, []string{"10.0.0.1", "10.0.0.2"}) {
			t.Errorf("ban list after a change: got %+v", parts)
		}
		g.acknowledge()
		write(t, dir, BlockFile, "192.0.2.1\n192.0.2.9\n")
		z.pass(3 * time.Second)
		if g.listed() || len(banLists(t, z.w.Take(), g.addr)) != 0 {
			t.Errorf("server that was blocked: listed %t", g.listed())
		}
		if err := os.Remove(filepath.Join(dir, BlockFile)); err != nil {
			t.Fatal(err)
		}
		z.pass(3 * time.Second)
		g.register()
	})
}

func TestReloadNamesBadLines(t *testing.T) {
	dir := t.TempDir()
	z := newZan(t, func(o *Options) { o.Files = dir })
	write(t, dir, BanFile, "10.0.0.1\nbroken\n")
	write(t, dir, MultiServerFile, "192.0.2.1\n\n\n1.2.3\n")
	err := z.readFiles()
	for _, want := range []string{BanFile + ":2: ", MultiServerFile + ":4: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Reload: got %v, want %q in it", err, want)
		}
	}
	if !z.MultiServer(netip.MustParseAddr("192.0.2.1")) || z.MultiServer(netip.MustParseAddr("192.0.2.2")) {
		t.Error("MultiServer does not follow the file")
	}
	for i := range 30 {
		z.server(fmt.Sprintf("192.0.2.1:%d", 10666+i)).register()
	}
}

func TestFileThatCannotBeReadKeepsItsRules(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, BanFile, "10.0.0.1\n")
	z := newZan(t, func(o *Options) { o.Files = dir })
	if err := os.Remove(filepath.Join(dir, BanFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, BanFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := z.readFiles(); err == nil {
		t.Error("Reload of a directory: no error")
	}
	if !z.banned(netip.MustParseAddr("10.0.0.1"), time.Now()) {
		t.Error("ban is gone although the file could not be read")
	}
}

// memory keeps bans without a file.
type memory struct{ storage.Store }

func (memory) AddBan(context.Context, storage.Ban) error { return nil }
func (memory) RemoveBan(context.Context, netip.Prefix, storage.Scope) (int, error) {
	return 1, nil
}

func ban(prefix string, scope storage.Scope) storage.Ban {
	return storage.Ban{Prefix: netip.MustParsePrefix(prefix), Scope: scope}
}

func TestBansOfTheStoreAreInForceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := bans.New(memory{})
		z := newZan(t, func(o *Options) { o.Bans = table })
		add := func(b storage.Ban) {
			t.Helper()
			if err := table.Add(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		g, other := z.server("192.0.2.1:10666"), z.server("198.51.100.1:10666")
		g.register()
		other.register()
		other.acknowledge()
		add(ban("203.0.113.0/24", storage.ScopeLists))
		add(ban("2001:db8::/32", storage.ScopeAll))
		z.pass(5 * time.Second)
		if parts := banLists(t, z.w.Take(), other.addr); len(parts) != 0 {
			t.Errorf("ban of another scope was sent: %+v", parts)
		}
		z.wantList("203.0.113.1:1", "192.0.2.1:10666", "198.51.100.1:10666")
		b := ban("192.0.2.0/25", storage.ScopeZandronum)
		b.Expires = time.Now().Add(time.Hour)
		add(b)
		add(ban("10.0.0.0/23", storage.ScopeAll))
		z.wantList("203.0.113.2:1", "198.51.100.1:10666")
		if dropped := g.announce(); dropped != uplink.Banned {
			t.Errorf("heartbeat of a banned server: dropped %q, want %q", dropped, uplink.Banned)
		}
		z.w.Take()
		z.pass(5 * time.Second)
		parts := banLists(t, z.w.Take(), other.addr)
		if len(parts) < 2 || !slices.Equal(parts[0].Bans[:2], []string{"10.0.0.*", "10.0.1.*"}) {
			t.Fatalf("ban list: got %d parts", len(parts))
		}
		other.acknowledge()
		n := 0
		for _, p := range parts {
			n += len(p.Bans)
		}
		if n != 2+128 {
			t.Errorf("%d bans sent, want 130", n)
		}
		for range 140 { // keep it alive until the ban is over
			z.pass(30 * time.Second)
			other.announce()
		}
		parts = banLists(t, z.w.Take(), other.addr)
		if len(parts) == 0 || !slices.Equal(parts[0].Bans, []string{"10.0.0.*", "10.0.1.*"}) {
			t.Errorf("ban list after the ban was over: got %+v", parts)
		}
		g.register()
		if n, err := table.Remove(t.Context(), netip.MustParsePrefix("10.0.0.0/23"), storage.EveryScope); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		z.pass(time.Second)
		if parts = banLists(t, z.w.Take(), other.addr); len(parts) == 0 || len(parts[0].Bans) != 0 {
			t.Errorf("ban list after the last ban was lifted: got %+v", parts)
		}
	})
}

func TestBanListIsSentInPacedPartsAndInOrder(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	var want []string
	for i := range 5000 {
		want = append(want, fmt.Sprintf("10.%d.%d.%d", i/62500, i/250%250, i%250+1))
		text.WriteString(want[i] + "\n")
	}
	write(t, dir, BanFile, text.String())
	write(t, dir, ExemptFile, "10.20.30.40\n")
	synctest.Test(t, func(t *testing.T) {
		z := newZan(t, func(o *Options) { o.Files = dir })
		g := z.server("192.0.2.1:10666")
		packets := g.register()
		if len(packets) != 1 {
			t.Errorf("%d parts sent at once, want 1", len(packets))
		}
		start := time.Now()
		z.pass(5 * time.Second)
		packets = append(packets, z.w.Take()...)
		var got zandronum.BanList
		for i, p := range banLists(t, packets, g.addr) {
			if int(p.Number) != i || p.Last != (i == len(packets)-1) {
				t.Fatalf("part %d of %d: number %d, last %t", i, len(packets), p.Number, p.Last)
			}
			got.Bans, got.Exempt = append(got.Bans, p.Bans...), append(got.Exempt, p.Exempt...)
		}
		if diff := cmp.Diff(zandronum.BanList{Bans: want, Exempt: []string{"10.20.30.40"}}, got); diff != "" {
			t.Errorf("ban list of 5,000 (-want +got):\n%s", diff)
		}
		for _, p := range packets {
			if p.size > zandronum.MaxBanPart+1 {
				t.Errorf("part of %d bytes", p.size)
			}
		}
		if d := time.Duration(len(packets)) * partEvery; d > time.Since(start) || d < 500*time.Millisecond {
			t.Errorf("%d parts: too few or too fast", len(packets))
		}
	})
}

func TestServerThatNeverAcknowledges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		z := newZan(t, func(o *Options) { o.Files = dir; o.BanFilesPoll = 0 })
		g := z.server("192.0.2.1:10666")
		g.register()
		start := time.Now()
		var at []time.Duration
		for time.Since(start) < time.Hour {
			z.pass(time.Second)
			if len(banLists(t, z.w.Take(), g.addr)) > 0 {
				at = append(at, time.Since(start).Round(time.Second))
			}
			g.announce()
		}
		if len(at) > 12 || len(at) < 6 || at[0] < 11*time.Second || at[0] > 12*time.Second || at[1]-at[0] < 2*receiptWait {
			t.Errorf("sent again after %v", at)
		}
		// A change is sent at once all the same.
		write(t, dir, BanFile, "10.0.0.1\n")
		if err := z.readFiles(); err != nil {
			t.Fatal(err)
		}
		z.pass(time.Second)
		if parts := banLists(t, z.w.Take(), g.addr); len(parts) != 1 {
			t.Errorf("%d parts after a change, want 1", len(parts))
		}
	})
}

func TestReceipts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		z := newZan(t, func(o *Options) { o.Files = dir; o.BanFilesPoll = 0 })
		g := z.server("192.0.2.1:10666")
		if got := g.acknowledge(); got != uplink.Unexpected {
			t.Errorf("receipt of a stranger: dropped %q, want %q", got, uplink.Unexpected)
		}
		g.register()
		forged := z.server("192.0.2.1:10666")
		forged.verification = another
		if got := forged.acknowledge(); got != uplink.Unexpected || z.Hosts()[0].BanList {
			t.Errorf("receipt with another string: dropped %q, want %q", got, uplink.Unexpected)
		}
		// The list changes while the receipt for the first one is on its way:
		// it must not count for the second one.
		write(t, dir, BanFile, "10.0.0.1\n")
		if err := z.readFiles(); err != nil {
			t.Fatal(err)
		}
		z.pass(time.Second)
		g.acknowledge()
		if z.Hosts()[0].BanList {
			t.Error("a late receipt counts for the new list")
		}
		g.acknowledge()
		if !z.Hosts()[0].BanList {
			t.Error("the receipt for the new list does not count")
		}
		if got := g.acknowledge(); got != uplink.Unexpected {
			t.Errorf("receipt for nothing: dropped %q, want %q", got, uplink.Unexpected)
		}
		z.w.Take()
		z.pass(time.Minute)
		if parts := banLists(t, z.w.Take(), g.addr); len(parts) != 0 {
			t.Errorf("%d parts after the receipt", len(parts))
		}
	})
}

// Many servers and a long list: parts are paced for all of them together.
func TestBanListsForManyServersArePaced(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		z := newZan(t, func(o *Options) { o.Files = dir; o.BanFilesPoll = 0 })
		for i := range 500 {
			g := z.server(fmt.Sprintf("10.0.%d.%d:10666", i/250, i%250))
			g.register()
			g.acknowledge()
		}
		write(t, dir, BanFile, "10.9.0.1\n")
		if err := z.readFiles(); err != nil {
			t.Fatal(err)
		}
		z.w.Take()
		z.step(z.w, &z.due, time.Now())
		if n := len(z.w.Take()); n != partsAtOnce {
			t.Errorf("%d parts at once, want %d", n, partsAtOnce)
		}
		z.pass(time.Second)
		if n := len(z.w.Take()); n != 500-partsAtOnce {
			t.Errorf("%d parts in the next second, want %d", n, 500-partsAtOnce)
		}
	})
}

// A real store on a socket: the operator's changes reach servers without a request, as
// Serve polls for them.
func TestServePushesChanges(t *testing.T) {
	dir := t.TempDir()
	z := newZan(t, func(o *Options) { o.Files = dir; o.BanFilesPoll = 10 * time.Millisecond })
	conn, err := netserve.ListenPackets(t.Context(), "udp4", "127.0.0.1:0", netserve.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- z.Serve(ctx, conn) }()
	c, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(conn.LocalAddr()))
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
	send := func(message []byte) {
		t.Helper()
		if _, err := c.Write(zandronum.Encode(nil, message)); err != nil {
			t.Fatal(err)
		}
	}
	read := func() []byte {
		t.Helper()
		buf := make([]byte, 2000)
		n, err := c.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		return zandronum.Decode(nil, buf[:n], 2000)
	}
	send(z.server("127.0.0.1:1").announcement())
	v, ok := zandronum.ParseVerificationRequest(read())
	if !ok {
		t.Fatal("no verification request")
	}
	send(zandronum.AppendVerification(nil, v))
	if part, err := zandronum.ParseBanPart(read()); err != nil || part.Len() != 0 {
		t.Fatalf("first ban list: %+v, %v", part, err)
	}
	send(zandronum.AppendReceipt(nil, v.Verification))
	write(t, dir, BanFile, "10.0.0.1\n")
	if part, err := zandronum.ParseBanPart(read()); err != nil || !slices.Equal(part.Bans, []string{"10.0.0.1"}) {
		t.Errorf("ban list after the file changed: %+v, %v", part, err)
	}
	cancel()
	if err := errors.Join(<-ended, conn.Close(), c.Close()); err != nil {
		t.Error(err)
	}
}

func TestBanOfAFileIsOverInTime(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		over := time.Now().Add(10 * time.Minute).In(time.Local)
		write(t, dir, BanFile, "10.0.0.1\n203.0.113.1"+over.Format("<01/02/2006 15:04>")+":for a while\n")
		z := newZan(t, func(o *Options) { o.Files = dir })
		g := z.server("192.0.2.1:10666")
		parts := banLists(t, g.register(), g.addr)
		if len(parts) != 1 || !slices.Equal(parts[0].Bans, []string{"10.0.0.1", "203.0.113.1"}) {
			t.Fatalf("ban list: got %+v", parts)
		}
		g.acknowledge()
		if answer, _ := z.ask("203.0.113.1:1"); answer != zandronum.AnswerBanned {
			t.Errorf("answer before the end of the ban: %d", answer)
		}
		for range 21 {
			z.pass(29 * time.Second)
			g.announce()
		}
		if parts = banLists(t, z.w.Take(), g.addr); len(parts) == 0 || !slices.Equal(parts[0].Bans, []string{"10.0.0.1"}) {
			t.Errorf("ban list after the end of the ban: got %+v", parts)
		}
		z.wantList("203.0.113.1:1", "192.0.2.1:10666")
	})
}

func TestCheckFiles(t *testing.T) {
	dir := t.TempDir()
	if err := checkFiles(dir); err != nil {
		t.Errorf("checkFiles without files: %v", err)
	}
	write(t, dir, ExemptFile, "10.0.0.1\nnobody\n")
	if err := checkFiles(dir); err == nil || !strings.Contains(err.Error(), ExemptFile+":2: ") {
		t.Errorf("checkFiles: got %v, want one that names %s:2", err, ExemptFile)
	}
}

// Prefixes that end within an octet become many texts; that must end somewhere.
func TestBanListHasAnEnd(t *testing.T) {
	racetest.Skip(t, "sends a large ban list")
	dir := t.TempDir()
	var text strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&text, "%d.%d.%d.0/25\n", 1+i/65536, i/256%256, i%256)
	}
	write(t, dir, BanFile, text.String())
	z := newZan(t, func(o *Options) { o.Files = dir })
	list := z.access.Load().list
	if n := list.Len(); n != maxBanItems {
		t.Errorf("%d items for servers, want %d", n, maxBanItems)
	}
	if !z.banned(netip.MustParseAddr("1.234.95.1"), time.Now()) {
		t.Error("the last rule is not in force here")
	}
	long := []byte(strings.Repeat("x", maxVerification))
	parts := 0
	for next := 0; next < list.Len(); parts++ {
		_, next = list.AppendPart(nil, long, byte(parts), next)
	}
	if parts > zandronum.MaxBanParts {
		t.Errorf("%d parts, want at most %d", parts, zandronum.MaxBanParts)
	}
}
