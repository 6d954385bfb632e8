package api

// grams are the pairs of neighbouring bytes that a text has, hashed to one bit each. A search looks
// only at texts that may contain the query: most memory of a long list is not touched. 256 bits
// suffice for the usual hundred bytes of a server; those of many players' names are full and say
// nothing.
type grams [4]uint64

func (g *grams) add(text string) {
	for i := 1; i < len(text); i++ {
		hash := (uint32(text[i-1])<<8 | uint32(text[i])) * 0x9e3779b1 >> 24
		g[hash>>6] |= 1 << (hash & 63)
	}
}

// mayHave reports whether a text with the pairs g may have one with the pairs of part.
// Only false is certain.
func (g *grams) mayHave(part *grams) bool {
	return part[0]&^g[0]|part[1]&^g[1]|part[2]&^g[2]|part[3]&^g[3] == 0
}
