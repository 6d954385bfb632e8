package qr2

import "strconv"

// AppendTextHeartbeat appends a heartbeat of the text protocol: the port on
// which the host answers queries, its game, and further rules. Backslashes and
// NULs in names and values become dots.
func AppendTextHeartbeat(b []byte, port uint16, game string, rules ...Rule) []byte {
	b = append(b, `\heartbeat\`...)
	b = strconv.AppendUint(b, uint64(port), 10)
	b = appendTextField(b, "gamename", game)
	for _, r := range rules {
		b = appendTextField(b, r.Name, r.Value)
	}
	return b
}

func appendTextField(b []byte, name, value string) []byte {
	for _, text := range [2]string{name, value} {
		b = append(b, '\\')
		for i := range len(text) {
			if c := text[i]; c == '\\' || c == 0 {
				b = append(b, '.')
			} else {
				b = append(b, c)
			}
		}
	}
	return b
}
