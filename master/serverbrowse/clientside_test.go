package serverbrowse

import (
	"encoding/binary"
	"net/netip"
	"strings"

	"github.com/respawnd/respawnd/internal/gamespy"
)

// AppendMapLoopRequest appends the request for the maps of one server. It has
// the layout of the request for its rules.
func AppendMapLoopRequest(dst []byte, server netip.AddrPort) []byte {
	return appendAddrPort(append(dst, 0, 9, byte(KindMapLoop)), server)
}

// AppendTo appends the whole message.
func (p *PlayerSearch) AppendTo(dst []byte) ([]byte, error) {
	if strings.IndexByte(p.Name, 0) >= 0 {
		return dst, errNUL
	}
	start := len(dst)
	b := append(dst, 0, 0, byte(KindPlayerSearch))
	b = binary.BigEndian.AppendUint32(b, uint32(p.Options))
	b = binary.BigEndian.AppendUint32(b, p.Max)
	return seal(dst, gamespy.AppendString(b, p.Name), start)
}

// BackendFlags returns the flags of the crypt header.
func (d *Decoder) BackendFlags() uint16 { return d.flags }
