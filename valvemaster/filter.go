package valvemaster

import (
	"bytes"
	"errors"
	"net/netip"
	"strconv"

	"github.com/respawnd/respawnd/internal/ascii"
)

// Bounds of a filter. See "Filters" in doc.go.
const (
	maxConditions = 32
	maxWildcards  = 4  // conditions with a *, which cost more than others
	maxParts      = 64 // required tags and stars, each of which costs as much as a condition
	maxDepth      = 8  // groups in groups
)

var errFilter = errors.New("filter with too many or too deep conditions")

type operator uint8

const (
	opNor operator = iota
	opNand
	opOr
	opAnd
	opGameDir
	opMap
	opAppID
	opNotAppID
	opNotEmpty
	opNotFull
	opEmpty
	opFlag // one of the flags, see condition.flag
	opTags
	opHiddenAll
	opHiddenAny
	opName
	opVersion
	opAddr
	opAddrPort
)

// flag is a boolean property of a server.
type flag uint8

const (
	flagDedicated flag = 1 << iota
	flagSecure
	flagLinux
	flagPassword
	flagProxy
	flagVouched
)

// condition is a node of a filter. The operands of a group follow it, up to
// next.
type condition struct {
	op     operator
	flag   flag
	want   bool // of opFlag
	next   int  // index of the condition after this one and its operands
	number uint64
	addr   netip.AddrPort
	text   []byte // lower case, in filter.text
}

// filter is a parsed filter. It is part of a request and reused with it.
type filter struct {
	conditions [maxConditions]condition
	n          int
	collapse   bool
	key        uint32 // that Xash3D expects in the answer
	keyed      bool   // there is one
	unknown    int    // number of unknown keys
	wildcards  int
	parts      int             // required tags, and stars
	text       [maxPacket]byte // of the filter, in lower case
}

// parse reads a filter of at most maxPacket bytes.
func (f *filter) parse(b []byte) error {
	f.n, f.collapse, f.unknown, f.wildcards, f.parts = 0, false, 0, 0, 0
	f.key, f.keyed = 0, false
	rest := bytes.TrimPrefix(ascii.AppendLower(f.text[:0], b), []byte{'\\'})
	for len(rest) > 0 {
		var err error
		if rest, err = f.parseOne(rest, 0); err != nil {
			return err
		}
	}
	return nil
}

// parseOne reads a pair, and the operands if it is a group.
func (f *filter) parseOne(rest []byte, depth int) ([]byte, error) {
	key, rest, _ := bytes.Cut(rest, []byte{'\\'})
	value, rest, _ := bytes.Cut(rest, []byte{'\\'})
	if group, ok := groupOf(key); ok {
		return f.parseGroup(group, value, rest, depth)
	}
	if string(key) == "collapse_addr_hash" {
		f.collapse = f.collapse || (depth == 0 && isOne(value))
		return rest, nil
	}
	if string(key) == "key" {
		if n, err := strconv.ParseUint(string(value), 16, 32); err == nil {
			f.key, f.keyed = uint32(n), true
			return rest, nil
		}
	}
	c, s := parseCondition(key, value)
	switch s {
	case notKnown:
		f.unknown++
		return rest, nil
	case wantsNothing:
		return rest, nil
	default:
	}
	switch c.op {
	case opName, opVersion:
		stars := bytes.Count(c.text, []byte{'*'})
		f.parts += stars
		f.wildcards += min(stars, 1)
	case opTags, opHiddenAll, opHiddenAny:
		f.parts += countTags(c.text)
	default:
	}
	if f.wildcards > maxWildcards || f.parts > maxParts {
		return nil, errFilter
	}
	_, err := f.add(c)
	return rest, err
}

func groupOf(key []byte) (operator, bool) {
	switch string(key) {
	case "nor":
		return opNor, true
	case "nand":
		return opNand, true
	case "or":
		return opOr, true
	case "and":
		return opAnd, true
	default:
		return 0, false
	}
}

// parseGroup reads the operands of a group. If there are fewer than stated, it
// has those that exist.
func (f *filter) parseGroup(op operator, value, rest []byte, depth int) ([]byte, error) {
	count := parseCount(value)
	if depth >= maxDepth || count > maxPacket {
		return nil, errFilter
	}
	at, err := f.add(condition{op: op})
	for i := 0; i < count && len(rest) > 0 && err == nil; i++ {
		rest, err = f.parseOne(rest, depth+1)
	}
	if err != nil {
		return nil, err
	}
	if f.n == at+1 {
		f.n = at // an empty group has no effect
		return rest, nil
	}
	f.conditions[at].next = f.n
	return rest, nil
}

func (f *filter) add(c condition) (at int, err error) {
	if f.n == maxConditions {
		return 0, errFilter
	}
	at = f.n
	f.n++
	c.next = f.n
	f.conditions[at] = c
	return at, nil
}

// sense is the result of parsing a pair.
type sense uint8

const (
	wantsSomething sense = iota
	wantsNothing
	notKnown
)

// parseCondition parses a pair that is not a group.
func parseCondition(key, value []byte) (c condition, s sense) {
	c.text = value
	switch string(key) {
	case "gamedir":
		c.op = opGameDir
	case "map":
		c.op = opMap
	case "gametype":
		c.op = opTags
	case "gamedata":
		c.op = opHiddenAll
	case "gamedataor":
		c.op = opHiddenAny
	case "name_match":
		c.op = opName
	case "version_match":
		c.op = opVersion
	case "empty":
		return c.ifOne(opNotEmpty)
	case "full":
		return c.ifOne(opNotFull)
	case "noplayers":
		return c.ifOne(opEmpty)
	case "type":
		c.wantFlag(flagDedicated, string(value) == "d")
	case "dedicated":
		c.wantFlag(flagDedicated, isOne(value))
	case "secure":
		c.wantFlag(flagSecure, isOne(value))
	case "linux":
		c.wantFlag(flagLinux, isOne(value))
	case "password":
		c.wantFlag(flagPassword, isOne(value))
	case "proxy":
		c.wantFlag(flagProxy, isOne(value))
	case "white":
		c.wantFlag(flagVouched, isOne(value))
	case "appid":
		return c.wantAppID(opAppID)
	case "napp":
		return c.wantAppID(opNotAppID)
	case "gameaddr":
		return c.wantAddr()
	default:
		return c, notKnown
	}
	return c, wantsSomething
}

// ifOne makes a condition of a pair that has an effect only if its value is 1.
func (c condition) ifOne(op operator) (condition, sense) {
	if c.op = op; !isOne(c.text) {
		return c, wantsNothing
	}
	return c, wantsSomething
}

func (c *condition) wantFlag(f flag, want bool) { c.op, c.flag, c.want = opFlag, f, want }

// wantAppID makes c ask for the number of a game, which must be one.
func (c condition) wantAppID(op operator) (condition, sense) {
	n, rest, ok := parseDigits(c.text, 19)
	if c.op, c.number = op, n; !ok || len(rest) > 0 {
		return c, notKnown
	}
	return c, wantsSomething
}

// wantAddr makes c ask for an address, with or without a port.
func (c condition) wantAddr() (condition, sense) {
	var space [32]byte
	text := c.text
	if c.op = opAddrPort; bytes.IndexByte(text, ':') < 0 && len(text) <= 15 {
		c.op = opAddr
		text = append(append(space[:0], text...), ":0"...)
	}
	a, rest, ok := parseAddrPort(text)
	if c.addr = a; !ok || len(rest) > 0 {
		return c, notKnown
	}
	return c, wantsSomething
}

// work is the cost of comparing the filter with one server, in conditions.
func (f *filter) work() int { return f.n + f.parts + 1 }

// match reports whether a server passes the filter. collapse is for the caller
// to see to.
func (f *filter) match(e *entry) bool { return f.all(0, f.n, e) }

// all reports whether all conditions from i up to end hold.
func (f *filter) all(i, end int, e *entry) bool {
	for ; i < end; i = f.conditions[i].next {
		if !f.one(i, e) {
			return false
		}
	}
	return true
}

func (f *filter) one(i int, e *entry) bool {
	c := &f.conditions[i]
	switch c.op {
	case opNor:
		return !f.any(i+1, c.next, e)
	case opNand:
		return !f.all(i+1, c.next, e)
	case opOr:
		return f.any(i+1, c.next, e)
	case opAnd:
		return f.all(i+1, c.next, e)
	default:
		return c.holds(e)
	}
}

// any reports whether one of the conditions from i up to end holds.
func (f *filter) any(i, end int, e *entry) bool {
	for ; i < end; i = f.conditions[i].next {
		if f.one(i, e) {
			return true
		}
	}
	return false
}

// holds reports whether a condition that is not a group holds.
func (c *condition) holds(e *entry) bool {
	switch c.op {
	case opGameDir:
		return e.gameDir == string(c.text)
	case opMap:
		return e.mapName == string(c.text)
	case opAppID:
		return e.appID == c.number
	case opNotAppID:
		return e.appID != c.number
	case opNotEmpty:
		return e.players > 0
	case opEmpty:
		return e.players == 0
	case opNotFull:
		return e.players < e.maxPlayers
	case opFlag:
		return (e.flags&c.flag != 0) == c.want
	case opTags:
		return hasTags(e.tags, c.text, true)
	case opHiddenAll:
		return hasTags(e.hidden, c.text, true)
	case opHiddenAny:
		return hasTags(e.hidden, c.text, false)
	case opName:
		return matchWildcards(e.name, c.text)
	case opVersion:
		return matchWildcards(e.version, c.text)
	case opAddr:
		return e.addr.Addr() == c.addr.Addr()
	case opAddrPort:
		return e.addr == c.addr
	default:
		return true
	}
}
