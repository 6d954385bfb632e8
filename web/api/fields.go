package api

import (
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/master"
)

// field is a member of a server in JSON. They are written in this order.
type field uint8

const (
	fieldID             field = iota // "qr2-192.0.2.1-6500": origin, address, query port
	fieldGame                        // name in the catalogue
	fieldTitle                       // title of the game
	fieldOrigin                      // how it came into the list: qr2, qr1, zandronum, ...
	fieldVia                         // name of the master that it is known from; left out if it reports here
	fieldVouched                     // with via: listed on the word of that master, without a query of our own
	fieldQuery                       // protocol in which it answers queries; left out if unknown
	fieldName                        // its rule hostname without colour codes
	fieldAddress                     // host and query port, as the asker is given them
	fieldHost                        // the first part of the address
	fieldPort                        // the second
	fieldJoin                        // link that starts the game and joins it; left out if there is none
	fieldGamePort                    // its rule hostport, left out if it is no port
	fieldMap                         // its rule mapname
	fieldType                        // its rule gametype
	fieldPlayers                     // its rule numplayers, or the length of its list of players
	fieldMaxPlayers                  // its rule maxplayers; 0 if unknown
	fieldPassword                    // whether its rule password says so
	fieldCountry                     // of its address; "" if unknown
	fieldRegion                      // of its address; "" if unknown
	fieldReachable                   // whether players are to query and join it directly
	fieldReached                     // how players get to it: direct, perhaps, negotiated, no, unknown
	fieldJoinable                    // how players join it: direct, negotiated, relayed, no, unknown
	fieldNATNegotiation              // whether it can be reached through NAT negotiation
	fieldFirstSeen                   // when it came into the list, RFC 3339, UTC
	fieldLastSeen                    // when it was heard last
	fieldRules                       // names and values as strings
	fieldPlayerList                  // with full, or if it is asked for: one object of strings per player
	fieldTeamList                    // the same for teams
	fields
)

// String returns the name of the member.
func (f field) String() string {
	return [fields]string{
		"id", "game", "title", "origin", "via", "vouched", "query", "name", "address", "host", "port", "join", "game_port", "map", "type", "players", "max_players",
		"password", "country", "region", "reachable", "reached", "joinable", "nat_negotiation", "first_seen", "last_seen", "rules",
		"player_list", "team_list",
	}[f]
}

type fieldSet uint32

func (s fieldSet) has(f field) bool { return s>>f&1 == 1 }

func fieldNames() []string {
	out := make([]string, fields)
	for f := range fields {
		out[f] = f.String()
	}
	return out
}

// fields reads the names of fields; missing or empty means all.
func (p Params) fields() (set fieldSet, err error) {
	if p["fields"] == "" {
		return 0, nil
	}
	for name := range strings.SplitSeq(p["fields"], ",") {
		f := field(0)
		for f < fields && f.String() != name {
			f++
		}
		if f == fields {
			return 0, badParam("fields", "%q is not a field; known are: %s", clean.Line(name, 40), strings.Join(fieldNames(), ","))
		}
		set |= 1 << f
	}
	return set, nil
}

// appendChosen writes some members of a server.
func (e *encoder) appendChosen(r *Row, chosen fieldSet) {
	at := e.asker.Given(r.Public)
	b, first := append(e.buf, '{'), true
	for f := range fields {
		if !chosen.has(f) || r.lacks(f) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = e.appendField(b, f, r, at)
	}
	e.buf = append(b, '}')
}

// lacks reports whether a member is left out of the server.
func (r *reading) lacks(f field) bool {
	switch f {
	case fieldGamePort:
		return r.GamePort == 0
	case fieldJoin:
		return !r.joins(r.Public)
	case fieldVia, fieldVouched:
		return r.Origin != master.Federated
	case fieldQuery:
		return r.QueryProtocol() == ""
	default:
		return false
	}
}

// appendField writes a member of a server whose address is given as at.
func (e *encoder) appendField(b []byte, f field, r *Row, at netip.AddrPort) []byte {
	b = append(b, '"')
	b = append(b, e.names[f]...)
	b = append(b, '"', ':')
	switch f {
	case fieldGame:
		return appendString(b, r.Game)
	case fieldTitle:
		return appendString(b, r.Title)
	case fieldName:
		return appendString(b, r.Name)
	case fieldVia:
		return appendString(b, r.Told)
	case fieldVouched:
		return strconv.AppendBool(b, r.Vouched)
	case fieldMap:
		return appendString(b, r.Map)
	case fieldType:
		return appendString(b, r.Type)
	case fieldCountry:
		return appendString(b, r.Country)
	case fieldRegion:
		return appendString(b, r.Region)
	case fieldPort:
		return strconv.AppendUint(b, uint64(at.Port()), 10)
	case fieldGamePort:
		return strconv.AppendUint(b, uint64(r.GamePort), 10)
	case fieldPlayers:
		return strconv.AppendInt(b, int64(r.Count), 10)
	case fieldMaxPlayers:
		return strconv.AppendInt(b, int64(r.MaxPlayers), 10)
	case fieldPassword:
		return strconv.AppendBool(b, r.Password)
	case fieldReachable:
		return strconv.AppendBool(b, r.Direct())
	case fieldNATNegotiation:
		return strconv.AppendBool(b, r.NATNeg)
	case fieldRules:
		return e.appendRules(b, r.Rules)
	case fieldPlayerList:
		return e.appendTable(b, r.Players)
	case fieldTeamList:
		return e.appendTable(b, r.Teams)
	default:
		b = append(b, '"')
		return append(appendWord(b, f, r, at), '"')
	}
}

// appendWord writes a value that needs no escapes, without its quotes.
func appendWord(b []byte, f field, r *Row, at netip.AddrPort) []byte {
	switch f {
	case fieldID:
		return master.AppendID(b, r.Origin.Name, r.Public)
	case fieldOrigin:
		return append(b, r.Origin.String()...)
	case fieldAddress:
		return at.AppendTo(b)
	case fieldHost:
		return at.Addr().AppendTo(b)
	case fieldQuery:
		return append(b, r.QueryProtocol()...)
	case fieldJoin:
		return r.AppendJoin(b, at)
	case fieldReached:
		return append(b, r.Findings.Reached.String()...)
	case fieldJoinable:
		return append(b, r.Joinable().String()...)
	case fieldFirstSeen:
		return r.First.UTC().AppendFormat(b, time.RFC3339)
	default:
		return r.Last.UTC().AppendFormat(b, time.RFC3339)
	}
}
