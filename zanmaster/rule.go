package zanmaster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// pattern is a set of IPv4 addresses: those that agree with value in the bits
// of mask. Both prefixes and free octets have this form.
type pattern struct {
	mask, value uint32
}

func number(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

func prefixPattern(p netip.Prefix) pattern {
	mask := ^uint32(0) << (32 - p.Bits())
	return pattern{mask, number(p.Addr()) & mask}
}

// rule is one line of a file.
type rule struct {
	addresses string // as in the file
	line      int
	patterns  []pattern // more than one for a range
	expires   time.Time // zero: never
	comment   string
}

// Errors of a line.
var (
	errNoAddress    = errors.New("no address: want a.b.c.d with * for any octet, a.b.c.d/n or a.b.c.d-e.f.g.h")
	errBadExpiry    = errors.New("expiry is not <mm/dd/yyyy hh:mm>")
	errBackwards    = errors.New("range ends before it starts")
	errEverybody    = errors.New("this means everybody: write *.*.*.* for that")
	errTrailing     = errors.New("unexpected text after the address: a comment starts with : or //")
	errTooLong      = errors.New("line too long")
	errTooManyRules = fmt.Errorf("more than %d entries", maxRules)
)

const (
	maxRules   = 65536 // per file
	maxComment = 127   // bytes that are kept
	maxLine    = 4096  // bytes
)

// parseRule parses a line. ok is false for an empty line or a comment.
//
//	address [<mm/dd/yyyy hh:mm>] [:comment]
//
// Lines that start with // or # are comments. The expiry is local time.
func parseRule(line string) (r rule, ok bool, err error) {
	line = strings.TrimSpace(line)
	if line == "" || strings.HasPrefix(line, "//") || line[0] == '#' {
		return r, false, nil
	}
	end := strings.IndexAny(line, "<: \t")
	if i := strings.Index(line, "//"); i >= 0 && (end < 0 || i < end) {
		end = i
	}
	if end < 0 {
		end = len(line)
	}
	address, rest := line[:end], strings.TrimLeft(line[end:], " \t")
	r.addresses = strings.Clone(address)
	if strings.HasPrefix(rest, "<") {
		text, after, found := strings.Cut(rest[1:], ">")
		if !found {
			return r, false, errBadExpiry
		}
		if r.expires, err = parseExpiry(text); err != nil {
			return r, false, err
		}
		rest = strings.TrimLeft(after, " \t")
	}
	switch {
	case rest == "" || strings.HasPrefix(rest, "//"):
	case rest[0] == ':':
		r.comment = strings.TrimSpace(rest[1:])
		r.comment = r.comment[:min(len(r.comment), maxComment)]
	default:
		return r, false, errTrailing
	}
	r.patterns, err = parseAddresses(address)
	return r, err == nil, err
}

func parseExpiry(text string) (time.Time, error) {
	text = strings.Join(strings.Fields(text), " ")
	if t, err := time.ParseInLocation("1/2/2006 15:04", text, time.Local); err == nil {
		return t, nil
	}
	t, err := time.ParseInLocation("1/2/06 15:04", text, time.Local)
	if err != nil {
		return time.Time{}, errBadExpiry
	}
	if t.Year() < 2000 { // two digits are of this century
		t = t.AddDate(100, 0, 0)
	}
	return t, nil
}

func parseAddresses(text string) ([]pattern, error) {
	if first, last, ok := strings.Cut(text, "-"); ok {
		return parseRange(first, last)
	}
	if strings.Contains(text, "/") {
		p, err := netip.ParsePrefix(text)
		switch {
		case err != nil || !p.Addr().Is4():
			return nil, errNoAddress
		case p.Bits() == 0:
			return nil, errEverybody
		}
		return []pattern{prefixPattern(p)}, nil
	}
	var p pattern
	octets := strings.Split(text, ".")
	if len(octets) != 4 {
		return nil, errNoAddress
	}
	for _, octet := range octets {
		p.mask, p.value = p.mask<<8, p.value<<8
		if octet == "*" {
			continue
		}
		v, err := strconv.ParseUint(octet, 10, 8)
		if err != nil {
			return nil, errNoAddress
		}
		p.mask, p.value = p.mask|0xFF, p.value|uint32(v)
	}
	return []pattern{p}, nil
}

func parseRange(first, last string) ([]pattern, error) {
	from, err1 := netip.ParseAddr(first)
	to, err2 := netip.ParseAddr(last)
	switch {
	case err1 != nil || err2 != nil || !from.Is4() || !to.Is4():
		return nil, errNoAddress
	case to.Less(from):
		return nil, errBackwards
	}
	lo, hi := number(from), number(to)
	if lo == 0 && hi == ^uint32(0) {
		return nil, errEverybody
	}
	return cover(lo, hi), nil
}

// cover returns the fewest prefixes that hold the addresses from lo to hi, at
// most 62.
func cover(lo, hi uint32) (list []pattern) {
	for {
		size := min(bits.TrailingZeros32(lo), 32)
		for size > 0 && (size == 32 || uint64(lo)+1<<size-1 > uint64(hi)) {
			size--
		}
		list = append(list, pattern{^uint32(0) << size, lo})
		next := uint64(lo) + 1<<size
		if next > uint64(hi) {
			return list
		}
		lo = uint32(next)
	}
}

// appendTexts appends the pattern in the form of game servers: dotted, with "*"
// for a free octet. A prefix that ends within an octet becomes up to 128 of
// them.
func (p pattern) appendTexts(list []string) []string {
	for shift := 24; shift >= 0; shift -= 8 {
		octet := uint8(p.mask >> shift)
		if octet == 0 || octet == 0xFF {
			continue
		}
		for i := range uint32(^octet) + 1 {
			list = append(list, pattern{p.mask | 0xFF<<shift, p.value | i<<shift}.text())
		}
		return list
	}
	return append(list, p.text())
}

// text writes a pattern whose octets are fixed or free as a whole.
func (p pattern) text() string {
	b := make([]byte, 0, 15)
	for shift := 24; shift >= 0; shift -= 8 {
		if byte(p.mask>>shift) == 0 {
			b = append(b, '*')
		} else {
			b = strconv.AppendUint(b, uint64(byte(p.value>>shift)), 10)
		}
		if shift > 0 {
			b = append(b, '.')
		}
	}
	return string(b)
}

// ruleSet answers whether an address is in a list of rules. It never changes.
type ruleSet struct {
	rules  []rule
	masks  []uint32
	byMask map[uint32]map[uint32]time.Time // value to the latest expiry; zero: never
}

func newRuleSet(rules []rule) *ruleSet {
	s := &ruleSet{rules: rules, byMask: make(map[uint32]map[uint32]time.Time)}
	for _, r := range rules {
		for _, p := range r.patterns {
			values := s.byMask[p.mask]
			if values == nil {
				values = make(map[uint32]time.Time)
				s.byMask[p.mask] = values
				s.masks = append(s.masks, p.mask)
			}
			old, ok := values[p.value]
			if !ok || (!old.IsZero() && (r.expires.IsZero() || r.expires.After(old))) {
				values[p.value] = r.expires
			}
		}
	}
	return s
}

// has reports whether a rule that is not over at now covers a, an IPv4 address.
func (s *ruleSet) has(a netip.Addr, now time.Time) bool {
	n := number(a)
	for _, mask := range s.masks {
		if expires, ok := s.byMask[mask][n&mask]; ok && (expires.IsZero() || now.Before(expires)) {
			return true
		}
	}
	return false
}

func (s *ruleSet) len() int { return len(s.rules) }

// texts appends the rules that have not expired at now in the form of game
// servers, until there are more than can be sent, and returns the earliest
// expiry; zero: never.
func (s *ruleSet) texts(list []string, now time.Time) ([]string, time.Time) {
	var next time.Time
	for _, r := range s.rules {
		if !r.expires.IsZero() {
			if !now.Before(r.expires) {
				continue
			}
			next = earlier(next, r.expires)
		}
		for _, p := range r.patterns {
			list = p.appendTexts(list)
		}
		if len(list) > maxBanItems {
			break
		}
	}
	return list, next
}

// earlier returns the earlier one of two times of which zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
