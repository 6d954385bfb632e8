package dnsserver

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
)

const (
	// maxForged is the maximum number of packets that do not match which are
	// read per question.
	maxForged = 16
	// maxPacket is the length of the longest packet that is read.
	maxPacket = 4096
	// portTries is the number of random ports that are tried, since they may be
	// taken.
	portTries = 4
)

// errForged is returned after maxForged packets that do not match.
var errForged = errors.New("dnsserver: too many packets that answer another question")

// askOne queries one upstream and waits for its answer, over TCP if it does not
// fit into a packet.
//
// dns.Conn does the transport. dns.Client does not fit: over UDP it accepts any
// message with the right ID, even for another question, and gives up at the
// first malformed packet, so one forged packet would suffice.
func (f *forwarder) askOne(ctx context.Context, to netip.AddrPort, q question) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, f.tryTime)
	defer cancel()
	conn, err := dialPackets(ctx, to)
	if err != nil {
		return nil, err
	}
	m, err := exchange(ctx, conn, q, maxForged)
	if err != nil || !m.Truncated {
		return m, err
	}
	if conn, err = new(net.Dialer).DialContext(ctx, "tcp", to.String()); err == nil {
		if whole, err := exchange(ctx, conn, q, 1); err == nil {
			return whole, nil
		}
	}
	return m, nil // the client may try by itself
}

// message returns the message for a question, with a random ID.
func (q question) message() *dns.Msg {
	m := &dns.Msg{
		MsgHdr:   dns.MsgHdr{Id: dns.Id(), RecursionDesired: true, CheckingDisabled: q.cd},
		Question: []dns.Question{{Name: q.name, Qtype: q.kind, Qclass: dns.ClassINET}},
	}
	return m.SetEdns0(maxAnswer, q.do)
}

// answeredBy returns the message in p if it answers the question and can be
// repeated to clients.
func (q question) answeredBy(p []byte, id uint16) (*dns.Msg, bool) {
	m := new(dns.Msg)
	if m.Unpack(p) != nil || m.Id != id || !m.Response || m.Opcode != dns.OpcodeQuery || len(m.Question) != 1 {
		return nil, false
	}
	got := m.Question[0]
	return m, strings.EqualFold(got.Name, q.name) && got.Qtype == q.kind && got.Qclass == dns.ClassINET && repeatable(m)
}

// repeatable reports whether a message, written again, has the same records.
// Records without data do not if their type has fields, since the reader skips
// them and the writer does not; any other difference shows when it is read.
func repeatable(m *dns.Msg) bool {
	for _, section := range [][]dns.RR{m.Answer, m.Ns, m.Extra} {
		if slices.ContainsFunc(section, hollow) {
			return false
		}
	}
	p, err := m.Pack()
	return err == nil && new(dns.Msg).Unpack(p) == nil
}

// hollow reports whether a record was read without the fields of its type.
func hollow(rr dns.RR) bool {
	return rr.Header().Rdlength == 0 && dns.Len(rr) > dns.Len(rr.Header())
}

// exchange sends a question over a connection, which it closes, and reads up to
// most messages until one is the answer. UDP sockets are connected, so the
// system drops packets from other addresses.
func exchange(ctx context.Context, conn net.Conn, q question, most int) (*dns.Msg, error) {
	defer func() { _ = conn.Close() }()
	defer wakeAt(ctx, conn)()
	c, ask := &dns.Conn{Conn: conn, UDPSize: maxPacket}, q.message()
	if err := c.WriteMsg(ask); err != nil {
		return nil, err
	}
	for range most {
		p, err := c.ReadMsgHeader(nil)
		if err != nil && !errors.Is(err, dns.ErrShortRead) {
			return nil, err
		}
		if m, ok := q.answeredBy(p, ask.Id); ok {
			return m, nil
		}
	}
	return nil, errForged
}

// dialPackets opens a socket on a port that cannot be guessed.
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

// wakeAt ends reads and writes of conn when ctx ends. The returned function
// stops that.
func wakeAt(ctx context.Context, conn net.Conn) (stop func() bool) {
	return context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
}
