package api

import (
	"errors"
	"net/netip"
	"strings"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/master"
)

// filter narrows a list. The zero filter passes all servers.
type filter struct {
	players  int  // at least
	open     bool // without password
	joinable master.JoinableSet
	country  string     // ISO 3166 alpha-2, in upper case; empty: any
	host     netip.Addr // as the asker is given it; zero: any
	port     uint16     // of queries or of the game; 0: any
	player   string     // a part of a player's name, in lower case; empty: any
}

// filter reads the parameters that narrow a list.
func (p Params) filter() (f filter, err error) {
	var errs [6]error
	var peopled bool
	f.players, errs[0] = p.between("players", 0, 0, master.MaxPopulation)
	peopled, errs[1] = p.Flag("peopled")
	f.open, errs[2] = p.Flag("open")
	f.player, errs[3] = p.text("player")
	f.country, errs[4] = p.country()
	f.joinable, errs[5] = p.Joinable()
	if err := errors.Join(errs[:]...); err != nil {
		return f, err
	}
	if peopled {
		f.players = max(f.players, 1)
	}
	f.host, f.port, err = p.address()
	return f, err
}

// Joinable reads the ways of joining, separated by commas; missing or empty means all.
func (p Params) Joinable() (master.JoinableSet, error) {
	set, bad, ok := master.ParseJoinables(p["joinable"])
	if !ok {
		return 0, badParam("joinable", "%q is not a way of joining; known are: %s", clean.Line(bad, 40), strings.Join(master.JoinableNames(), ","))
	}
	return set, nil
}

// country reads the code of a country, in upper case; missing or empty means any.
func (p Params) country() (string, error) {
	code := strings.ToUpper(p["country"])
	letters := strings.TrimFunc(code, func(r rune) bool { return r >= 'A' && r <= 'Z' }) == ""
	if code != "" && (len(code) != 2 || !letters) {
		return "", badParam("country", "must be the two letters of a country, such as NZ")
	}
	return code, nil
}

// address reads an address with or without port; missing or empty means any.
func (p Params) address() (host netip.Addr, port uint16, err error) {
	text := p["address"]
	if text == "" {
		return host, 0, nil
	}
	if host, err = netip.ParseAddr(text); err == nil && host.Zone() == "" {
		return host.Unmap(), 0, nil
	}
	both, err := netip.ParseAddrPort(text)
	if err != nil || both.Port() == 0 || both.Addr().Zone() != "" {
		return host, 0, badParam("address", "must be an IP address, with or without port, such as 192.0.2.1 or 192.0.2.1:6500")
	}
	return both.Addr().Unmap(), both.Port(), nil
}

// passes reports whether a server passes. Comparisons that cost most come last. fixed:
// the asker is given all addresses as they are.
func (f *filter) passes(r *Row, asker advertise.Asker, fixed bool) bool {
	b := &r.brief
	switch {
	case int(b.players) < f.players, f.open && !b.open, !f.joinable.Has(b.joinable), f.country != "" && string(b.country[:]) != f.country:
		return false
	case f.host.IsValid() && !f.isAt(r, asker, fixed):
		return false
	}
	return f.player == "" || r.HasPlayer(f.player)
}

// isAt reports whether a server has the address. Only the address that the asker is
// given counts, so that nothing is learnt about others.
func (f *filter) isAt(r *Row, asker advertise.Asker, fixed bool) bool {
	if (fixed || !r.brief.private) && f.host.Is4() && r.brief.rank&(addressRank&^0xFFFF) != rankOf(master.MaxPopulation, netip.AddrPortFrom(f.host, 0)) {
		return false // most servers
	}
	given := asker.Given(r.Public)
	return given.Addr().Unmap() == f.host && (f.port == 0 || f.port == given.Port() || f.port == r.GamePort)
}

// apply returns the rows that pass, in the same order. The slice may be the one
// that was given.
func (f filter) apply(rows []*Row, asker advertise.Asker) []*Row {
	if f == (filter{}) {
		return rows
	}
	var found []*Row
	fixed := asker == (advertise.Asker{})
	for _, r := range rows {
		if f.passes(r, asker, fixed) {
			found = append(found, r)
		}
	}
	return found
}
