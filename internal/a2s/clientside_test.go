package a2s

import "slices"

// AppendPing appends the answer to a PingRequest.
//
//	offset size
//	     0    4  -1
//	     4    1  KindPing
//	     5    -  text, NUL
func AppendPing(dst []byte, text string) []byte {
	return appendText(appendHeader(dst, KindPing), text)
}

// Rules returns the pieces of the block, the inverse of ParseDayZ. Hashes must be
// as many as the bits of DLC, mods and signatures at most 255, and their names at
// most 255 bytes.
func (d *DayZ) Rules() []Rule {
	b := appendUint16([]byte{d.Version, d.Flags}, d.DLC)
	for _, h := range d.DLCHashes {
		b = appendUint32(b, h)
	}
	b = append(b, byte(len(d.Mods)))
	for _, m := range d.Mods {
		b = appendUint32(b, m.Hash)
		if m.Workshop <= 0xFFFFFFFF {
			b = appendUint32(append(b, 4), uint32(m.Workshop))
		} else {
			b = appendUint64(append(b, 8), m.Workshop)
		}
		b = append(append(b, byte(len(m.Name))), m.Name...)
	}
	b = append(b, byte(len(d.Signatures)))
	for _, s := range d.Signatures {
		b = append(append(b, byte(len(s))), s...)
	}
	pieces := slices.Collect(slices.Chunk(escape(b), dayZPiece))
	rules := make([]Rule, len(pieces))
	for i, p := range pieces {
		rules[i] = Rule{Name: string([]byte{byte(i + 1), byte(len(pieces))}), Value: string(p)}
	}
	return rules
}

func escape(b []byte) (out []byte) {
	for _, c := range b {
		switch c {
		case 0x01:
			out = append(out, dayZEscape, 1)
		case 0x00:
			out = append(out, dayZEscape, 2)
		case 0xFF:
			out = append(out, dayZEscape, 3)
		default:
			out = append(out, c)
		}
	}
	return out
}
