// Package noun names what services share and pages, routes, metrics and texts are about:
// each exists only where a service that is on declares it. The package knows no service.
package noun

// Noun is something that services share.
type Noun string

// The nouns.
const (
	Accounts Noun = "accounts" // of players, who sign in with them
	Chat     Noun = "chat"
	Files    Noun = "files" // that players uploaded
	GameSpy  Noun = "gamespy"
	Keys     Noun = "keys"     // CD keys of products
	Meetings Noun = "meetings" // of players behind routers, by NAT negotiation
	Names    Noun = "names"    // host names that games look up
	News     Noun = "news"     // messages and patches that games show
	Relays   Noun = "relays"   // between players who cannot connect directly
	Rooms    Noun = "rooms"    // group rooms of games
	Stats    Noun = "stats"    // scores, matches and data of players

	WebServices Noun = "webservices" // of games, over HTTP
	Zandronum   Noun = "zandronum"   // its master
)

// Set holds the nouns that exist. In the nil Set all do.
type Set map[Noun]bool

// Has reports whether a noun exists. The empty Noun always does: it is that of things that
// need none.
func (s Set) Has(n Noun) bool { return s == nil || n == "" || s[n] }
