package zandronum

// ParseBanList reads a ban list in one message, sent to a server that has a
// verification string.
func ParseBanList(message []byte) (verification []byte, l BanList, err error) {
	r := reader{b: message}
	if r.byte() != kindBanList {
		return nil, l, ErrMalformed
	}
	verification = r.text()
	for _, list := range []*[]string{&l.Bans, &l.Exempt} {
		n := r.uint32()
		if uint64(n) > uint64(len(r.b)) { // each takes a byte at least
			return verification, l, ErrMalformed
		}
		for range n {
			*list = append(*list, r.string())
		}
	}
	if r.short {
		return verification, l, ErrMalformed
	}
	return verification, l, nil
}
