package netserve

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// packetBuffer is larger than any UDP datagram, in bytes: some systems make a
// datagram that does not fit a read error.
const packetBuffer = 64 << 10

// Pauses after read errors that follow each other without a datagram between.
const (
	readErrorsFree = 16 // errors in a row before the first pause
	readPauseFirst = time.Millisecond
	readPauseMost  = 50 * time.Millisecond
)

// Packet is one received datagram. Data is only valid during the call.
type Packet struct {
	Data []byte         // 0 to 65,507 bytes
	From netip.AddrPort // sender, IPv4 addresses unmapped; an IPv6 zone is a number on Linux
	// To is the local address that it was sent to; zero if the platform does
	// not report it (wildcard sockets on systems other than Linux and macOS) or
	// if no answer can leave from it (multicast). For a broadcast on Linux it
	// is the address of the receiving interface. macOS does not report it for
	// IPv4 on a socket that has IPv6 too: use "udp4" there.
	To netip.Addr
}

// PacketWriter sends datagrams from a socket. A PacketConn may be used
// concurrently until it is closed. The PacketWriter passed to a handler is
// valid during the call only: short datagrams may be sent shortly after it,
// together with those of other calls and in their order; if the system then
// rejects one, that is counted as a drop and not returned.
type PacketWriter interface {
	// WritePacket sends data to `to`, leaving from the local address `from`.
	// With a zero `from` the system chooses; `from` matters only on a socket
	// that is bound to a wildcard address, and there only on Linux and macOS
	// (on others, Windows included, the system always chooses: bind to the
	// address itself on a host with several). data is not kept after the call.
	// WritePacket blocks while the send buffer is full.
	WritePacket(data []byte, from netip.Addr, to netip.AddrPort) error
}

// PacketHandler handles datagrams. ServePacket must not keep w or p.Data and
// must not block: nothing else is read from that reader meanwhile. It is called
// concurrently when there is more than one socket or reader. A panic in it only
// loses that packet; it is counted and logged.
type PacketHandler interface {
	ServePacket(w PacketWriter, p Packet)
}

// PacketOptions control how ServePackets reads. The zero value is usable.
type PacketOptions struct {
	// Readers is the number of reading goroutines per socket; 0 means 1.
	// Packets keep their order only with one reader.
	Readers int
	Log     zerolog.Logger
	Metrics *Metrics // nil: nothing is counted
}

// ServePackets reads datagrams from pc and passes each to h until ctx ends; it
// then returns nil. Read errors of single datagrams and temporary errors are
// counted and do not end it; an error of the socket itself ends it and is
// returned. All readers have ended when it returns. pc stays open and belongs
// to the caller; only one ServePackets may run on it at a time.
func ServePackets(ctx context.Context, pc *PacketConn, h PacketHandler, opt PacketOptions) error {
	if err := pc.setReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("serve packets on %s: %w", pc.local, err)
	}
	pc.metrics.Store(opt.Metrics)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	perSocket := max(opt.Readers, 1)
	panics := newPanicLog(opt.Log, opt.Metrics)
	ended := make(chan error, perSocket*len(pc.sockets))
	var wg sync.WaitGroup
	for _, s := range pc.sockets {
		for range perSocket {
			r := &packetReader{
				sock: s, handler: h, panics: panics, metrics: opt.Metrics,
				errLog: throttledLog{log: opt.Log},
			}
			wg.Go(func() { ended <- r.run(ctx) })
		}
	}

	var err error
	select {
	case <-ctx.Done():
	case err = <-ended: // nil only after ctx has ended
	}
	cancel()
	_ = pc.setReadDeadline(time.Unix(1, 0)) // fails only on a closed socket, which wakes the readers too
	wg.Wait()
	return err
}

// packetReader is one reading goroutine.
type packetReader struct {
	sock    *socket
	handler PacketHandler
	panics  *panicLog
	metrics *Metrics
	errLog  throttledLog
}

// run reads until ctx ends (nil) or the socket is broken.
func (r *packetReader) run(ctx context.Context) error {
	b, err := newBatch(r.sock)
	if err != nil {
		return fmt.Errorf("serve packets on %s: %w", r.sock.conn.local, err)
	}
	pause := backoff{free: readErrorsFree, first: readPauseFirst, most: readPauseMost}
	for {
		n, err := b.fill()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			if !isTransient(err) {
				return fmt.Errorf("serve packets on %s: %w", r.sock.conn.local, err)
			}
			r.metrics.Drop(dropReadError)
			r.errLog.warn(time.Now(), err, "reading packets has trouble")
			if !pause.wait(ctx) {
				return nil
			}
			continue
		}
		pause.reset()
		watch := r.metrics.watching()
		for i := range n {
			p := b.packet(i)
			r.metrics.packet(watch, Heard, r.sock.conn.local.Port(), p.From, p.Data)
			r.serve(b, p)
		}
		b.flush()
	}
}

func (r *packetReader) serve(w PacketWriter, p Packet) {
	defer r.panics.contain("packet")
	r.handler.ServePacket(w, p)
}
