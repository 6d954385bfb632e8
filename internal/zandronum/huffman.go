package zandronum

// raw in the first byte of a datagram means that the rest is not coded.
const raw = 0xFF

const (
	longestCode = 10 // bits
	lookupSize  = 1 << longestCode
)

// symbol is the code of a byte for the encoder: its bits, the first one lowest.
type symbol struct {
	bits uint16
	len  uint8
}

// match is the code that the next ten bits begin with.
type match struct {
	value byte
	len   uint8
}

// The code in the forms for encoding and decoding. They are made once and never
// modified.
var (
	symbols = makeSymbols()
	lookup  = makeLookup()
)

func makeSymbols() (table [256]symbol) {
	for value, code := range codes {
		for i := range len(code) {
			if code[i] == '1' {
				table[value].bits |= 1 << i
			}
		}
		table[value].len = uint8(len(code))
	}
	return table
}

// makeLookup finds for each ten bits the one code that they begin with.
func makeLookup() (table [lookupSize]match) {
	for value, s := range makeSymbols() {
		for rest := 0; rest < lookupSize>>s.len; rest++ {
			table[int(s.bits)|rest<<s.len] = match{byte(value), s.len}
		}
	}
	return table
}

// Decode appends the message in a datagram to dst, at most limit bytes of it: a
// coded message is cut there, a longer uncoded one is discarded. The result is
// empty if the datagram holds no message; there is no other error.
func Decode(dst, datagram []byte, limit int) []byte {
	if len(datagram) < 2 || limit <= 0 {
		return dst
	}
	data := datagram[1:]
	if datagram[0] == raw {
		if len(data) > limit {
			return dst
		}
		return append(dst, data...)
	}
	left := 8*len(data) - int(datagram[0]) // used bits
	end := len(dst) + limit
	var acc uint64
	var have uint
	for left > 0 && len(dst) < end {
		for have <= 56 && len(data) > 0 {
			acc |= uint64(data[0]) << have
			data = data[1:]
			have += 8
		}
		m := lookup[acc%lookupSize]
		if left -= int(m.len); left < 0 {
			break
		}
		acc >>= m.len
		have -= uint(m.len)
		dst = append(dst, m.value)
	}
	return dst
}

// Encode appends the datagram for a message to dst: coded, or as it is if that
// is shorter. It adds at most len(message)+1 bytes.
func Encode(dst, message []byte) []byte {
	var bits int
	for _, b := range message {
		bits += int(symbols[b].len)
	}
	if bits > 8*len(message) {
		return append(append(dst, raw), message...)
	}
	dst = append(dst, byte(-bits&7))
	var acc uint64
	var have uint
	for _, b := range message {
		s := symbols[b]
		acc |= uint64(s.bits) << have
		for have += uint(s.len); have >= 8; have -= 8 {
			dst = append(dst, byte(acc))
			acc >>= 8
		}
	}
	if have > 0 {
		dst = append(dst, byte(acc))
	}
	return dst
}
