package dnsserver

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/miekg/dns"
)

const (
	// maxForged is how many packets that are no answer are read per question.
	maxForged = 16
	// portTries is how often a port of our choice is tried that may be taken.
	portTries = 4
)

// errForged is returned when packets that are no answer came without end.
var errForged = errors.New("dnsserver: too many packets that answer another question")

// askOne asks one upstream and waits for its answer, over TCP if it does not fit
// into a packet.
func (f *forwarder) askOne(ctx context.Context, to netip.AddrPort, q question) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, f.tryTime)
	defer cancel()
	m, err := askPackets(ctx, to, q)
	if err != nil || !m.Truncated {
		return m, err
	}
	if whole, err := askStream(ctx, to, q); err == nil {
		return whole, nil
	}
	return m, nil // the client may try by itself
}

// message returns a message that asks a question, and its identification.
func (q question) message() ([]byte, uint16, error) {
	var random [2]byte
	_, _ = rand.Read(random[:]) // never returns an error
	m := dns.Msg{
		MsgHdr:   dns.MsgHdr{Id: binary.BigEndian.Uint16(random[:]), RecursionDesired: true, CheckingDisabled: q.cd},
		Question: []dns.Question{{Name: q.name, Qtype: q.kind, Qclass: dns.ClassINET}},
	}
	m.SetEdns0(maxAnswer, q.do)
	b, err := m.Pack()
	return b, m.Id, err
}

// answeredBy returns the message in p if it answers the question.
func (q question) answeredBy(p []byte, id uint16) (*dns.Msg, bool) {
	if len(p) < headerSize || binary.BigEndian.Uint16(p) != id {
		return nil, false
	}
	m := new(dns.Msg)
	if m.Unpack(p) != nil || !m.Response || m.Opcode != dns.OpcodeQuery || len(m.Question) != 1 {
		return nil, false
	}
	got := m.Question[0]
	return m, strings.EqualFold(got.Name, q.name) && got.Qtype == q.kind && got.Qclass == dns.ClassINET
}

// askPackets asks over UDP. The socket is connected, so the system drops what
// comes from other addresses.
func askPackets(ctx context.Context, to netip.AddrPort, q question) (*dns.Msg, error) {
	packet, id, err := q.message()
	if err != nil {
		return nil, err
	}
	conn, err := dialPackets(ctx, to)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	defer wakeAt(ctx, conn)()
	if _, err := conn.Write(packet); err != nil {
		return nil, err
	}
	var buf [4096]byte
	for range maxForged {
		n, err := conn.Read(buf[:])
		if err != nil {
			return nil, err
		}
		if m, ok := q.answeredBy(buf[:n], id); ok {
			return m, nil
		}
	}
	return nil, errForged
}

// dialPackets opens a socket on a port that nobody can guess.
func dialPackets(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	for range portTries {
		var random [2]byte
		_, _ = rand.Read(random[:])
		// Ports above those of well-known services.
		d.LocalAddr = &net.UDPAddr{Port: 1<<14 + int(binary.BigEndian.Uint16(random[:]))%(1<<16-1<<14)}
		if conn, err := d.DialContext(ctx, "udp", to.String()); err == nil {
			return conn, nil
		}
	}
	d.LocalAddr = nil
	return d.DialContext(ctx, "udp", to.String())
}

// askStream asks over TCP.
func askStream(ctx context.Context, to netip.AddrPort, q question) (*dns.Msg, error) {
	message, id, err := q.message()
	if err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", to.String())
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	defer wakeAt(ctx, conn)()
	framed := append(binary.BigEndian.AppendUint16(nil, uint16(len(message))), message...)
	if _, err := conn.Write(framed); err != nil {
		return nil, err
	}
	var length [2]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return nil, err
	}
	answer := make([]byte, binary.BigEndian.Uint16(length[:]))
	if _, err := io.ReadFull(conn, answer); err != nil {
		return nil, err
	}
	if m, ok := q.answeredBy(answer, id); ok {
		return m, nil
	}
	return nil, errForged
}

// wakeAt ends reads and writes of conn with ctx. The function that it returns
// stops that.
func wakeAt(ctx context.Context, conn net.Conn) (stop func() bool) {
	return context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
}
