package bfhq

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/storage"
)

// Round is the report of a server at the end of a round.
type Round struct {
	Mark

	Server    netip.AddrPort
	Start     time.Time
	Map, Mode int64 // -1: none of those that pages have
	Winner    int64 // team; 0: none
	Players   []*Participant
	rules     *rules
	pairs     []stats.Pair
}

// Participant is a player of a round.
type Participant struct {
	Profile storage.ProfileID
	Name    string // with a tag in front, if the player has one
	Robot   bool
	// Counts is set if the round counts for the player.
	Counts bool

	number  int // in the keys of the list
	values  map[string]int64
	awards  []Award // without time
	victims []Foe
	killers []Foe
}

// maxValue bounds the amount that one round adds to a total.
const maxValue = 10_000_000

// number returns the whole number in a value, which may have a fraction; 0 if there is none.
func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(f) {
			return 0
		}
		n = int64(min(max(f, -maxValue), maxValue))
	}
	return min(max(n, -maxValue), maxValue)
}

// seconds returns the Unix time in a value, 0 if there is none.
func seconds(s string) int64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f > 0 && f <= math.MaxUint32) {
		return 0
	}
	return int64(f)
}

// newRound returns the round that a server reports, by the rules of its game.
func newRound(by *rules, server netip.Addr, pairs []stats.Pair) (*Round, error) {
	m := stats.Decode(pairs)
	if len(m.Players) > maxPlayers {
		return nil, errPlayers
	}
	head := stats.Group{Pairs: m.Server}
	start, end := seconds(head.Get("mapstart")), seconds(head.Get("mapend"))
	if start == 0 || end < start {
		return nil, errSnapshot
	}
	r := &Round{
		Mark: Mark{roundID(server, &head), uint32(end)}, Start: time.Unix(start, 0), Map: -1, Mode: -1,
		Winner: number(head.Get("win")), rules: by, pairs: pairs,
	}
	port := number(head.Get("gameport"))
	r.Server = netip.AddrPortFrom(server, uint16(min(max(port, 0), math.MaxUint16)))
	if n := number(cmp.Or(head.Get("mapid"), head.Get("m"))); slices.Contains(by.maps, int(n)) {
		r.Map = n
	}
	if n := number(head.Get("gm")); n >= 0 && n <= 2 {
		r.Mode = n
	}
	known := make(map[storage.ProfileID]*Participant, len(m.Players))
	for _, g := range m.Players {
		p := newParticipant(by, &g)
		switch {
		case p == nil:
		case known[p.Profile] != nil:
			known[p.Profile].merge(p) // the player left and came back
		default:
			known[p.Profile] = p
			r.Players = append(r.Players, p)
		}
	}
	for _, p := range r.Players {
		for _, v := range p.victims {
			if victim := known[v.Profile]; victim != nil {
				victim.killers = addFoe(victim.killers, p.Profile, v.Kills)
			}
		}
	}
	return r, nil
}

// roundID returns the number of a round: a hash of its content, so that the same round has the
// same number whenever, and through whichever service and node, it is sent.
func roundID(server netip.Addr, head *stats.Group) uint64 {
	h := sha256.New()
	_, _ = h.Write([]byte(server.String()))
	for _, key := range []string{"gameport", "mapid", "mapname", "mapstart"} {
		_, _ = h.Write([]byte("\\" + key + "\\" + head.Get(key)))
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// newParticipant returns a player of a round, nil for one without a profile.
func newParticipant(by *rules, g *stats.Group) *Participant {
	id, err := strconv.ParseUint(cmp.Or(g.Get("pID"), g.Get("pid")), 10, 32)
	if err != nil || id == 0 || id > storage.MaxAccountID {
		return nil
	}
	p := &Participant{Profile: storage.ProfileID(id), number: g.Number, values: make(map[string]int64, len(g.Pairs))}
	victim := storage.ProfileID(0)
	for _, pair := range g.Pairs {
		n := number(pair.Value)
		switch pair.Key {
		case "name", "nick":
			p.Name = strings.TrimSpace(pair.Value)
		case "ai":
			p.Robot = n != 0
		case keyVictims:
			if foes, ok := parseFoes(pair.Value); ok {
				p.victims = foes
			}
		case "mvns":
			v, _ := strconv.ParseUint(pair.Value, 10, 32)
			victim = storage.ProfileID(v)
		case "mvks":
			if victim != 0 && victim != p.Profile && len(p.victims) < maxPlayers {
				p.victims = addFoe(p.victims, victim, n)
			}
			victim = 0
		default:
			if award, ok := by.awards[strings.TrimPrefix(pair.Key, "medal")]; ok && n > 0 {
				p.awards = append(p.awards, Award{ID: award, Level: int(n)})
				continue
			}
			p.values[pair.Key] = n
		}
	}
	return p
}

// merge adds a later part of the same round.
func (p *Participant) merge(later *Participant) {
	for key, n := range later.values {
		switch key {
		case "t", "a", "c", "rank", "rnk":
			p.values[key] = n
		case "ks", "ds", "klstrk", "dstrk":
			p.values[key] = max(p.values[key], n)
		default:
			p.values[key] += n
		}
	}
	p.awards = append(p.awards, later.awards...)
	for _, v := range later.victims {
		p.victims = addFoe(p.victims, v.Profile, v.Kills)
	}
}

// named reports whether the name of a player in a round is a nick, with a tag in front or
// without.
func (p *Participant) named(nick string) bool {
	name := p.Name
	if i := strings.LastIndexByte(name, ' '); i >= 0 {
		name = name[i+1:]
	}
	return p.Name == "" || storage.Fold(name) == storage.Fold(nick) || storage.Fold(p.Name) == storage.Fold(nick)
}

// unkept are keys of players that no total needs. Addresses are among them.
var unkept = map[string]bool{
	"ip": true, "tmkl": true, "tmdg": true, "tmvd": true, "tvp": true, "be8": true, "be9": true, "te6": true, "te7": true, "te8": true,
}

// zeroSays are keys for which 0 is not the same as missing.
var zeroSays = map[string]bool{"a": true, "t": true, "rank": true, "ss": true, "kills": true, "deaths": true}

// kept returns the stored form of a round, from which newRound makes the same round. Pairs of
// players whose value means the same as no pair are left out, and all victims of a player are in
// one pair, victims_N. If that is too long, only the pairs of the round itself are stored.
func (r *Round) kept() []byte {
	left := make([]stats.Pair, 0, len(r.pairs))
	var head []stats.Pair
	for _, p := range r.pairs {
		i := strings.LastIndexByte(p.Key, '_')
		if i <= 0 {
			left, head = append(left, p), append(head, p)
			continue
		}
		key, empty := p.Key[:i], p.Value == "" || p.Value == "0"
		switch {
		case unkept[key], key == "mvns", key == "mvks":
		case empty && !zeroSays[key]:
		default:
			left = append(left, p)
		}
	}
	for _, p := range r.Players {
		left = appendFoes(left, keyVictims+"_"+strconv.Itoa(p.number), p.victims)
	}
	if text := stats.AppendPairs(nil, left); len(text) <= storage.MaxReportPairs {
		return text
	}
	return stats.AppendPairs(nil, head)
}

// keyVictims is the key of a player's victims in a round that is kept.
const keyVictims = "victims"

func (r *Round) value(key string) string {
	for _, p := range r.pairs {
		if p.Key == key {
			return p.Value
		}
	}
	return ""
}
