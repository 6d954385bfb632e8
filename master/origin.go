package master

// Origin is the way in which a server came into the list, and with it what others need to know
// of servers of its kind. A protocol declares its own as a variable and names it in its
// Descriptor; nothing outside the protocol names it. Two origins are the same if they are the same
// variable. This package has those that are of no protocol. An Origin is not modified.
type Origin struct {
	// Name is how logs, JSON, ids of servers and the store spell it, such as "qr2". It never
	// changes.
	Name string
	// Number is its number in messages between nodes, plus one. An origin without one is sent by
	// name: no new one needs a number.
	Number byte
	// Story tells players how its servers came into the list, in a sentence. Source does so in
	// few words; empty: "reported here".
	Story, Source string

	// Query is the protocol in which its servers answer queries, such as "gs3". Empty: each
	// has its own, Server.Query.
	Query string
	// QueryRule is a rule that only those have which answer queries. Empty: all do.
	QueryRule string
	// AtSource reports that its servers are queried at the address that they report from, not
	// at their public one.
	AtSource bool
	// Keeps are rules that reports set, and that stay although a query has others. They matter
	// if the Descriptor has AskEvery.
	Keeps []string
	// Claim is set for servers that a service.Asker lists while they answer, the reason to do so.
	Claim Claim

	// Catalogued reports that a server names its game in a way that proves that the catalogue
	// has it. Saved ones of games that it lacks are not restored.
	Catalogued bool
	// Beside reports that its servers do not prove that they know the key of their game, see
	// games.Catalog.ListedAs.
	Beside bool
	// Colours are the colour codes in names, as the catalogue spells them, of games that name
	// none.
	Colours string
	// Notes is the name under which verdicts on its servers are noted. Empty: that of the
	// service.
	Notes string
	// Seconds reports that times of players are in seconds, not in minutes.
	Seconds bool
	// Profiles reports that the numbers of players in its column pid_ are those of profiles that
	// have signed in. Servers of other origins may state any.
	Profiles bool
}

// Claim is a reason for which a service.Asker lists a server, the weakest first: one with several
// is of the origin with the strongest.
type Claim uint8

// The claims.
const (
	NoClaim     Claim = iota
	ClaimTold         // another master lists the server
	ClaimFound        // it was found
	ClaimReport       // it reports here
	ClaimNamed        // an operator named it

	Claims = 5
)

// The origins that belong to no protocol.
var (
	// Static servers were named by an operator.
	Static = &Origin{Name: "static", Number: 6, Story: "The operator added it.", Source: "added by the operator", Claim: ClaimNamed}
	// Found servers were found on the local network.
	Found = &Origin{Name: "lan", Number: 5, Story: "It was found on the local network.", Source: "found on the local network", Claim: ClaimFound}
	// Federated servers are known from another master. Their records give way to all
	// others, and are not saved.
	Federated = &Origin{Name: "federated", Number: 8, Claim: ClaimTold}
)

// String returns the name of the origin, "unknown" for nil.
func (o *Origin) String() string {
	if o == nil {
		return "unknown"
	}
	return o.Name
}

// Origins are those of the servers that a daemon lists.
type Origins []*Origin

// Named returns the origin with a name, nil if there is none.
func (o Origins) Named(name string) *Origin {
	return o.find(func(one *Origin) bool { return one.Name == name })
}

// Numbered returns the origin with a Number, nil if there is none.
func (o Origins) Numbered(n byte) *Origin {
	return o.find(func(one *Origin) bool { return n != 0 && one.Number == n })
}

func (o Origins) find(is func(*Origin) bool) *Origin {
	for _, one := range o {
		if is(one) {
			return one
		}
	}
	return nil
}
