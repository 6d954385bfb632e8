package competition

import (
	"encoding/hex"
	"io"
)

// GUID is the id of a session or of a connection. As a text it has hyphens, and the
// digits of its bytes in their order.
type GUID [16]byte

// newGUID returns a random id.
func newGUID(rand io.Reader) (g GUID, err error) {
	_, err = io.ReadFull(rand, g[:])
	return g, err
}

// String returns the id in lower case.
func (g GUID) String() string {
	h := hex.EncodeToString(g[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// ParseGUID reads an id, in whatever case.
func ParseGUID(s string) (g GUID, ok bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return g, false
	}
	_, err := hex.Decode(g[:], []byte(s[:8]+s[9:13]+s[14:18]+s[19:23]+s[24:]))
	return g, err == nil
}
