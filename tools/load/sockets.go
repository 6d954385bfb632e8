package main

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// queue is the state of the receive buffer of a UDP socket.
type queue struct {
	unread  int // bytes that wait to be read, with the system's own share of each packet
	dropped int // packets that found it full
}

var errSocketTable = errors.New("/proc/net/udp is not understood")

// readQueues returns the queues of all UDP sockets over IPv4, by local address. Those of
// sockets that share an address are added.
func readQueues() (map[netip.AddrPort]queue, error) {
	table, err := os.ReadFile("/proc/net/udp")
	if err != nil {
		return nil, err
	}
	return parseQueues(string(table))
}

// parseQueues parses the text of /proc/net/udp on a little-endian machine. Its first line
// is a heading.
func parseQueues(table string) (map[netip.AddrPort]queue, error) {
	queues := make(map[netip.AddrPort]queue)
	_, rest, _ := strings.Cut(table, "\n")
	for line := range strings.Lines(rest) {
		f := strings.Fields(line)
		if len(f) < 13 {
			return nil, errSocketTable
		}
		address, port, _ := strings.Cut(f[1], ":")
		_, unread, _ := strings.Cut(f[4], ":")
		ip, err1 := hex.DecodeString(address)
		number, err2 := strconv.ParseUint(port, 16, 16)
		bytes, err3 := strconv.ParseUint(unread, 16, 32)
		dropped, err4 := strconv.Atoi(f[len(f)-1])
		if err := errors.Join(err1, err2, err3, err4); err != nil || len(ip) != 4 {
			return nil, errors.Join(errSocketTable, err)
		}
		binary.BigEndian.PutUint32(ip, binary.LittleEndian.Uint32(ip))
		at := netip.AddrPortFrom(netip.AddrFrom4([4]byte(ip)), uint16(number))
		q := queues[at]
		queues[at] = queue{q.unread + int(bytes), q.dropped + dropped}
	}
	return queues, nil
}

// drops returns how many datagrams the system has dropped because the receive
// buffer of the sockets on a UDP port was full.
func drops(port uint16) (n int, err error) {
	queues, err := readQueues()
	for at, q := range queues {
		if at.Port() == port {
			n += q.dropped
		}
	}
	return n, err
}

// worstQueues is the longest queue and the number of dropped packets of each service.
type worstQueues map[string]queue

// note adds the present queues of services. It returns the longest.
func (w worstQueues) note(services map[string]netip.AddrPort, queues map[netip.AddrPort]queue) (longest int) {
	for service, at := range services {
		if q, found := queues[at]; found {
			w[service] = queue{max(w[service].unread, q.unread), q.dropped}
			longest = max(longest, q.unread)
		}
	}
	return longest
}

// longQueue is a queue that the summary names, in bytes.
const longQueue = 256 << 10

// write writes the services that had a long queue or lost packets.
func (w worstQueues) write(out io.Writer) {
	for _, service := range slices.Sorted(maps.Keys(w)) {
		if q := w[service]; q.unread >= longQueue || q.dropped > 0 {
			_, _ = fmt.Fprintf(out, "%s read too slowly: up to %d KiB waited in its socket at a sample, %d packets found it full\n",
				service, q.unread>>10, q.dropped)
		}
	}
}
