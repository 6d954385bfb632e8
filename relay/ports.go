package relay

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/netserve"
)

// ports is a range of ports, both ends included.
type ports struct{ low, high uint16 }

// parsePorts reads LOW-HIGH, as package configs has checked it.
func parsePorts(text string) ports {
	low, high, _ := strings.Cut(text, "-")
	l, _ := strconv.ParseUint(low, 10, 16)
	h, _ := strconv.ParseUint(high, 10, 16)
	return ports{uint16(l), uint16(h)}
}

// count returns how many ports there are.
func (p ports) count() int { return int(p.high) - int(p.low) + 1 }

// maxBinds is how many ports are tried before a pair is refused: others may use some.
const maxBinds = 32

// errNoPort reports that no port of the range could be opened.
var errNoPort = errors.New("no free port")

// bufferSize is the kernel's buffer of a socket in each direction, in bytes: more than a
// second of a pair.
const bufferSize = 256 << 10

// open opens a random port of the range that is not in use, on an address. taken
// reports whether a port is in use by this relay.
func (p ports) open(f *netserve.Forwarding, at netip.Addr, taken func(uint16) bool) (*netserve.ForwardPort, error) {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never returns an error
	first := int(binary.BigEndian.Uint32(random[:]) % uint32(p.count()))
	binds := 0
	var last error
	for i := range p.count() {
		port := p.low + uint16((first+i)%p.count())
		if taken(port) {
			continue
		}
		if binds++; binds > maxBinds {
			break
		}
		c, err := f.Port(context.Background(), netip.AddrPortFrom(at, port).String(),
			netserve.ListenOptions{ReadBuffer: bufferSize, WriteBuffer: bufferSize})
		if err == nil {
			return c, nil
		}
		last = err
	}
	if last != nil {
		return nil, fmt.Errorf("%w in %s: %w", errNoPort, p, last)
	}
	return nil, fmt.Errorf("%w in %s", errNoPort, p)
}

// String returns LOW-HIGH.
func (p ports) String() string {
	return strconv.Itoa(int(p.low)) + "-" + strconv.Itoa(int(p.high))
}
