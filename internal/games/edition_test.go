package games

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// built reports what runs where all services of this version run.
func built(s Service) Served {
	if slices.Contains([]Service{"maplist", "race"}, s) {
		return NotBuilt
	}
	return Running
}

// rows returns the rows of a table in testdata.
func rows(t *testing.T, name string) (out [][]string) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if line[0] != '#' {
			out = append(out, strings.Split(strings.TrimRight(line, "\n"), "\t"))
		}
	}
	return out
}

// TestWordsOfEditions compares what is said of each edition with the table of what is known,
// which was made from sources by hand.
func TestWordsOfEditions(t *testing.T) {
	c := newCatalog(t, embedded(t)...)
	seen := make(map[string]bool)
	for _, row := range rows(t, "words.tsv") {
		name, copies, version, want := row[0], row[1], row[2], row[3]
		g, known := c.Lookup(name)
		if !known {
			t.Errorf("%s: no such game", name)
			continue
		}
		seen[name] = true
		var got []string
		for _, o := range g.Outlooks(built, nil) {
			if o.Edition.Version == version && (slices.Contains(o.Edition.Copies, copies) || slices.Contains(o.Edition.Copies, "any")) {
				got = append(got, string(o.Word))
			}
		}
		if !slices.Contains(got, want) {
			t.Errorf("%s, %s %s: %q, want %s", name, copies, version, got, want)
		}
	}
	for _, g := range c.All() {
		if len(g.Editions) > 0 && !seen[g.Name] {
			t.Errorf("%s has editions, and no row in testdata/words.tsv", g.Name)
		}
	}
}

// TestWordsWithoutEvidence fails if a rule makes a promise for games of which nothing is known.
func TestWordsWithoutEvidence(t *testing.T) {
	count := make(map[Word]int)
	for _, g := range newCatalog(t, embedded(t)...).All() {
		word := g.Outlook(built, nil).Word
		if len(g.Editions) == 0 && !slices.Contains([]Word{Untried, Blocked, NotKnown}, word) {
			t.Errorf("%s is %s without an edition", g.Name, word)
		}
		if slices.ContainsFunc(g.Outlooks(built, nil), func(o Outlook) bool { return o.Word == ShouldPlay }) {
			count[ShouldPlay]++
		}
		off := g.Outlook(func(Service) Served { return SwitchedOff }, nil).Word
		if slices.Contains([]Word{ShouldPlay, Patched, Untried}, off) {
			t.Errorf("%s is %s where everything is off", g.Name, off)
		}
		for _, e := range g.Editions {
			e.rules(func(format string, args ...any) { t.Errorf("%s: "+format, append([]any{g.Name}, args...)...) })
		}
	}
	want := make(map[string]bool)
	for _, row := range rows(t, "words.tsv") {
		if row[3] == string(ShouldPlay) {
			want[row[0]] = true
		}
	}
	if count[ShouldPlay] != len(want) {
		t.Errorf("%d games should play, want the %d with evidence: %s", count[ShouldPlay], len(want), slices.Sorted(maps.Keys(want)))
	}
}

// TestCountsInDocs holds the numbers on the front page of the documentation.
func TestCountsInDocs(t *testing.T) {
	c := newCatalog(t, embedded(t)...)
	words := make(map[Word]int)
	other, console := 0, 0
	for _, g := range c.All() {
		switch {
		case g.See != "":
			other++
		case g.Platform() != "" && len(g.Editions) == 0:
			console++
		default:
			words[g.Outlook(built, nil).Word]++
		}
	}
	want := fmt.Sprintf("Of %d names that are built in, %d games should play where all services run. %d need a changed program, %d are played\n"+
		"on other networks, %d cannot be played here, %d were not reported yet, and of %d it is not known what they need. %d\n"+
		"are titles of consoles, for which one sentence stands, and %d are demos and other versions.\n",
		c.Len(), words[ShouldPlay], words[Patched], words[Elsewhere], words[Blocked], words[Untried], words[NotKnown], console, other)
	if page := string(read(t, "../docs/README.md")); !strings.Contains(page, want) {
		t.Errorf("docs/README.md lacks:\n%s", want)
	}
}

func TestOutlook(t *testing.T) {
	served := func(s Service) Served {
		switch s {
		case "qr2":
			return Running
		case "gpcm":
			return SwitchedOff
		}
		return NotBuilt
	}
	disc := Edition{Copies: []string{"retail"}, Way: "dns"}
	peer, patch, steam := disc, disc, Edition{Copies: []string{"steam"}, Elsewhere: "Steam", Since: "2014-05"}
	peer.Peer, peer.Evidence, peer.Source = "OpenSpy", "its list", "README"
	patch.Way, patch.Patch = "patch", []Change{HTTPSToHTTP, AuthKey}
	blocked := peer
	blocked.Blocked = "own servers"
	for name, tc := range map[string]struct {
		needs    []Service
		editions []Edition
		want     string
	}{
		"nothing known":    {nil, nil, "its needs are not known"},
		"needs alone":      {[]Service{"qr2"}, nil, "not reported yet: the services run here"},
		"off":              {[]Service{"qr2", "gpcm"}, []Edition{peer}, "switched off here: sign-in"},
		"not built":        {[]Service{"gpcm", "race"}, []Edition{peer}, "cannot be played here: needs race service of Nintendo"},
		"a peer":           {[]Service{"qr2"}, []Edition{peer}, "should play: served with the same services by OpenSpy"},
		"a patch":          {[]Service{"qr2"}, []Edition{patch}, "needs a patched game: https to http, auth key"},
		"moved":            {[]Service{"qr2"}, []Edition{steam}, "played on another network: Steam, since 2014-05"},
		"moved, lacking":   {[]Service{"race"}, []Edition{steam}, "played on another network: Steam, since 2014-05"},
		"a maker's own":    {[]Service{"qr2"}, []Edition{blocked}, "cannot be played here: own servers"},
		"no way known":     {[]Service{"qr2"}, []Edition{{Copies: []string{"any"}}}, "its needs are not known"},
		"the best of them": {[]Service{"qr2"}, []Edition{steam, patch, disc, peer}, "should play: served with the same services by OpenSpy"},
		"needs of its own": {nil, []Edition{{Copies: []string{"any"}, Way: "ini", Needs: []Service{"qr2"}}}, "not reported yet: the services run here"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (Game{Facts: Facts{Needs: tc.needs, Editions: tc.editions}}).Outlook(served, nil).String(); got != tc.want {
				t.Errorf("Outlook: %q, want %q", got, tc.want)
			}
		})
	}
}

func TestEditionRules(t *testing.T) {
	for text, want := range map[string]string{
		`{copy: steam, way: dns}`:                              "",
		`{way: dns}`:                                           "copies is missing",
		`{copy: floppy}`:                                       "must be any, retail, gog or steam",
		`{copy: any, evidence: seen}`:                          "evidence needs a source",
		`{copy: any, way: dns, peer: P, source: S}`:            "a peer both",
		`{copy: any, way: patch}`:                              "names the changes in patch",
		`{copy: any, way: dns, patch: [domain]}`:               "names the changes in patch",
		`{copy: any, patch: [crack], way: patch}`:              "must be https_to_http",
		`{copy: any, since: 2014}`:                             "moved elsewhere",
		`{copy: any, elsewhere: Steam, way: dns}`:              "have no way here",
		`{copy: any, way: dns, hosts: [master.example.com x]}`: "is not a service",
	} {
		_, err := ParseYAML(strings.NewReader("games: [{name: a, editions: ["+text+"]}]"), Source{Origin: FromFile})
		if got := ""; err != nil {
			got = err.Error()
			if want == "" || !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %q", text, got, want)
			}
		} else if want != "" {
			t.Errorf("%s was taken, want %q", text, want)
		}
	}
}

// TestHostsOfEditions compares the number of names that each game looks up with the one that was
// counted in sources.
func TestHostsOfEditions(t *testing.T) {
	c := newCatalog(t, embedded(t)...)
	for _, row := range rows(t, "hosts.tsv") {
		g, known := c.Lookup(row[0])
		if !known {
			t.Errorf("%s: no such game", row[0])
			continue
		}
		names := make(map[string]bool)
		for _, domain := range g.DomainsBeside([]string{DefaultDomain}) {
			list, err := g.HostNames(domain)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range list {
				names[n.Name] = true
			}
		}
		if want, _ := strconv.Atoi(row[1]); len(names) != want {
			t.Errorf("%s looks up %d names, want %d: %s", g.Name, len(names), want, slices.Sorted(maps.Keys(names)))
		}
	}
}

func TestHostsOfEditions_otherDomain(t *testing.T) {
	g := Game{Name: "swat4", Facts: Facts{Editions: []Edition{
		{Hosts: []Host{{Name: "swat4.available.gamespy.com"}, {Name: "master.example.com", Service: "qr2"}}},
		{Hosts: []Host{{Name: "swat4.available.gamespy.com"}, {Name: "swat4.odd.gamespy.com", Service: "cdkey"}}},
	}}}
	got, err := g.HostNames("openspy.net")
	if err != nil {
		t.Fatal(err)
	}
	want := []HostName{
		{Name: "swat4.available.openspy.net", For: ForAvailability, Service: "qr2"},
		{Name: "master.example.com", For: ForGame, Service: "qr2", Foreign: true},
		{Name: "swat4.odd.openspy.net", For: ForGame, Service: "cdkey"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("HostNames (-want +got):\n%s", diff)
	}
}

func TestPlatform(t *testing.T) {
	for title, want := range map[string]Platform{
		"SWAT 4": "", "Animal Crossing (DS)": DS, "Megaman 10 (WiiWare)": Wii, "NHL Hitz 2004 PS2": PS2, "Worms (PSP, PAL)": PSP,
		"BattleBall Arena (PSN)": PS3, "Oblivion (Xbox 360)": Xbox, "Dungeon Lords": "",
	} {
		g := Game{Name: "x", Title: title}
		if got := g.Platform(); got != want || (got != "") != (got.Sentence() != "") {
			t.Errorf("%s: platform %q with the sentence %q, want %q", title, got, got.Sentence(), want)
		}
	}
	g := Game{Name: "sengo3wii", Title: "Sengokumuso 3", Facts: Facts{Domains: []string{NintendoDomain}}}
	if got := g.Platform(); got != Wii {
		t.Errorf("platform of a game under Nintendo's domain: %q, want wii", got)
	}
}

func TestSee(t *testing.T) {
	c := newCatalog(t, embedded(t)...)
	for name, want := range map[string]string{
		"swat4d": "swat4", "actofwarhtd": "actofwarht", "actofwardam": "actofwar", "swat4": "", "battlefield2d": "battlefield2", "bioshock": "",
	} {
		g, known := c.Lookup(name)
		if !known {
			t.Errorf("%s: no such game", name)
			continue
		}
		if g.See != want || want != "" && len(g.Outlooks(built, nil)) > 0 {
			t.Errorf("%s: see %q, want %q", name, g.See, want)
		}
	}
}

// TestReportsRaiseAWord: what players reported overrules older knowledge, but not that a service
// is missing.
func TestReportsRaiseAWord(t *testing.T) {
	running := func(Service) Served { return Running }
	off := func(Service) Served { return SwitchedOff }
	dns := Edition{Way: "dns", Needs: []Service{"qr2"}, Date: "2026-03"}
	peer, patch, moved, blocked := dns, dns, dns, dns
	peer.Peer = "others"
	patch.Way, patch.Patch = "patch", []Change{NewDomain}
	moved.Elsewhere = "Steam"
	blocked.Blocked = "its maker's servers"
	enough := Reported{Times: 2, Last: "2026-11-28"}
	for what, c := range map[string]struct {
		o    Outlook
		want bool
	}{
		"blocked and played":    {Outlook{Word: Blocked, Reported: enough}, true},
		"one that met":          {Outlook{Word: Blocked, Reported: Reported{Times: 1, Met: true, Last: "2026-11-28"}}, true},
		"one that saw lists":    {Outlook{Word: Blocked, Reported: Reported{Times: 1, Last: "2026-11-28"}}, false},
		"before it was blocked": {Outlook{Word: Blocked, Edition: Edition{Date: "2026-12"}, Reported: enough}, false},
		"elsewhere only":        {Outlook{Word: Blocked, Reported: Reported{Elsewhere: Tally{Times: 9, Last: "2026-11-28"}}}, false},
		"played":                {Outlook{Word: Played, Reported: enough}, false},
		"off":                   {Outlook{Word: TurnedOff, Reported: enough}, false},
	} {
		if c.o.Questioned() != c.want {
			t.Errorf("%s: a question %t, want %t", what, !c.want, c.want)
		}
	}
	for name, c := range map[string]struct {
		edition  Edition
		served   func(Service) Served
		reported Reported
		want     Word
	}{
		"none":                    {dns, running, Reported{}, Untried},
		"one that only saw lists": {dns, running, Reported{Times: 1, Last: "2026-11-28"}, Untried},
		"one that met":            {dns, running, Reported{Times: 1, Met: true, Last: "2026-11-28"}, Played},
		"two":                     {dns, running, enough, Played},
		"should play":             {peer, running, enough, Played},
		"patched":                 {patch, running, enough, Played},
		"patched since":           {patch, running, Reported{Times: 2, Last: "2026-02-28"}, Patched},
		"elsewhere":               {moved, running, enough, Played},
		"moved since":             {moved, running, Reported{Times: 2, Last: "2025-02-28"}, Elsewhere},
		"blocked":                 {blocked, running, enough, Blocked},
		"off":                     {dns, off, enough, TurnedOff},
		"no record":               {Edition{}, running, enough, Played},
	} {
		g := Game{Facts: Facts{Editions: []Edition{c.edition}}}
		got := g.Outlook(c.served, func([]string) Reported { return c.reported })
		if got.Word != c.want {
			t.Errorf("%s: %s, want %s", name, got.Word, c.want)
		}
	}
}

// TestReportsOnOtherCopies: what is reported of copies in no edition has a line of its own, and only
// if it is enough.
func TestReportsOnOtherCopies(t *testing.T) {
	g := Game{Facts: Facts{Editions: []Edition{{Copies: []string{"retail"}, Way: "dns", Needs: []Service{"qr2"}}}}}
	running := func(Service) Served { return Running }
	for times, want := range map[int]string{0: "discs", 1: "discs", 2: "discs; GOG", 3: "discs; GOG"} {
		var names []string
		for _, o := range g.Outlooks(running, func(copies []string) (r Reported) {
			if slices.Equal(copies, []string{"gog"}) {
				r.Times, r.Last = times, "2026-11-28"[:10*min(times, 1)]
			}
			return r
		}) {
			names = append(names, o.Edition.Name())
		}
		if got := strings.Join(names, "; "); got != want {
			t.Errorf("%d reports: %q, want %q", times, got, want)
		}
	}
	whole := Game{Facts: Facts{Editions: []Edition{{Copies: []string{"any"}}}}}
	if all := whole.Outlooks(running, func([]string) Reported { return Reported{Times: 2, Last: "2026-11-28"} }); len(all) != 1 || all[0].Word != Played {
		t.Errorf("an edition of any copies: %+v", all)
	}
}

func TestReportedInWords(t *testing.T) {
	today := time.Now().UTC().Format(time.DateOnly)
	day := time.Now().UTC().Format("2 January 2006")
	for _, c := range []struct {
		r    Reported
		want string
	}{
		{Reported{Times: 1, Last: today}, "once, last on " + day},
		{Reported{Times: 14, Last: today, Version: "1.1"}, "14 times, last on " + day + ", version 1.1"},
		{Reported{Times: 2, Last: "2020-11-03"}, "2 times, last in 2020"},
		{Reported{Times: 2, Last: today, StoppedAt: "signed in"}, "2 times, last on " + day + ", but by the last reports it stopped after: signed in"},
	} {
		if got := c.r.String(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.r, got, c.want)
		}
	}
}
