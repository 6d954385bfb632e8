package nettest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Limits of Wires.
const (
	wireMTU    = 1500
	wireQueued = 1 << 15 // packets on their way to one namespace; more are lost
)

// Wires is a network between namespaces whose packets this process carries, so that a
// test decides which of them are lost and how long each takes. Unlike the traffic control
// of the kernel that needs no module but TUN devices. Its addresses are of IPv4.
//
// The zero value is not usable, see NewWires.
type Wires struct {
	t    testing.TB
	done chan struct{} // closed with the end of the test

	mu    sync.Mutex // guards the fields below
	ends  map[netip.Addr]*wire
	cut   map[[2]netip.Addr]bool // by source and destination
	slow  map[[2]netip.Addr]slowness
	count WireCounts
}

// WireCounts are the packets of Wires so far.
type WireCounts struct {
	Carried int
	Lost    int // by a slow link that loses some
	Cut     int // because their addresses are cut apart
	Full    int // because too many were on their way
}

type slowness struct {
	delay time.Duration
	loss  float64
}

// wire is the end of the network in one namespace.
type wire struct {
	device *os.File
	prompt chan flying
	late   chan flying // those that a slow link delays, in order
}

// flying is a packet on its way.
type flying struct {
	at   time.Time
	data []byte
}

// NewWires returns a network that no namespace is part of. It ends with the test.
func NewWires(t testing.TB) *Wires {
	t.Helper()
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		t.Skipf("this network needs TUN devices: %v", err)
	}
	w := &Wires{
		t: t, done: make(chan struct{}),
		ends: make(map[netip.Addr]*wire), cut: make(map[[2]netip.Addr]bool), slow: make(map[[2]netip.Addr]slowness),
	}
	return w
}

// Attach makes a namespace, by its full name, part of the network, with addresses in CIDR
// form. Packets to others of the same prefixes go into the network.
func (w *Wires) Attach(space string, addresses ...netip.Prefix) {
	w.t.Helper()
	device, err := openTUN(space, "wire")
	if err != nil {
		w.t.Fatalf("a device of namespace %s: %v", space, err)
	}
	end := &wire{device: device, prompt: make(chan flying, wireQueued), late: make(chan flying, wireQueued)}
	var running sync.WaitGroup
	running.Go(func() { w.read(end) })
	running.Go(func() { w.write(end, end.prompt) })
	running.Go(func() { w.write(end, end.late) })
	w.t.Cleanup(func() {
		w.stop()
		_ = device.Close()
		running.Wait()
	})
	w.mu.Lock()
	for _, a := range addresses {
		w.ends[a.Addr()] = end
	}
	w.mu.Unlock()
	for _, a := range addresses {
		w.ip("-n", space, "address", "add", a.String(), "dev", "wire")
	}
	w.ip("-n", space, "link", "set", "wire", "mtu", fmt.Sprint(wireMTU), "up")
}

func (w *Wires) ip(args ...string) {
	w.t.Helper()
	if out, err := exec.CommandContext(w.t.Context(), "ip", args...).CombinedOutput(); err != nil {
		w.t.Fatalf("ip %q: %v\n%s", args, err, out)
	}
}

// openTUN opens a new TUN device in a namespace.
func openTUN(space, name string) (*os.File, error) {
	type result struct {
		f   *os.File
		err error
	}
	opened := make(chan result)
	go func() {
		runtime.LockOSThread() // for ever: the thread ends with the goroutine
		f, err := openTUNHere(space, name)
		opened <- result{f, err}
	}()
	r := <-opened
	return r.f, r.err
}

func openTUNHere(space, name string) (*os.File, error) {
	ns, err := os.Open("/run/netns/" + space)
	if err != nil {
		return nil, err
	}
	defer func() { _ = ns.Close() }()
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, os.NewSyscallError("setns", err)
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("open", err)
	}
	request, err := unix.NewIfreq(name)
	if err == nil {
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = os.NewSyscallError("TUNSETIFF", unix.IoctlIfreq(fd, unix.TUNSETIFF, request))
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), name), nil // after the device is there, or it cannot be polled
}

// Cut loses all packets between addresses of one list and of the other from now on.
func (w *Wires) Cut(some, others []netip.Addr) {
	w.CutFrom(some, others)
	w.CutFrom(others, some)
}

// CutFrom loses all packets from addresses of one list to those of the other from now on.
func (w *Wires) CutFrom(some, others []netip.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range some {
		for _, b := range others {
			w.cut[[2]netip.Addr{a, b}] = true
		}
	}
}

// Slow delays packets between different addresses of a list from now on, and loses a part
// of them.
func (w *Wires) Slow(all []netip.Addr, delay time.Duration, loss float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, a := range all {
		for _, b := range all[i+1:] {
			w.slow[pairOf(a, b)] = slowness{delay, loss}
		}
	}
}

// Heal undoes Cut and Slow.
func (w *Wires) Heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.cut)
	clear(w.slow)
}

// Counts returns the packets so far.
func (w *Wires) Counts() WireCounts {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

func pairOf(a, b netip.Addr) [2]netip.Addr {
	if b.Less(a) {
		a, b = b, a
	}
	return [2]netip.Addr{a, b}
}

func (w *Wires) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.done:
	default:
		close(w.done)
	}
}

// read carries the packets that leave a namespace.
func (w *Wires) read(from *wire) {
	buf := make([]byte, 1<<16)
	for {
		n, err := from.device.Read(buf)
		if err != nil {
			return
		}
		if n < 20 || buf[0]>>4 != 4 {
			continue // IPv6 looks for neighbours
		}
		w.carry(buf[:n])
	}
}

func (w *Wires) carry(packet []byte) {
	from, to := netip.AddrFrom4([4]byte(packet[12:16])), netip.AddrFrom4([4]byte(packet[16:20]))
	w.mu.Lock()
	defer w.mu.Unlock()
	end, slow := w.ends[to], w.slow[pairOf(from, to)]
	switch {
	case end == nil:
		return
	case w.cut[[2]netip.Addr{from, to}]:
		w.count.Cut++
		return
	case slow.loss > 0 && rand.Float64() < slow.loss:
		w.count.Lost++
		return
	}
	queue := end.prompt
	if slow.delay > 0 {
		queue = end.late
	}
	select {
	case queue <- flying{time.Now().Add(slow.delay), append([]byte(nil), packet...)}:
		w.count.Carried++
	default:
		w.count.Full++
	}
}

// write delivers the packets of a queue to a namespace, each when it is due.
func (w *Wires) write(to *wire, queue <-chan flying) {
	for {
		select {
		case <-w.done:
			return
		case p := <-queue:
			if wait := time.Until(p.at); wait > 0 {
				select {
				case <-w.done:
					return
				case <-time.After(wait):
				}
			}
			_, _ = to.device.Write(p.data) // an error: the device is down
		}
	}
}
