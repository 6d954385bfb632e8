package games

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Platform is a console or a handheld that a title was made for. Empty: a computer.
type Platform string

// The platforms.
const (
	DS     Platform = "ds"
	Wii    Platform = "wii"
	PS2    Platform = "ps2"
	PS3    Platform = "ps3"
	PSP    Platform = "psp"
	Xbox   Platform = "xbox"
	IPhone Platform = "iphone"
)

// platforms are the words of titles that name a platform, and what holds for all of its
// titles. It says nothing of one title: that is what an Edition is for.
var platforms = []struct {
	platform Platform
	words    []string
	sentence string
}{
	{DS, []string{"ds", "dsiware"}, "DS games need a patched copy that asks over http, and the address of this server as the DNS server of the console. " + trust},
	{Wii, []string{"wii", "wiiware"}, "Wii games need a patched copy that asks over http, and the address of this server as the DNS server of the console. " + trust},
	{PS2, []string{"ps2"}, "Set the DNS server of the console. Nearly all titles ask Sony’s DNAS first, which this server does not answer: they need a DNS server that does, or a patched disc."},
	{PS3, []string{"ps3", "psn"}, "Set the DNS server of the console. Titles sign in over https, which the operator must switch on (webservices.tls_listen)."},
	{PSP, []string{"psp"}, "Set the DNS server of the console, or of PPSSPP."},
	{Xbox, []string{"xbox", "xbox360", "x360", "360"}, "Titles of this console play over Xbox Live, which no server replaces."},
	{IPhone, []string{"iphone"}, "Titles of this handheld play only through their own app."},
}

// trust is what players of consoles should know.
const trust = "A console trusts the server that it is led to: use only servers that you trust."

// Platform returns the platform that the title of the game names.
func (g *Game) Platform() Platform {
	title := strings.FieldsFunc(strings.ToLower(g.Title), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, p := range platforms {
		if slices.ContainsFunc(p.words, func(w string) bool { return slices.Contains(title, w) }) {
			return p.platform
		}
	}
	if slices.Contains(g.Domains, NintendoDomain) {
		if strings.HasSuffix(g.Name, "wii") {
			return Wii
		}
		return DS
	}
	return ""
}

// Sentence returns what holds for all titles of the platform, "" for a computer.
func (p Platform) Sentence() string {
	for _, known := range platforms {
		if known.platform == p {
			return known.sentence
		}
	}
	return ""
}

// trialWords are words of the titles of versions that are not the game itself.
var trialWords = []string{"demo", "beta", "automatch", "test", "testing", "trial"}

// seeOf returns the name of the game of which a game is a demo, a beta or another version, by its
// alias or its title; empty: it is a game of its own, or it has editions of its own.
func (idx *index) seeOf(g *Game) string {
	if len(g.Editions) > 0 {
		return ""
	}
	if base := idx.base[g.Name]; base != nil {
		return base.Name
	}
	title := strings.ToLower(g.Title)
	if !slices.ContainsFunc(trialWords, func(w string) bool { return strings.Contains(title, w) }) {
		return ""
	}
	for n := len(g.Name) - 1; n > 1; n-- {
		of := idx.byName[g.Name[:n]]
		if of != nil && strings.HasPrefix(title, firstWords(of.Title)) {
			return cmp.Or(idx.seeOf(of), of.Name)
		}
	}
	return ""
}

// firstWords returns a title in lower case without what is in brackets at its end.
func firstWords(title string) string {
	title, _, _ = strings.Cut(strings.ToLower(title), " (")
	return title
}
