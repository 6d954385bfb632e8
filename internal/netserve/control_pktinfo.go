//go:build linux || darwin

package netserve

import (
	"encoding/binary"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Sizes of the structures that carry a local address.
const (
	sizeofInfo4 = 12 // in_pktinfo: interface index, local address, header address
	sizeofInfo6 = 20 // in6_pktinfo: address, interface index
)

// controlSpace is room for any control message written or expected here, in bytes.
const controlSpace = 64

// askForDestination makes the system report for every datagram the local
// address that it was sent to.
func askForDestination(udp *net.UDPConn, local netip.Addr) (controlKind, error) {
	raw, err := udp.SyscallConn()
	if err != nil {
		return noControl, err
	}
	if local.Is4() {
		return control4, controlFD(raw, func(fd uintptr) error {
			return unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
		})
	}
	return control6, controlFD(raw, func(fd uintptr) error {
		return unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1)
	})
}

// parseDestination returns the local address in control messages that came with
// a datagram; zero if they hold none that an answer can leave from.
func parseDestination(oob []byte) netip.Addr {
	for len(oob) >= unix.SizeofCmsghdr {
		hdr, data, rest, err := unix.ParseOneSocketControlMessage(oob)
		if err != nil {
			return netip.Addr{}
		}
		var a netip.Addr
		switch {
		case hdr.Level == unix.IPPROTO_IP && hdr.Type == unix.IP_PKTINFO && len(data) >= sizeofInfo4:
			a = netip.AddrFrom4([4]byte(data[info4Local : info4Local+4]))
		case hdr.Level == unix.IPPROTO_IPV6 && hdr.Type == unix.IPV6_PKTINFO && len(data) >= sizeofInfo6:
			a = netip.AddrFrom16([16]byte(data[:16])).Unmap()
		}
		if a.IsValid() && !a.IsUnspecified() && !a.IsMulticast() {
			return a
		}
		oob = rest
	}
	return netip.Addr{}
}

// appendSource appends the control message that makes a datagram leave from
// the given local address. It appends nothing if a socket of this kind cannot
// send from it: the system then chooses.
func appendSource(b []byte, kind controlKind, from netip.Addr) []byte {
	from = from.Unmap()
	switch {
	case kind == control4 && from.Is4():
		var info [sizeofInfo4]byte
		a := from.As4()
		copy(info[4:8], a[:])
		return appendControl(b, unix.IPPROTO_IP, unix.IP_PKTINFO, info[:])
	case kind == control6:
		var info [sizeofInfo6]byte
		a := from.As16()
		copy(info[:16], a[:])
		return appendControl(b, unix.IPPROTO_IPV6, unix.IPV6_PKTINFO, info[:])
	default:
		return b
	}
}

// appendControl appends one control message: length in the system's word size,
// level, kind, data, padding.
func appendControl(b []byte, level, kind int32, data []byte) []byte {
	end := len(b) + unix.CmsgSpace(len(data))
	if unix.SizeofCmsghdr == 16 {
		b = binary.NativeEndian.AppendUint64(b, uint64(unix.CmsgLen(len(data))))
	} else {
		b = binary.NativeEndian.AppendUint32(b, uint32(unix.CmsgLen(len(data))))
	}
	b = binary.NativeEndian.AppendUint32(b, uint32(level))
	b = binary.NativeEndian.AppendUint32(b, uint32(kind))
	b = append(b, data...)
	for len(b) < end {
		b = append(b, 0)
	}
	return b
}
