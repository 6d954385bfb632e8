package web

import (
	"net/netip"
	"time"
)

// Config is section web of the configuration. The comment of each field explains
// its key.
type Config struct {
	// TCP address, plain HTTP. For HTTPS put a proxy in front.
	Listen string `key:"listen" default:":8080" listen:"tcp 8080"`
	// Address under which the outside reaches these pages, http or https, such as
	// https://servers.example.org. Used in links. Empty: links are relative.
	PublicURL string `key:"public_url" as:"publicurl"` // empty, or http(s)://host[:port][/path] without a final slash
	// IPv4 address that the pages show to players, in lines for hosts files.
	// Empty: that of public_url's host, else the one that the visitor reached.
	GameAddress netip.Addr `key:"game_address"` // IPv4; zero: found out
	// Name of your site on all pages, one line of at most 200 bytes. Empty:
	// respawnd.
	Title string `key:"title" as:"line" live:"true"`
	// Contact for players who need help: an e-mail address, a web address or any line of at
	// most 200 bytes. All pages show it, that for forgotten passwords too. Empty:
	// nothing is shown.
	Contact string `key:"contact" as:"line" live:"true"`
	// Message on the first page, plain text of at most 2000 bytes.
	Message string `key:"message" as:"paragraph" live:"true"`
	// Links on all pages, such as your Discord and your rules: a list, at most 256
	// entries; in the environment, the same as one line of YAML. An entry has title
	// and url, which begins with https://, http:// or mailto:
	//   - {title: Discord, url: "https://discord.example/invite"}
	Links []Link `key:"links" live:"true"`
	// Folder with pictures of games, GAME.png, .jpg, .gif or .webp, of at most 256 KiB
	// each and 1,024 files. A reload reads it again. Empty: there are none.
	Pictures string `key:"pictures" as:"text" live:"true"`
	// Players make and change their accounts on the pages, true or false. Without
	// HTTPS, passwords can be read on the way; the pages say so.
	Accounts bool `key:"accounts" default:"true" live:"true"`
	// Forms of account pages that one address may send per minute, {range}. 0: no
	// bound.
	Forms int `key:"forms" default:"60" range:"0 to 1000000" live:"true"`
	// Accounts that one address may make on the pages per minute, {range}. 0: no
	// bound.
	Registrations int `key:"registrations" default:"20" range:"0 to 1000000" live:"true"`
	// Open connections, {range}. Each needs a file descriptor.
	MaxConns int `key:"max_conns" default:"8192" range:"1 to 1000000"`
	// Open connections from one address, {range}.
	MaxPerAddr int `key:"max_per_addr" default:"256" range:"1 to 1000000"`
	// Time for the head of a request to arrive, {range}.
	RequestTime time.Duration `key:"request_time" default:"5s" range:"1s to 1m"`
	// Requests per second from one address, {range}. 0: no bound.
	Rate int `key:"rate" default:"100" range:"0 to 1000000" live:"true"`
	// Requests that one address may send at once before the rate applies, {range}.
	Burst int `key:"burst" default:"1000" range:"1 to 1000000" live:"true"`
	// Networks of your proxies, at most 256. Only from these is a visitor's
	// address (X-Forwarded-For) accepted. Empty: from none.
	TrustedProxies []netip.Prefix `key:"trusted_proxies" live:"true"` // masked
	// Open streams of /api/v1/events, {range}. A thousand take about 30 MiB.
	MaxStreams int `key:"max_streams" default:"4096" range:"1 to 1000000" live:"true"`
	// Open streams from one address, {range}.
	MaxStreamsPerAddr int `key:"max_streams_per_addr" default:"64" range:"1 to 1000000" live:"true"`
}
