package nettest

import "bytes"

// packet returns the next packet. whole reports that it was not mutated.
func (a *Attack) packet(whole bool) []byte {
	p := bytes.Clone(a.Packets[a.random.IntN(len(a.Packets))])
	if whole {
		return a.encode(p)
	}
	switch a.random.IntN(8) {
	case 0:
		return a.rubbish()
	case 1:
		if len(a.proofs) > 0 {
			return bytes.Clone(a.proofs[a.random.IntN(len(a.proofs))])
		}
		return a.encode(p)
	case 2:
		if len(a.written) > 0 {
			return bytes.Clone(a.written[a.random.IntN(len(a.written))])
		}
		return a.encode(p)
	case 3:
		return a.Mutate(a.encode(p))
	case 4:
		return a.encode(a.Mutate(p))
	default:
		return a.encode(p)
	}
}

func (a *Attack) encode(p []byte) []byte {
	if a.Encode == nil {
		return p
	}
	return a.Encode(p)
}

// rubbish returns random bytes.
func (a *Attack) rubbish() []byte {
	p := make([]byte, a.random.IntN(1<<(1+a.random.IntN(10))))
	for i := range p {
		p[i] = byte(a.random.Uint32())
	}
	return p
}

// Mutate changes a packet, most often a little.
func (a *Attack) Mutate(p []byte) []byte {
	for range 1 + a.random.IntN(3) {
		p = a.change(p)
	}
	return p[:min(len(p), longest)]
}

// change changes a packet in one place.
func (a *Attack) change(p []byte) []byte {
	if len(p) == 0 {
		return a.rubbish()
	}
	at := a.random.IntN(len(p))
	end := at + a.random.IntN(len(p)-at+1)
	switch a.random.IntN(8) {
	case 0: // another bit
		p[at] ^= 1 << a.random.IntN(8)
	case 1: // another byte, often one at an edge
		p[at] = []byte{0, 1, 0x7F, 0x80, 0xFF, '\\', byte(a.random.Uint32())}[a.random.IntN(7)]
	case 2: // shorter
		return p[:at]
	case 3: // a part is missing
		return append(p[:at:at], p[end:]...)
	case 4: // a part comes twice
		return append(p[:end:end], p[at:]...)
	case 5: // longer
		return append(p, a.rubbish()...)
	case 6: // the head of one and the tail of another
		other := a.Packets[a.random.IntN(len(a.Packets))]
		return append(p[:at:at], other[min(at, len(other)):]...)
	default: // zeros
		clear(p[at:end])
	}
	return p
}
