package natcheck

import (
	"net/netip"
	"slices"

	"github.com/respawnd/respawnd/internal/meeting"
)

// carrierNet is the range of providers' own networks, RFC 6598.
var carrierNet = netip.MustParsePrefix("100.64.0.0/10")

// conclude fills in the conclusions from the answers.
func (r *Report) conclude() {
	r.Translated = r.Public.Addr() != r.Local.Addr()
	r.KeepsPort = r.Public.Port() == r.Local.Port()
	r.Carrier = r.Translated && (carrierNet.Contains(r.Public.Addr()) || r.Public.Addr().IsPrivate())
	public := make(map[netip.Addr]bool)
	for _, s := range r.Seen {
		public[s.At.Addr()] = true
	}
	r.Addresses = len(public)
	r.Mapping = r.mapping()
	if r.Mapping == MapsEach {
		r.Step = r.step()
	}
	r.Router = r.router()
	if r.Filter == LetsAtLeast {
		r.CannotTell = append(r.CannotTell, "whether strangers get in: the server has no further address to ask from (natneg.extra_listen)")
	}
	if r.Mapping == MapsOnce && !r.severalServers() {
		r.CannotTell = append(r.CannotTell, "whether the public port is another one for another address: only one of the server was asked")
	}
}

// severalServers reports whether more than one IP address of the server was asked.
func (r *Report) severalServers() bool {
	return slices.ContainsFunc(r.Seen, func(s Seen) bool { return s.From.Addr() != r.Seen[0].From.Addr() })
}

func (r *Report) mapping() Mapping {
	for _, s := range r.Seen[1:] {
		if s.At != r.Public {
			return MapsEach
		}
	}
	switch {
	case !r.Translated && r.KeepsPort:
		return MapsNothing
	case len(r.Seen) > 1:
		return MapsOnce
	default:
		return MappingUnknown
	}
}

// maxStep is the largest distance of two ports that counts as a step.
const maxStep = 20

// step returns the steady distance of the public ports, 0 if there is none.
func (r *Report) step() (step int) {
	for i, s := range r.Seen[1:] {
		d := int(s.At.Port()) - int(r.Seen[i].At.Port())
		if d == 0 || d > maxStep || d < -maxStep || (i > 0 && d != step) || r.Addresses > 1 {
			return 0
		}
		step = d
	}
	return step
}

// router returns the kind of router. Routers with another port for each partner let in
// that partner alone, so one that lets in more maps once, even if that was not tested.
func (r *Report) router() meeting.Router {
	open := r.Filter == LetsAllIn || r.Filter == LetsAtLeast
	switch {
	case r.Mapping == MapsEach:
		return meeting.EachItsOwn
	case !r.Translated && open:
		return meeting.NoRouter
	case !r.Translated && r.Filter != FilterUnknown:
		return meeting.Firewall
	case !r.Translated:
		return meeting.RouterUnknown
	case r.Filter == LetsAllIn:
		return meeting.FullCone
	case r.Filter == LetsAddressesIn, r.Filter == LetsAtLeast:
		return meeting.Restricted
	case r.Filter == LetsPortsIn && r.Mapping == MapsOnce:
		return meeting.PortRestricted
	default:
		return meeting.RouterUnknown
	}
}

// Finding is a property in words.
type Finding struct{ What, Found string }

// Findings returns the properties in words, for people.
func (r *Report) Findings() []Finding {
	translation := "yes: this computer is " + r.Local.String() + " here"
	if !r.Translated {
		translation = "none"
	}
	list := []Finding{
		{"public address", r.Public.String()},
		{"address translation", translation},
		{"public port", r.portWords()},
		{"keeps port numbers", map[bool]string{true: "yes", false: "no"}[r.KeepsPort]},
		{"lets in", r.filterWords()},
		{"own public address", r.hairpinWords()},
	}
	for _, text := range r.CannotTell {
		list = append(list, Finding{"cannot be told", text})
	}
	if r.Carrier {
		list = append(list, Finding{"provider", "the public address is private or shared: there is a second router, of your provider or your own, and forwarding a port in yours is not enough"})
	}
	return list
}

func (r *Report) portWords() string {
	switch {
	case r.Mapping == MappingUnknown:
		return "not tested: no other address or port of the server answered"
	case r.Addresses > 1:
		return "several public addresses, by partner"
	case r.Mapping == MapsEach && r.Step != 0:
		return "another one for each partner, in steps that can be foreseen"
	case r.Mapping == MapsEach:
		return "another one for each partner"
	default:
		return "the same for all that were asked, " + counted(len(r.Seen))
	}
}

func counted(n int) string {
	return [...]string{"", "one", "two", "three", "four"}[n]
}

func (r *Report) filterWords() string {
	switch r.Filter {
	case LetsAllIn:
		return "everyone: an address that was never written to gets in"
	case LetsAddressesIn:
		return "addresses that were written to, from every port"
	case LetsAtLeast:
		return "other ports of an address that was written to; other addresses are not tested"
	case LetsPortsIn:
		return "only answers: from addresses and ports that were written to"
	default:
		return "not tested: the server cannot, or its tests were lost"
	}
}

func (r *Report) hairpinWords() string {
	switch r.Hairpin {
	case Yes:
		return "leads back: players behind this router can use it for a server here"
	case No:
		return "does not lead back: players behind this router need the server's local address"
	default:
		return "is the computer's own"
	}
}
