package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/quake3"
)

// otherMaster is a master that a daemon reads: it answers each request with the same list.
type otherMaster struct {
	conn    *net.UDPConn
	list    [][]byte
	reads   atomic.Int64
	serving sync.WaitGroup
}

// openOtherMaster opens a master with a list of servers.
func openOtherMaster(i int, servers []netip.AddrPort) (*otherMaster, error) {
	c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(address(groupMasters, i), 0)))
	if err != nil {
		return nil, err
	}
	m := &otherMaster{conn: c, list: quake3.AppendLists(nil, servers, false)}
	m.serving.Go(m.serve)
	return m, nil
}

// serve answers until the socket is closed.
func (m *otherMaster) serve() {
	buf := make([]byte, readSize)
	for {
		n, from, err := m.conn.ReadFromUDPAddrPort(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if kind, _, _ := quake3.Cut(buf[:n]); err != nil || kind != quake3.KindGetServers {
			continue
		}
		m.reads.Add(1)
		for _, p := range m.list {
			_, _ = m.conn.WriteToUDPAddrPort(p, from)
		}
	}
}

func (m *otherMaster) close() {
	_ = m.conn.Close()
	m.serving.Wait()
}

// entry is the entry of federation.masters. The name allows loopback addresses.
func (m *otherMaster) entry(i int) string {
	return fmt.Sprintf("q3 %s game=%s protocol=%d name=lan-%d", m.conn.LocalAddr(), quake3Game, quake3Protocol, i)
}

// federationOptions say how the reading of other masters is measured.
type federationOptions struct {
	program string
	length  time.Duration
	masters int
	servers int // of each
}

// readEvery is how often a master is read here, the least that the daemon allows, and
// usualEvery how often it is read by default.
const (
	readEvery  = 30 * time.Second
	usualEvery = 5 * time.Minute
)

var errNotRead = errors.New("the other masters were not read")

// federated measures the costs of reading other masters: the processor time of a daemon that
// reads them, less that of one that does not. Their servers are known after the first
// reading, and almost none is queried.
func federated(ctx context.Context, out io.Writer, opt federationOptions) error {
	load, _ := os.ReadFile("/proc/loadavg")
	_, _ = fmt.Fprintf(out, "%s, %s\nload before: %s", time.Now().UTC().Format(time.DateTime), machine(), load)
	var all []*otherMaster
	defer func() {
		for _, m := range all {
			m.close()
		}
	}()
	var entries []string
	for i := range opt.masters {
		m, err := openOtherMaster(i, toldServers(i, opt.servers))
		if err != nil {
			return err
		}
		all, entries = append(all, m), append(entries, m.entry(i))
	}
	reads := func() (n int64) {
		for _, m := range all {
			n += m.reads.Load()
		}
		return n
	}
	settings := []string{
		"probe.rate=1", "probe.max_servers=1000000", "federation.every=" + readEvery.String(), "net.trusted=127.0.0.0/8",
	}
	alone, _, err := opt.cost(ctx, settings, func() int64 { return int64(opt.masters) })
	if err != nil {
		return err
	}
	with, n, err := opt.cost(ctx, append(settings, "federation.masters="+strings.Join(entries, ",")), reads)
	if err != nil {
		return err
	}
	if n == 0 {
		return errNotRead
	}
	each := (with.cpu - alone.cpu) / time.Duration(n)
	_, _ = fmt.Fprintf(out, "%d masters with %d servers: %d readings in %s, %.1f ms of processor time each, %.0f MiB more\n",
		opt.masters, opt.servers, n, opt.length, each.Seconds()*1e3, mib(with.rss-alone.rss))
	_, _ = fmt.Fprintf(out, "read every %s: %.2f %% of a core\n", usualEvery, 100*each.Seconds()*float64(opt.masters)/usualEvery.Seconds())
	return nil
}

// cost measures a daemon from its second readings on. n is the number of readings.
func (o federationOptions) cost(ctx context.Context, settings []string, reads func() int64) (c cost, n int64, err error) {
	dir, err := os.MkdirTemp("", "respawnd-load")
	if err != nil {
		return c, 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	d, err := startDaemon(ctx, o.program, dir, settings...)
	if err != nil {
		return c, 0, err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	for end := time.Now().Add(2 * readEvery); reads() < int64(o.masters); {
		if time.Now().After(end) || !pause(ctx, time.Second) {
			return c, 0, fmt.Errorf("%w: %d readings of %d masters; %s", errNotRead, reads(), o.masters, strings.Join(d.complaints, "\n"))
		}
	}
	pause(ctx, 5*time.Second) // the lists read are taken in
	before, err := d.measure()
	if err != nil {
		return c, 0, err
	}
	first := reads()
	pause(ctx, o.length)
	if c, err = d.measure(); err != nil {
		return c, 0, err
	}
	c.cpu -= before.cpu
	return c, reads() - first, ctx.Err()
}

// toldServers are servers of a master that do not answer: other ones than those of the
// other masters.
func toldServers(master, n int) []netip.AddrPort {
	list := make([]netip.AddrPort, n)
	for i := range list {
		var ip [4]byte
		binary.BigEndian.PutUint32(ip[:], 127<<24|uint32(groupTold)<<16|uint32(master)<<8|uint32(i%250+1))
		list[i] = netip.AddrPortFrom(netip.AddrFrom4(ip), uint16(27000+i/250))
	}
	return list
}

// The other master of a soak, and its servers.
const (
	soakTold  = 50
	soakEvery = 30 * time.Second
)

// soakFederation opens a master with servers that answer, which a soak's daemon reads.
// settings are those of the daemon.
func soakFederation() (m *otherMaster, settings []string, stop func(), err error) {
	w := &world{daemon: &child{}}
	var hosts []*quake3Server
	stop = func() {
		for _, h := range hosts {
			h.close(true)
		}
		if m != nil {
			m.close()
		}
	}
	var servers []netip.AddrPort
	for i := range soakTold {
		c, err := w.bind(address(groupTold, i+1), netip.AddrPort{}, false)
		if err != nil {
			stop()
			return nil, nil, nil, err
		}
		h := newQuake3Server(c, "Told", i)
		hosts, servers = append(hosts, h), append(servers, c.Local())
	}
	if m, err = openOtherMaster(0, servers); err != nil {
		stop()
		return nil, nil, nil, err
	}
	return m, []string{"federation.masters=" + m.entry(0), "federation.every=" + soakEvery.String()}, stop, nil
}
