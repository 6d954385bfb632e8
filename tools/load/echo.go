package main

import (
	"context"
	"crypto"
	"crypto/md5"
	"crypto/rand"
	"crypto/rsa"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/netserve"
)

// Requests of a bare server: as many bytes as a heartbeat has, answered
// with as many as its receipt, a list of 1,000 servers, or a page.
const (
	echoRequest = 1000
	echoAnswer  = 7
	echoList    = 94_500
	echoEpic    = 67_000    // 1,000 servers of Unreal Tournament
	echoHTML    = 54_000    // a page of 100 servers
	echoJSON    = 1_086_000 // 1,000 servers
	echoLongest = 64 << 20  // of answers over TCP
)

// echo is the barest server there is, over UDP, TCP and HTTP, in a process of its
// own.
// Its log is like respawnd's. It ends when ctx does.
func echo(ctx context.Context, log io.Writer) error {
	pc, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		return err
	}
	_ = pc.SetReadBuffer(netserve.DefaultReadBuffer) // the system may cap it
	site, err := newPages()
	if err != nil {
		return errors.Join(err, pc.Close())
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, pc.Close())
	}
	web, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, pc.Close(), ln.Close())
	}
	relay, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, pc.Close(), ln.Close(), web.Close())
	}
	packets, err := netserve.ListenPackets(ctx, "udp4", "127.0.0.1:0", netserve.ListenOptions{ReadBuffer: netserve.DefaultReadBuffer})
	if err != nil {
		return errors.Join(err, pc.Close(), ln.Close(), web.Close(), relay.Close())
	}
	for service, at := range map[string]fmt.Stringer{"udp": pc.LocalAddr(), "tcp": ln.Addr(), "web": web.Addr(), "fan": relay.Addr(), "null": packets.LocalAddr()} {
		_, _ = fmt.Fprintf(log, `{"level":"info","message":"listening","service":%q,"address":%q}`+"\n", service, at)
	}
	_, _ = fmt.Fprintln(log, `{"level":"info","message":"ready"}`)
	var wg sync.WaitGroup
	wg.Go(func() { echoPackets(pc) })
	wg.Go(func() { newNull().serve(ctx, packets) })
	accept := func(ln net.Listener, serve func(context.Context, net.Conn)) {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { serve(ctx, conn) })
		}
	}
	wg.Go(func() { accept(ln, echoConn) })
	wg.Go(func() { accept(relay, new(fan).serve) })
	server := &http.Server{Handler: site, ReadHeaderTimeout: timeout}
	wg.Go(func() { _ = server.Serve(web) }) // until it is closed
	<-ctx.Done()
	err = errors.Join(pc.Close(), ln.Close(), relay.Close(), server.Close(), packets.Close())
	wg.Wait()
	return err
}

func echoPackets(pc *net.UDPConn) {
	buf := make([]byte, 2*echoRequest)
	for {
		_, from, err := pc.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		_, _ = pc.WriteToUDPAddrPort(buf[:echoAnswer], from) // a lost answer, as elsewhere
	}
}

// echoConn answers each request with as many bytes as it asks for in its first
// four.
func echoConn(ctx context.Context, conn net.Conn) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer func() { _ = conn.Close() }()
	buf := make([]byte, echoList)
	for {
		if _, err := io.ReadFull(conn, buf[:echoRequest]); err != nil {
			return
		}
		for left := min(binary.BigEndian.Uint32(buf), echoLongest); left > 0; {
			n, err := conn.Write(buf[:min(left, echoList)])
			if err != nil {
				return
			}
			left -= uint32(n)
		}
	}
}

// echoBody is the content of pages of the bare server.
var echoBody = make([]byte, echoJSON)

// signPath begins the paths of pages for which the bare server makes a signature.
const signPath = "/sign/"

// pages answers requests of the bare server over HTTP.
type pages struct{ key *rsa.PrivateKey }

// newPages returns pages with a key as games know it.
func newPages() (*pages, error) {
	key, err := rsa.GenerateKey(rand.Reader, 1024) // games know no longer ones
	return &pages{key}, err
}

// ServeHTTP answers with as many bytes as the path says.
func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, sign := strings.CutPrefix(r.URL.Path, signPath)
	n, _ := strconv.Atoi(strings.TrimPrefix(path, "/"))
	_, _ = io.Copy(io.Discard, r.Body) // missing packets are not reported
	if sum := md5.Sum(nil); sign {
		_, _ = rsa.SignPKCS1v15(nil, p.key, crypto.MD5, sum[:])
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(n))
	_, _ = w.Write(echoBody[:min(n, echoJSON)]) // the visitor may have gone
}

// startEcho runs echo in a child process.
func startEcho(ctx context.Context) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), self) // this program itself
	cmd.Env = append(os.Environ(), echoVariable+"=1")
	return start(ctx, cmd)
}

// echoVariable marks a child that is to be a bare server.
const echoVariable = "LOAD_ECHO"

// packetEcho sends datagrams to the bare server.
type packetEcho struct{ *netclient.Packets }

// echoPacket is the packet that is sent.
var echoPacket = make([]byte, echoRequest)

func openPacketEcho(_ context.Context, w *world, i int) (user, error) {
	c, err := dialUDP(address(groupEcho, i), w.daemon.at("udp"))
	if err != nil {
		return nil, err
	}
	return packetEcho{c}, nil
}

func (e packetEcho) do(context.Context) error {
	if err := e.Send(echoPacket); err != nil {
		return err
	}
	return e.Await(soon(), func(p []byte, _ netip.AddrPort) (bool, error) { return len(p) == echoAnswer, nil })
}

func (e packetEcho) close(bool) { _ = e.Close() }

// streamEcho asks the bare server over TCP: on one connection, or on a new one
// each time.
type streamEcho struct {
	w    *world
	i    int
	size uint32 // of the answer
	held net.Conn
	buf  []byte
}

// streamEchoes returns an opener of users that want answers of that size.
func streamEchoes(size uint32, held bool) opener {
	return func(ctx context.Context, w *world, i int) (user, error) {
		e := &streamEcho{w: w, i: i, size: size, buf: make([]byte, max(size, echoRequest))}
		if !held {
			return e, nil
		}
		var err error
		e.held, err = e.dial(ctx)
		return e, err
	}
}

func (e *streamEcho) dial(ctx context.Context) (net.Conn, error) {
	return dialTCP(ctx, address(groupEcho, e.i), e.w.daemon.at("tcp"))
}

func (e *streamEcho) do(ctx context.Context) error {
	conn := e.held
	if conn == nil {
		var err error
		if conn, err = e.dial(ctx); err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
	}
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	binary.BigEndian.PutUint32(e.buf, e.size)
	if _, err := conn.Write(e.buf[:echoRequest]); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, e.buf[:e.size])
	return err
}

func (e *streamEcho) close(bool) {
	if e.held != nil {
		_ = e.held.Close()
	}
}

// cipherTime returns the processor time of enciphering a list of a number of bytes,
// which no server can do without: each client has a key of its own.
func cipherTime(size int) (time.Duration, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := threadTime()
	if err != nil {
		return 0, err
	}
	rounds := max(1, 200*echoList/max(size, 1))
	list := make([]byte, size)
	key := gamespy.BrowseKey(secret, [8]byte{}, []byte("challenge of the server"))
	for range rounds {
		c := gamespy.NewCipher(key[:])
		c.Encrypt(list, list)
	}
	after, err := threadTime()
	return (after - before) / time.Duration(rounds), err
}

// threadTime returns the processor time of the calling thread.
func threadTime() (time.Duration, error) {
	const thisThread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	if err := syscall.Getrusage(thisThread, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
