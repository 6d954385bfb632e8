package zandronum

import "errors"

// MaxBanPart is the size of the largest part of a ban list in bytes before it
// is coded.
const MaxBanPart = 1024

// MaxBanList is the size of the largest ban list in one message, for servers
// that know no parts. It is the size of their senders' buffer.
const MaxBanList = 8192

// MaxBanParts is how many parts a ban list may have: their number is one byte,
// and part 0 makes a server discard its old list.
const MaxBanParts = 256

// The kinds of items of a part.
const (
	itemBan byte = iota
	itemExemption
	itemMore
	itemEnd
)

// BanList is the ban list sent to game servers: addresses in dotted form, "*"
// for any octet.
type BanList struct {
	Bans, Exempt []string
}

// Len returns the number of items.
func (l *BanList) Len() int { return len(l.Bans) + len(l.Exempt) }

func (l *BanList) item(i int) (kind byte, address string) {
	if i < len(l.Bans) {
		return itemBan, l.Bans[i]
	}
	return itemExemption, l.Exempt[i-len(l.Bans)]
}

// AppendPart appends one part of the list: the number of the part, and items
// starting at item, bans first, until the part is full. It returns the item
// that the next part starts with, which is l.Len() after the last part.
func (l *BanList) AppendPart(dst, verification []byte, part byte, from int) (message []byte, next int) {
	start := len(dst)
	dst = append(appendString(append(dst, kindBanPart), verification), part)
	next = from
	for ; next < l.Len(); next++ {
		kind, address := l.item(next)
		// An item that is too long for any part is sent alone.
		if size := len(dst) - start + 1 + len(address) + 1 + 1; size > MaxBanPart && next > from {
			return append(dst, itemMore), next
		}
		dst = appendString(append(dst, kind), address)
	}
	return append(dst, itemEnd), next
}

// AppendWhole appends the list as one message and returns how many items did
// not fit. Without a verification string none is written. If there is no room
// for all, exemptions have priority over bans: a player missing from the
// exemptions is locked out, one missing from the bans is only let in.
func (l *BanList) AppendWhole(dst, verification []byte) (message []byte, left int) {
	const counts = 8
	room := MaxBanList - 1 - counts
	dst = append(dst, kindBanList)
	if len(verification) > 0 {
		dst = appendString(dst, verification)
		room -= len(verification) + 1
	}
	exempt, room := fitting(l.Exempt, room)
	bans, _ := fitting(l.Bans, room)
	dst = appendStrings(dst, bans)
	dst = appendStrings(dst, exempt)
	return dst, l.Len() - len(bans) - len(exempt)
}

// fitting returns the first texts that fit, and the remaining room.
func fitting(texts []string, room int) ([]string, int) {
	for i, t := range texts {
		if len(t)+1 > room {
			return texts[:i], room
		}
		room -= len(t) + 1
	}
	return texts, room
}

func appendStrings(dst []byte, texts []string) []byte {
	dst = appendUint32(dst, uint32(len(texts)))
	for _, t := range texts {
		dst = appendString(dst, t)
	}
	return dst
}

// ErrMalformed means that a message cannot be parsed.
var ErrMalformed = errors.New("malformed message")

// BanPart is a parsed part of a ban list.
type BanPart struct {
	Verification []byte // part of the message
	Number       byte
	BanList
	Last bool
}

// ParseBanPart reads a whole message.
func ParseBanPart(message []byte) (BanPart, error) {
	r := reader{b: message}
	if r.byte() != kindBanPart {
		return BanPart{}, ErrMalformed
	}
	p := BanPart{Verification: r.text(), Number: r.byte()}
	for {
		switch kind := r.byte(); {
		case r.short:
			return p, ErrMalformed
		case kind == itemBan:
			p.Bans = append(p.Bans, r.string())
		case kind == itemExemption:
			p.Exempt = append(p.Exempt, r.string())
		case kind == itemMore || kind == itemEnd:
			p.Last = kind == itemEnd
			return p, nil
		default:
			return p, ErrMalformed
		}
	}
}
