package nwn

// ParseText parses the data of a BMMB or BMRB.
func ParseText(rest []byte) ([]byte, error) {
	r := reader{rest: rest}
	t := r.text()
	if r.bad {
		return nil, ErrMalformed
	}
	return t, nil
}
