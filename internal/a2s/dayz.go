package a2s

import (
	"math/bits"
	"slices"
)

// DayZMod is a mod of a DayZ server.
type DayZMod struct {
	Hash     uint32
	Workshop uint64 // its number in Steam's workshop
	Name     string
}

// DayZ is the data that DayZ servers encode in their rules: one block, escaped and
// cut into values of at most 124 bytes. The names of those rules are two bytes,
// the number of the piece from 1 and the count.
//
//	01 01, 01 02, 01 03    stand for 01, 00 and FF
//
//	byte    version, 1 or 2
//	byte    flags
//	short   DLC
//	long    a hash for every bit that is set in DLC
//	byte    mods
//	        each mod:
//	long    hash
//	byte    size of the number, then the number
//	byte    size of the name, then the name
//	byte    signatures
//	byte    size of a signature, then the signature
//
// More follows, which is not read. The maker of the game documents such a block
// for Arma 3 only, with other versions and fields; this layout was read from
// packets of DayZ servers. A block that does not match it exactly is not
// decoded, and its rules stay as they came.
type DayZ struct {
	Version, Flags uint8
	DLC            uint16
	DLCHashes      []uint32
	Mods           []DayZMod
	Signatures     []string // the keys that mods may be signed with

	// Truncated reports that pieces are missing. The data before them was read.
	Truncated bool
}

const (
	dayZPiece   = 124 // bytes of a value
	dayZEscape  = 1
	maxWorkshop = 8 // bytes of a mod's number
)

// ParseDayZ reads the block of a DayZ server out of its rules, which are not
// changed; plain are the other rules. ok is false, and plain all rules, if
// there is no block or it does not match the layout of DayZ.
func ParseDayZ(rules []Rule) (d DayZ, plain []Rule, ok bool) {
	block, plain, whole := cutPieces(rules)
	r := reader{s: block}
	if d, ok = readDayZ(&r); !ok {
		return DayZ{}, rules, false
	}
	d.Truncated = !whole || r.short
	return d, plain, true
}

// cutPieces returns the block up to the first missing piece, and the other
// rules.
func cutPieces(rules []Rule) (block string, plain []Rule, whole bool) {
	var pieces []string
	for _, r := range rules {
		number, count := pieceOf(r.Name)
		if pieces == nil && count > 0 {
			pieces = make([]string, count)
		}
		if number == 0 || count != len(pieces) || pieces[number-1] != "" {
			plain = append(plain, r)
			continue
		}
		pieces[number-1] = r.Value
	}
	var escaped []byte
	for _, p := range pieces {
		if p == "" {
			break
		}
		escaped = append(escaped, p...)
	}
	b, clean := unescape(escaped)
	return string(b), plain, clean && len(pieces) > 0 && !slices.Contains(pieces, "")
}

// pieceOf reads the name of a piece; zeros for other names.
func pieceOf(name string) (number, count int) {
	if len(name) != 2 || name[0] == 0 || name[0] > name[1] {
		return 0, 0
	}
	return int(name[0]), int(name[1])
}

// unescape decodes in place, up to the first invalid escape. ok is false if it
// stopped before the end.
func unescape(b []byte) (out []byte, ok bool) {
	out = b[:0]
	for i := 0; i < len(b); i++ {
		c := b[i]
		if c == dayZEscape {
			if i++; i == len(b) {
				return out, false
			}
			switch b[i] {
			case 1:
			case 2:
				c = 0x00
			case 3:
				c = 0xFF
			default:
				return out, false
			}
		}
		out = append(out, c)
	}
	return out, true
}

// readDayZ reads as many fields as the block has. ok is false if it is another
// kind of block.
func readDayZ(r *reader) (d DayZ, ok bool) {
	d = DayZ{Version: r.byte(), Flags: r.byte(), DLC: r.uint16()}
	if r.short || (d.Version != 1 && d.Version != 2) {
		return d, false
	}
	for range bits.OnesCount16(d.DLC) {
		if h := r.uint32(); !r.short {
			d.DLCHashes = append(d.DLCHashes, h)
		}
	}
	for range r.byte() {
		m := DayZMod{Hash: r.uint32()}
		size := int(r.byte())
		if size > maxWorkshop {
			return d, false
		}
		for i, c := range []byte(r.take(size)) {
			m.Workshop |= uint64(c) << (8 * i)
		}
		if m.Name = r.counted(); r.short {
			return d, true
		}
		d.Mods = append(d.Mods, m)
	}
	for range r.byte() {
		s := r.counted()
		if r.short {
			return d, true
		}
		d.Signatures = append(d.Signatures, s)
	}
	return d, true
}

// counted reads a string that is preceded by a byte with its size.
func (r *reader) counted() string { return r.take(int(r.byte())) }
