package quickmatch

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/games"
)

// machine is the state of one program: the players in its room, and those of them that wait for a
// match. It is a function of events and times; random decides the rest.
type machine struct {
	room      map[string]netip.Addr // by nick: those in the room; the address is zero if not known
	waiting   map[string]*player    // by nick
	pools     map[pool][]*player    // the longest waiting first; none is empty
	announced time.Time
	limits    limits
	random    func(n int) int // from 0 to n-1
	style     games.QuickStyle
}

// limits are the settings of a machine.
type limits struct {
	announce   time.Duration
	maxPlayers int
}

// player is a player who waits.
type player struct {
	nick string
	cinfo
	since   time.Time
	widened bool
	fresh   bool // changed since the last round of matches
	luck    int  // of Red Alert 3: decides between opponents who fit alike
}

// send is a message. An empty nick stands for the room.
type send struct{ nick, text string }

// outcome is the result of an event, for metrics and the log.
type outcome struct {
	kind   outcomeKind
	nick   string
	detail string
}

type outcomeKind string

// The outcomes.
const (
	outWaiting  outcomeKind = "waiting"  // a search began, or began again
	outWidened  outcomeKind = "widened"  // a search was widened
	outMatched  outcomeKind = "matched"  // a player got a match
	outLeft     outcomeKind = "left"     // a waiting player left
	outRefused  outcomeKind = "refused"  // a CINFO was refused
	outOutside  outcomeKind = "outside"  // a message came from outside the room
	outIdle     outcomeKind = "idle"     // the player does not wait
	outFull     outcomeKind = "full"     // too many players wait
	outUnknown  outcomeKind = "unknown"  // not a message of the game
	outOddKeys  outcomeKind = "odd_keys" // unknown keys in a CINFO
	outAddress  outcomeKind = "address"  // the player names another address than its own
	outNoPlace  outcomeKind = "no_place" // no address is known of the player
	outLadders  outcomeKind = "ladders"  // too many ladders for one announcement
	maxRoom                 = 1 << 17    // members that are remembered
	maxLadders              = 30         // in one announcement
	textWorking             = "MBOT:WORKING "
)

func outcomes() []outcomeKind {
	return []outcomeKind{
		outWaiting, outWidened, outMatched, outLeft, outRefused, outOutside, outIdle, outFull, outUnknown, outOddKeys, outAddress, outNoPlace,
		outLadders,
	}
}

func newMachine(style games.QuickStyle, l limits, random func(int) int) *machine {
	return &machine{
		room: make(map[string]netip.Addr), waiting: make(map[string]*player), pools: make(map[pool][]*player), limits: l, random: random, style: style,
	}
}

// arrive notes a member of the room. a may be zero.
func (m *machine) arrive(nick string, a netip.Addr) {
	if _, known := m.room[nick]; !known && len(m.room) >= maxRoom {
		return // its messages are from outside
	}
	if a.IsValid() || !m.room[nick].IsValid() {
		m.room[nick] = a
	}
}

// leave notes that a member left the room.
func (m *machine) leave(nick string) (out []outcome) {
	delete(m.room, nick)
	if p := m.waiting[nick]; p != nil {
		m.remove(p)
		out = append(out, outcome{outLeft, nick, ""})
	}
	return out
}

// rename notes that a member has another nick.
func (m *machine) rename(from, to string) {
	a, known := m.room[from]
	if !known {
		return
	}
	delete(m.room, from)
	m.room[to] = a
	if p := m.waiting[from]; p != nil {
		delete(m.waiting, from)
		p.nick = to
		m.waiting[to] = p
	}
}

func (m *machine) message(nick, text string, now time.Time) (out []send, what []outcome) {
	a, inside := m.room[nick]
	switch {
	case !inside:
		return nil, []outcome{{outOutside, nick, ""}}
	case text == `\WIDEN`:
		p := m.waiting[nick]
		if p == nil {
			return []send{{nick, "MBOT:CANTSENDWIDENNOW"}}, []outcome{{outIdle, nick, "WIDEN"}}
		}
		return m.widen(p)
	case strings.HasPrefix(text, `\CINFO\`):
		return m.search(nick, a, strings.TrimPrefix(text, `\CINFO`), now)
	}
	return nil, []outcome{{outUnknown, nick, text}}
}

// search begins the search of a player, in place of one that it began before.
func (m *machine) search(nick string, a netip.Addr, text string, now time.Time) (out []send, what []outcome) {
	c, unknown, bad := parseCInfo(m.defaults(), text)
	if bad == "" && m.style == games.QuickRedAlert && c.players > 4 {
		bad = badCInfo
	}
	if bad != "" {
		return []send{{nick, string(bad)}}, []outcome{{outRefused, nick, string(bad) + " " + text}}
	}
	if len(unknown) > 0 {
		what = append(what, outcome{outOddKeys, nick, strings.Join(unknown, " ")})
	}
	switch {
	case !a.IsValid() && !c.address.IsValid():
		return []send{{nick, string(badCInfo)}}, append(what, outcome{outNoPlace, nick, ""})
	case m.style == games.QuickRedAlert && a.IsValid() && a == netip.AddrFrom4(backwards(c.address)):
		// whether this game writes the lowest byte first is not known
	case a.IsValid() && a != c.address:
		what = append(what, outcome{outAddress, nick, c.address.String() + ", is " + a.String()})
		ip := a.As4()
		c.written, c.address = binary.BigEndian.Uint32(ip[:]), a
	}
	if old := m.waiting[nick]; old != nil {
		m.remove(old)
	}
	if len(m.waiting) >= m.limits.maxPlayers {
		return nil, append(what, outcome{outFull, nick, ""})
	}
	p := &player{nick: nick, cinfo: c, since: now, fresh: true}
	if m.style == games.QuickRedAlert {
		p.luck = m.random(lucks)
	}
	m.waiting[nick] = p
	m.pools[c.pool] = append(m.pools[c.pool], p)
	size := textWorking + strconv.Itoa(len(m.pools[c.pool]))
	out = append(out, send{nick, size})
	if m.style == games.QuickRedAlert {
		for _, o := range m.pools[c.pool][:len(m.pools[c.pool])-1] {
			out = append(out, send{o.nick, size})
		}
	}
	return out, append(what, outcome{outWaiting, nick, ""})
}

// remove ends the search of a player.
func (m *machine) remove(p *player) {
	delete(m.waiting, p.nick)
	rest := slices.DeleteFunc(m.pools[p.pool], func(o *player) bool { return o == p })
	if len(rest) == 0 {
		delete(m.pools, p.pool)
		return
	}
	m.pools[p.pool] = rest
}

func (m *machine) widen(p *player) ([]send, []outcome) {
	p.widened, p.fresh = true, true
	return []send{{p.nick, "MBOT:WIDENINGSEARCH"}}, []outcome{{outWidened, p.nick, ""}}
}

// tick widens searches whose time has come, makes matches, and announces how many wait.
func (m *machine) tick(now time.Time) (out []send, what []outcome) {
	for _, p := range m.sorted() {
		if !p.widened && p.widen > 0 && now.Sub(p.since) >= p.widen {
			s, w := m.widen(p)
			out, what = append(out, s...), append(what, w...)
		}
	}
	for _, p := range m.sorted() {
		if !p.fresh || m.waiting[p.nick] != p {
			continue
		}
		p.fresh = false
		if group := m.group(p); group != nil {
			s, w := m.match(group)
			out, what = append(out, s...), append(what, w...)
		}
	}
	if len(m.waiting) > 0 && now.Sub(m.announced) >= m.limits.announce {
		m.announced = now
		if m.style == games.QuickRedAlert {
			return append(out, m.poolSizes()...), what
		}
		text, cut := m.sizes()
		out = append(out, send{"", text})
		if cut > 0 {
			what = append(what, outcome{outLadders, "", strconv.Itoa(cut)})
		}
	}
	return out, what
}

// sorted returns the waiting players, the longest waiting first.
func (m *machine) sorted() []*player {
	return slices.SortedFunc(maps.Values(m.waiting), func(a, b *player) int {
		return cmp.Or(a.since.Compare(b.since), strings.Compare(a.nick, b.nick))
	})
}

// group returns a complete group with a player, nil if there is none yet. It repeatedly
// adds the player whose worst fit to a member of the group is the best.
func (m *machine) group(p *player) []*player {
	all := m.pools[p.pool]
	if len(all) < p.players {
		return nil
	}
	fitness, threshold := fitness, threshold
	if m.style == games.QuickRedAlert {
		if p.ladder == ladderTeams {
			return m.teams(p)
		}
		fitness, threshold = rated, 0
	}
	type candidate struct {
		*player
		fits float64 // to the member of the group that it fits worst to
	}
	left := make([]candidate, 0, len(all))
	for _, o := range all {
		if f := fitness(p, o); o != p && f > threshold {
			left = append(left, candidate{o, f})
		}
	}
	group, maps := []*player{p}, slices.Clone(p.wanted())
	for len(group) < p.players {
		best := -1
		for i := range left {
			if shareMap(maps, left[i].wanted()) && (best < 0 || left[i].fits > left[best].fits) {
				best = i
			}
		}
		if best < 0 {
			return nil
		}
		next := left[best].player
		group, maps = append(group, next), common(maps, next.wanted())
		rest := left[:0]
		for i, c := range left {
			if c.fits = min(c.fits, fitness(next, c.player)); i != best && c.fits > threshold {
				rest = append(rest, c)
			}
		}
		left = rest
	}
	return group
}

// common returns the maps of both lists.
func common(a, b []bool) []bool {
	out := make([]bool, min(len(a), len(b)))
	for i := range out {
		out[i] = a[i] && b[i]
	}
	return out
}

// match ends the searches of a group and sends each of it all of it.
func (m *machine) match(group []*player) (out []send, what []outcome) {
	maps := group[0].wanted()
	for _, p := range group[1:] {
		maps = common(maps, p.wanted())
	}
	var wanted []int
	for i, ok := range maps {
		if ok {
			wanted = append(wanted, i)
		}
	}
	var b strings.Builder
	on := wanted[m.random(len(wanted))]
	if m.style == games.QuickRedAlert {
		fmt.Fprintf(&b, "MBOT:MATCHED %d %d 1", on, firstMatch+m.random(lastMatch-firstMatch+1))
	} else {
		fmt.Fprintf(&b, "MBOT:MATCHED %d %d", on, m.random(1<<31-1))
	}
	for i, p := range group {
		fmt.Fprintf(&b, " %s %d %d %d %d", p.nick, p.written, p.side, p.color, p.nat)
		if m.style == games.QuickRedAlert {
			fmt.Fprintf(&b, " -1 %d %d", p.points, i/(len(group)/2))
		}
	}
	for _, p := range group {
		m.remove(p)
		out, what = append(out, send{p.nick, b.String()}), append(what, outcome{outMatched, p.nick, strconv.Itoa(len(group))})
	}
	return out, what
}

// sizes returns how many players wait on each ladder, 0 being none, for the room; cut is
// the number of ladders that it lacks.
func (m *machine) sizes() (text string, cut int) {
	count := make(map[int32]int)
	for p, list := range m.pools {
		count[p.ladder] += len(list)
	}
	ladders := slices.SortedFunc(maps.Keys(count), func(a, b int32) int { return cmp.Or(count[b]-count[a], int(a)-int(b)) })
	if len(ladders) > maxLadders {
		ladders, cut = ladders[:maxLadders], len(ladders)-maxLadders
	}
	var b strings.Builder
	b.WriteString("MBOT:POOLSIZE")
	for _, l := range ladders {
		fmt.Fprintf(&b, " %d %d", l, count[l])
	}
	return b.String(), cut
}
