package games

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Facts are the peculiarities of a game's online mode. The zero value means
// that none are known: the game looks up the names of the default domain, signs
// in with unique nicks of namespace 1, and its needs are not recorded.
type Facts struct {
	// Domains take the place of the default domain in the names that clients
	// resolve, at most MaxDomains.
	Domains []string
	// Hosts are further names that clients resolve, at most MaxHosts.
	Hosts []Host
	// Namespace and Partner are those of the unique nicks that players sign in
	// with, 0 to MaxNamespace. Namespace 0 is not stated: it is 1 then.
	Namespace, Partner int
	// LANPorts are where game servers answer on a local network, in place of the
	// QueryPort, at most MaxLANPorts.
	LANPorts []uint16
	// Needs are the services without which the game cannot be played online.
	Needs []Service
	// Uses are further services that the game asks and can be played without.
	Uses []Service
	// Via describes the steps that a player must take besides DNS; empty: none.
	Via string
	// Join is a link that starts the game of a player who has it and joins a server,
	// with JoinAddress in place of the server's host and port; empty: there is none.
	Join string
	// Aliases are other names of the same game, such as regional builds and demos, at most
	// MaxAliases. An alias belongs to one record and has no aliases of its own.
	Aliases []string
	// SharedList puts the servers of the game and of its aliases into one list. Each
	// server and each client keeps the secret of its own name.
	SharedList bool
	// Note is a remark for operators.
	Note string
	// Colours is the family of codes that the names of its servers and players may
	// have, one of ColourFamilies; empty: none.
	Colours string
	// Keys are the keys of servers whose types clients expect in lists, at most
	// MaxKeys; other keys have the type that their values allow.
	Keys []Key
	// Quake3 are the names of the game in Quake III's protocol, at most MaxQuake3.
	Quake3 []Quake3
	// Files are the files that the game loads over HTTP, at most MaxFiles.
	Files []File
	// QuickMatch is the automatic match; see there.
	QuickMatch QuickMatch
	// Epic are the ways in which the game signs in to a master in the form of Epic's, at
	// most MaxEpic.
	Epic []Epic
}

// Host is a name that clients resolve although it is under no domain of the game.
type Host struct {
	Name string
	// Service is the one that clients look for there; empty: any that runs. The name
	// may belong to a third party, so it leads here only while the service runs.
	Service Service
}

// String returns the name, with the service behind it if there is one.
func (h Host) String() string { return strings.TrimSpace(h.Name + " " + string(h.Service)) }

// Key is a key of game servers, and how a list sends it.
type Key struct {
	Name string
	// Type is 0 for text, 1 for a number of one byte, 2 for a number of two bytes.
	Type uint8
}

// String returns the key as in lists of keys: followed by ":" and its type
// unless it is text.
func (k Key) String() string {
	if k.Type == 0 {
		return k.Name
	}
	return k.Name + ":" + strconv.Itoa(int(k.Type))
}

// ColourFamilies returns the families of colour codes, which package colour reads.
func ColourFamilies() []string { return []string{"quake", "doom", "unreal", "swat"} }

// Bounds of Facts.
const (
	MaxDomains   = 8
	MaxHosts     = 16
	MaxNamespace = 65535
	MaxLANPorts  = 8
	MaxServices  = 16
	MaxAliases   = 32
	MaxKeys      = 64
)

// DefaultNamespace is the namespace of unique nicks of games that state none.
const DefaultNamespace = 1

// UniqueNicks returns the namespace of the unique nicks that players of the game
// sign in with.
func (f Facts) UniqueNicks() int {
	if f.Namespace == 0 {
		return DefaultNamespace
	}
	return f.Namespace
}

// check adds everything that is wrong with f.
func (f Facts) check(name string, bad func(string, ...any)) {
	atMost := func(what string, n, most int) {
		if n > most {
			bad("%d %s, at most %d are allowed", n, what, most)
		}
	}
	atMost("domains", len(f.Domains), MaxDomains)
	atMost("hosts", len(f.Hosts), MaxHosts)
	atMost("lan_ports", len(f.LANPorts), MaxLANPorts)
	atMost("services in needs", len(f.Needs), MaxServices)
	atMost("services in uses", len(f.Uses), MaxServices)
	atMost("aliases", len(f.Aliases), MaxAliases)
	atMost("keys", len(f.Keys), MaxKeys)
	for _, d := range f.Domains {
		if !validDomain(d) {
			bad("the domain %q %s", shorten(d), domainRule)
		}
	}
	for _, h := range f.Hosts {
		if !validDomain(h.Name) {
			bad("the host %q %s", shorten(h.Name), domainRule)
		}
		if h.Service != "" && !h.Service.known() {
			bad("host %s: %s", shorten(h.Name), unknownService(h.Service))
		}
	}
	if f.Namespace < 0 || f.Namespace > MaxNamespace || f.Partner < 0 || f.Partner > MaxNamespace {
		bad("the namespace and the partner must be 0 to %d", MaxNamespace)
	}
	if slices.Contains(f.LANPorts, 0) {
		bad("lan_ports must be 1 to 65535")
	}
	checkQuake3(f.Quake3, bad)
	checkFiles(f.Files, bad)
	f.QuickMatch.check(bad)
	checkEpic(f.Epic, bad)
	f.checkServices(bad)
	f.checkAliases(name, bad)
	if reason := textProblem(f.Via, MaxTextLen); reason != "" {
		bad("via %s", reason)
	}
	if f.Join != "" && !validJoin(f.Join) {
		bad("join must be a link with {address} once and a scheme of its own, such as game://{address}")
	}
	if reason := textProblem(f.Note, MaxTextLen); reason != "" {
		bad("note %s", reason)
	}
	if f.Colours != "" && !slices.Contains(ColourFamilies(), f.Colours) {
		bad("colours %q is not one of: %s", shorten(f.Colours), strings.Join(ColourFamilies(), ", "))
	}
	for _, k := range f.Keys {
		if k.Name == "" || len(k.Name) > MaxFieldKeyLen || strings.ContainsFunc(k.Name, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }) || k.Type > 2 {
			bad("the key %q must be 1 to %d printable characters, of type 0, 1 or 2", shorten(k.Name), MaxFieldKeyLen)
		}
	}
}

// JoinAddress is the placeholder of host and port in Facts.Join.
const JoinAddress = "{address}"

// joinForm matches Facts.Join: nothing that a browser would open itself, and nothing
// that has to be escaped.
var joinForm = regexp.MustCompile(`^[a-z][a-z0-9+.-]{1,30}://[A-Za-z0-9/_.+=?&-]{0,60}\{address\}[A-Za-z0-9/_.+=?&-]{0,60}$`)

// browserSchemes are the schemes that browsers handle themselves.
var browserSchemes = []string{"http", "https", "javascript", "data", "vbscript", "file", "blob", "about", "ftp", "ws", "wss", "view-source", "filesystem"}

// validJoin reports whether a text can be Facts.Join.
func validJoin(link string) bool {
	scheme, _, _ := strings.Cut(link, ":")
	return joinForm.MatchString(link) && !slices.Contains(browserSchemes, scheme)
}

// JoinLink returns the link with which a player joins the server at an address, "" if
// the game has none.
func (f Facts) JoinLink(address netip.AddrPort) string {
	head, tail, ok := f.JoinParts()
	if !ok || !address.Addr().Is4() {
		return ""
	}
	return head + address.String() + tail
}

// JoinParts returns the parts of a JoinLink before and behind the address;
// ok is false if the game has none.
func (f Facts) JoinParts() (head, tail string, ok bool) {
	if !validJoin(f.Join) {
		return "", "", false
	}
	return strings.Cut(f.Join, JoinAddress)
}

const domainRule = "must be a host name of two labels or more, each of 1 to 63 letters, digits and hyphens, without wildcards"

func (f Facts) checkServices(bad func(string, ...any)) {
	for i, s := range f.Needs {
		switch {
		case !s.known():
			bad("needs: %s", unknownService(s))
		case slices.Contains(f.Needs[:i], s):
			bad("needs names %s twice", s)
		}
	}
	for i, s := range f.Uses {
		switch {
		case !s.known():
			bad("uses: %s", unknownService(s))
		case slices.Contains(f.Uses[:i], s):
			bad("uses names %s twice", s)
		case slices.Contains(f.Needs, s):
			bad("%s is in needs and in uses", s)
		}
	}
}

func unknownService(s Service) string {
	return fmt.Sprintf("%q is not a service; there are %s", shorten(string(s)), serviceList())
}

func (f Facts) checkAliases(name string, bad func(string, ...any)) {
	for i, a := range f.Aliases {
		switch {
		case !ValidName(a):
			bad("the alias %q is not a name of a game", shorten(a))
		case a == name:
			bad("the game is an alias of itself")
		case slices.Contains(f.Aliases[:i], a):
			bad("the alias %s is there twice", a)
		}
	}
}

// overlay returns f with the fields that top states; given are the fields that top states
// although they are empty.
func (f Facts) overlay(top Facts, given Fields) Facts {
	overlayList(&f.Domains, top.Domains, given&FieldDomains != 0)
	overlayList(&f.Hosts, top.Hosts, given&FieldHosts != 0)
	overlayList(&f.LANPorts, top.LANPorts, given&FieldLANPorts != 0)
	overlayList(&f.Needs, top.Needs, given&FieldNeeds != 0)
	overlayList(&f.Uses, top.Uses, given&FieldUses != 0)
	overlayList(&f.Aliases, top.Aliases, given&FieldAliases != 0)
	overlayValue(&f.SharedList, top.SharedList, given&FieldSharedList != 0)
	overlayList(&f.Keys, top.Keys, given&FieldKeys != 0)
	overlayList(&f.Quake3, top.Quake3, given&FieldQuake3 != 0)
	overlayList(&f.Files, top.Files, given&FieldFiles != 0)
	if !top.QuickMatch.IsZero() || given&FieldQuickMatch != 0 {
		f.QuickMatch = top.QuickMatch
	}
	overlayList(&f.Epic, top.Epic, given&FieldEpic != 0)
	overlayValue(&f.Namespace, top.Namespace, given&FieldNamespace != 0)
	overlayValue(&f.Partner, top.Partner, given&FieldPartner != 0)
	overlayValue(&f.Via, top.Via, given&FieldVia != 0)
	overlayValue(&f.Colours, top.Colours, given&FieldColours != 0)
	overlayValue(&f.Join, top.Join, given&FieldJoin != 0)
	overlayValue(&f.Note, top.Note, given&FieldNote != 0)
	return f
}

func overlayList[T any](below *[]T, top []T, given bool) {
	if len(top) > 0 || given {
		*below = top
	}
}

func overlayValue[T comparable](below *T, top T, given bool) {
	var zero T
	if top != zero || given {
		*below = top
	}
}

// nonZero returns the fields that need no mark in Given.
func (f Facts) nonZero() (all Fields) {
	for _, field := range []struct {
		bit Fields
		set bool
	}{
		{FieldDomains, len(f.Domains) > 0},
		{FieldHosts, len(f.Hosts) > 0},
		{FieldLANPorts, len(f.LANPorts) > 0},
		{FieldNeeds, len(f.Needs) > 0},
		{FieldUses, len(f.Uses) > 0},
		{FieldAliases, len(f.Aliases) > 0},
		{FieldSharedList, f.SharedList},
		{FieldKeys, len(f.Keys) > 0},
		{FieldQuake3, len(f.Quake3) > 0},
		{FieldFiles, len(f.Files) > 0},
		{FieldQuickMatch, !f.QuickMatch.IsZero()},
		{FieldEpic, len(f.Epic) > 0},
		{FieldNamespace, f.Namespace != 0},
		{FieldPartner, f.Partner != 0},
		{FieldVia, f.Via != ""},
		{FieldColours, f.Colours != ""},
		{FieldJoin, f.Join != ""},
		{FieldNote, f.Note != ""},
	} {
		if field.set {
			all |= field.bit
		}
	}
	return all
}

func (f Facts) clone() Facts {
	f.Domains = slices.Clone(f.Domains)
	f.Hosts = slices.Clone(f.Hosts)
	f.LANPorts = slices.Clone(f.LANPorts)
	f.Needs = slices.Clone(f.Needs)
	f.Uses = slices.Clone(f.Uses)
	f.Aliases = slices.Clone(f.Aliases)
	f.Keys = slices.Clone(f.Keys)
	f.Epic = slices.Clone(f.Epic)
	f.Quake3 = slices.Clone(f.Quake3)
	f.Files = slices.Clone(f.Files)
	f.QuickMatch.Maps = slices.Clone(f.QuickMatch.Maps)
	for i := range f.Quake3 {
		f.Quake3[i].Protocols = slices.Clone(f.Quake3[i].Protocols)
	}
	return f
}

// inherit fills missing facts of f from the game that it is an alias of. An
// alias has no aliases.
func (f Facts) inherit(of Facts) Facts {
	if f.Namespace == 0 {
		f.Namespace, f.Partner = of.Namespace, of.Partner
	}
	if len(f.Needs) == 0 && len(f.Uses) == 0 {
		f.Needs, f.Uses = of.Needs, of.Uses
	}
	if len(f.Domains) == 0 {
		f.Domains = of.Domains
	}
	if len(f.Hosts) == 0 {
		f.Hosts = of.Hosts
	}
	if len(f.LANPorts) == 0 {
		f.LANPorts = of.LANPorts
	}
	if f.Via == "" {
		f.Via = of.Via
	}
	if f.Colours == "" {
		f.Colours = of.Colours
	}
	if f.Join == "" {
		f.Join = of.Join
	}
	if len(f.Keys) == 0 {
		f.Keys = of.Keys
	}
	return f
}
