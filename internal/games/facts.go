package games

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
)

// Facts are the peculiarities of a game's online mode. The zero value means
// that none are known: the game looks up the names of the default domain, signs
// in with unique nicks of namespace 1, and its needs are not recorded.
type Facts struct {
	// Under which clients look for services, where it is not gamespy.com; those of
	// games.domains stand beside them.
	Domains []string `yaml:"domains,lower,column" as:"domain" most:"8" alias:"domains"`
	// Further names that clients look up, each with the service that it is for:
	// [master.example.com legacylist]. Such a name leads here only while the service
	// runs; without a service, always.
	Hosts []Host `yaml:"hosts" most:"16" alias:"hosts"`
	// Namespace of the unique nicks that players sign in with; default 1.
	Namespace int `yaml:"namespace,column" range:"0 to 65535" alias:"namespace"`
	// Code of the partner that their accounts belong to.
	Partner int `yaml:"partner" range:"0 to 65535" alias:"namespace"`
	// Where game servers answer on a local network, in place of port.
	LANPorts []uint16 `yaml:"lan_ports,column" range:"1 to 65535" most:"8" alias:"lan_ports"`
	// Services without which the game cannot be played online.
	Needs []Service `yaml:"needs,unique,column" as:"service" most:"16" alias:"needs, uses"`
	// Further services that it asks and can be played without.
	Uses []Service `yaml:"uses,unique,column" as:"service" most:"16" alias:"needs, uses"`
	// Further steps for a player beside DNS; missing: none.
	Via string `yaml:"via" as:"text" alias:"via"`
	// Lines of settings files that lead the game to a server, in place of those with the same
	// beginning; {address} stands for the address of the server. [{file: game.ini, section:
	// Master, line: "MasterServerAddress={address}"}]
	Settings []Setting `yaml:"settings" most:"8" alias:"settings"`
	// Link that starts the game of a player and joins a server, with {address} in place
	// of host and port: steam://connect/{address}.
	Join string `yaml:"join" as:"join" alias:"join"`
	// Other names of the same game: regional builds, demos. What an alias does not state
	// itself it has from this record. Players of both meet in NAT negotiation. An alias
	// belongs to one record and has no aliases of its own.
	Aliases []string `yaml:"aliases,lower,unique" as:"name" most:"32"`
	// What players call the game beside its title, where that does not follow from it. Spaces
	// and case do not matter. [ut99, utgoty]
	Called []string `yaml:"called,lower,unique,column" as:"text" max:"40" most:"32"`
	// on: the servers of the game and its aliases are in one list, whichever name it is
	// asked under. For names that can join each other's servers; otherwise each has its
	// own list. Each keeps the secret of its own name.
	SharedList bool `yaml:"shared_list"`
	// Codes that names of servers and players may have; pages show them as colours:
	// quake (^1), doom (\cg), unreal (the byte 1B and three of a colour) or swat
	// ([c=FF0000]).
	Colours string `yaml:"colours" words:"quake, doom, unreal, swat" alias:"colours"`
	// A remark for operators.
	Note string `yaml:"note" as:"text"`
	// Types of keys in server lists: ":1" and ":2" behind numbers of one and two bytes,
	// nothing behind texts: [hostname, numplayers:1]. Others have the type that their
	// values allow.
	Keys []Key `yaml:"keys,column" most:"64" alias:"keys"`
	// Names at the Quake 3 master, and with idmaster, codmaster or nwmaster in needs or
	// uses at that one. [{name: wolfmp, tag: Wolfenstein-1, protocols: [57, 60]}]
	Quake3 []Quake3 `yaml:"q3" most:"8"`
	// Files that the game loads over HTTP (webservices). [{path: "/news/*.txt", is: motd},
	// {path: /ads, text: ""}]
	Files []File `yaml:"files,unique" most:"16"`
	// Automatic match through a program in a chat room. {room: QuickMatch, nick: Bot,
	// profile: 7, maps: [one, two]}
	QuickMatch QuickMatch `yaml:"quickmatch"`
	// How clients and servers sign in to a master in the form of Epic's. [{word: UT2K4,
	// versions: [3000, 3999]}]
	Epic []Epic `yaml:"epic" most:"8"`
	// The copies of the game as they were sold, with what is known of playing them online.
	// Evidence has a source. [{copies: [retail, gog], way: dns, peer: ..., evidence: ...,
	// source: ...}, {copy: steam, elsewhere: Steam, since: 2014-05}]
	Editions []Edition `yaml:"editions,count" most:"16"`
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

func (h *Host) parse(text string) error {
	name, service := text, ""
	if i := strings.IndexAny(text, " ="); i >= 0 { // =, in tables
		name, service = text[:i], text[i+1:]
	}
	*h = Host{Name: ascii.ToLower(name), Service: Service(strings.TrimSpace(service))}
	return nil
}

func (h *Host) rules(bad func(string, ...any)) {
	if !validDomain(h.Name) {
		bad("the name must " + domainRule)
	}
}

// Setting is a line of a settings file of a game.
type Setting struct {
	// As players find it, from the folder of the game.
	File string `yaml:"file,required" as:"text" max:"80"`
	// The heading above it; missing: there is none.
	Section string `yaml:"section" as:"text" max:"80"`
	// {address} stands for the address of the server.
	Line string `yaml:"line,required" as:"text"`
}

// SettingsFor returns the settings with the address of a server, as lines that players read.
func (f Facts) SettingsFor(at netip.Addr) (lines []string) {
	before := ""
	for _, s := range f.Settings {
		where := "In " + s.File
		if s.Section != "" {
			where += ", below [" + s.Section + "]"
		}
		if where != before {
			lines = append(lines, where+":")
		}
		before = where
		lines = append(lines, strings.ReplaceAll(s.Line, JoinAddress, at.String()))
	}
	return lines
}

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

func (k *Key) parse(text string) error {
	name, kind, typed := strings.Cut(text, ":")
	n := strings.Index("012", kind)
	if typed && (n < 0 || len(kind) != 1) {
		return fmt.Errorf("must have the type 0, 1 or 2, not %q", shorten(text))
	}
	*k = Key{Name: name, Type: uint8(n)}
	return nil
}

func (k *Key) rules(bad func(string, ...any)) {
	if reason := visibleWord(k.Name, maxKeyName); reason != "" {
		bad("the name %s", reason)
	}
	if k.Type > 2 {
		bad("the type must be 0, 1 or 2")
	}
}

// maxKeyName bounds the key of a server, a room or a board, in bytes.
const maxKeyName = 64

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

const domainRule = "be a host name of two labels or more, each of 1 to 63 letters, digits and hyphens, without wildcards"
