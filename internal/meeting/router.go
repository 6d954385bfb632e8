package meeting

import "github.com/respawnd/respawnd/internal/lang"

// Router describes the router between a player and the internet: how it maps ports, and which
// senders it lets in. It says more than a Kind, which the server alone can find out.
type Router uint8

// The routers, the most open first.
const (
	RouterUnknown  Router = iota
	NoRouter              // none, and no filter
	Firewall              // no translation of addresses, but only answers get in
	FullCone              // one port for all partners, open to all senders
	Restricted            // one port, open to addresses that were written to
	PortRestricted        // one port, open to addresses and ports that were written to
	EachItsOwn            // another port for each partner: symmetric

	RouterKinds = 7
)

var routerNames = [RouterKinds]string{"unknown", "none", "firewall", "full_cone", "restricted", "port_restricted", "symmetric"}

// String returns the name in JSON.
func (r Router) String() string { return routerNames[r%RouterKinds] }

// MarshalText implements encoding.TextMarshaler.
func (r Router) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Routers returns all that are known, the most open first.
func Routers() []Router {
	return []Router{NoRouter, Firewall, FullCone, Restricted, PortRestricted, EachItsOwn}
}

// Words describe a Router to a player.
type Words struct {
	Name    string // in a few words
	Hosting string // a sentence
	Joining string // a sentence
	Advice  string // advice; empty: nothing to change
}

const forward = "In the router, forward the game's UDP port to this computer, or let games do that themselves (UPnP). "

var routerWords = [RouterKinds]Words{
	RouterUnknown: {
		Name:    "not known",
		Hosting: "Whether others reach a server here is not known.",
		Joining: "Servers that are reached directly can be joined; of others it is not known.",
		Advice:  "Run the full test on the computer that plays: respawnd check-nat.",
	},
	NoRouter: {
		Name:    "no router and no filter",
		Hosting: "Everyone can join a server here directly.",
		Joining: "Every server that anyone can join can be joined from here.",
	},
	Firewall: {
		Name:    "a filter, but no translation of addresses",
		Hosting: "Others join a server here by NAT negotiation, if the game has it. Players whose routers use another port for each partner need the relay.",
		Joining: "Servers can be joined, those behind a symmetric router through the relay.",
		Advice:  "Allow the game, or its UDP port, in the firewall of this computer and of the router; then everyone joins directly.",
	},
	FullCone: {
		Name:    "router, open to all (full cone)",
		Hosting: "Everyone can join a server here by NAT negotiation. Games without it need a forwarded port.",
		Joining: "Every server that anyone can join can be joined from here.",
	},
	Restricted: {
		Name:    "router, open to known addresses (restricted)",
		Hosting: "Others join a server here by NAT negotiation, if the game has it. Without it, players do not get in.",
		Joining: "Every server with NAT negotiation or a forwarded port can be joined from here.",
		Advice:  forward + "Then everyone joins directly.",
	},
	PortRestricted: {
		Name:    "router, open to known ports (port restricted)",
		Hosting: "Most players join a server here by NAT negotiation, if the game has it. Those with a symmetric router need the relay.",
		Joining: "Most servers can be joined; those behind a symmetric router through the relay.",
		Advice:  forward + "Then everyone joins directly.",
	},
	EachItsOwn: {
		Name:    "router, another port for each partner (symmetric)",
		Hosting: "Few players join a server here by NAT negotiation; most need the relay.",
		Joining: "Servers with a forwarded port can be joined, most others through the relay.",
		Advice: forward + "If the router has a setting such as full cone NAT, open NAT or gaming mode, switch it on. " +
			"With mobile internet, and where the provider shares one address among customers, only another line or the relay helps.",
	},
}

// In returns the words in a language.
func (w Words) In(l *lang.Language) Words {
	return Words{l.T(w.Name), l.T(w.Hosting), l.T(w.Joining), l.T(w.Advice)}
}

// Words returns the words for players.
func (r Router) Words() Words { return routerWords[r%RouterKinds] }

// Kind returns the part of a Router that the server sees.
func (r Router) Kind() Kind {
	switch r {
	case NoRouter, Firewall:
		return Open
	case FullCone, Restricted, PortRestricted:
		return Cone
	case EachItsOwn:
		return Symmetric
	default:
		return Unknown
	}
}

// Is reports whether a router of which the server saw a kind may be r.
func (r Router) Is(k Kind) bool {
	if k == Strict {
		return r == Firewall || r == PortRestricted || r == EachItsOwn
	}
	return k != Unknown && r.Kind() == k
}

// Pair returns how two players with these routers reach each other; Unreported if one
// of them is not known. Relayed means that only a relay helps.
func Pair(a, b Router) Way {
	a, b = min(a, b), max(a, b)
	switch {
	case a == RouterUnknown || b >= RouterKinds:
		return Unreported
	case a == NoRouter:
		return Direct
	case b == EachItsOwn && (a == Firewall || a == PortRestricted || a == EachItsOwn):
		return Relayed // its port for this partner is known only to one that it has reached
	default:
		return Negotiated
	}
}
