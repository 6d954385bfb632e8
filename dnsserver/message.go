package dnsserver

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// Sizes of messages in bytes.
const (
	headerSize = 12
	// maxQuery is the longest message that is read from a client.
	maxQuery = 1232
	// maxAnswer is the longest answer over UDP; longer ones may be lost on the
	// way. It is sent to upstreams, too.
	maxAnswer = 1232
	maxRecord = 2 // records of a question: EDNS and a signature
)

// ttl is how long clients may cache an address, or that a name has no record of a type, in
// seconds.
const ttl = 60

// Times of a SOA, in seconds, for servers that copy zones. There are none here.
const (
	refresh = 3600
	retry   = 600
	expire  = 86_400
)

// query is a question of a client. The zero value is ready for use; it can be
// reused.
type query struct {
	msg  dns.Msg
	opt  *dns.OPT // nil: the client does not know EDNS
	name string   // in lower case, without the final dot
}

// question returns the question. It may be called after a successful read.
func (q *query) question() dns.Question { return q.msg.Question[0] }

// clone returns a copy that outlives q.
func (q *query) clone() query {
	c := *q
	c.msg.Question = slices.Clone(q.msg.Question)
	c.msg.Extra = nil
	return c
}

// limit returns the maximum length of an answer over UDP.
func (q *query) limit() int {
	if q.opt == nil {
		return dns.MinMsgSize
	}
	return min(max(int(q.opt.UDPSize()), dns.MinMsgSize), maxAnswer)
}

// read parses a message. code is dns.RcodeSuccess if it is a question that can
// be answered, else the code to answer with. ok is false if it must not be
// answered.
func (q *query) read(p []byte) (code int, ok bool) {
	q.opt, q.name = nil, ""
	if len(p) < headerSize || p[2]&0x80 != 0 {
		return 0, false // an answer to an answer would never end
	}
	// The counts in the header are checked before memory is allocated.
	switch {
	case int(p[2])>>3&0xF != dns.OpcodeQuery:
		return dns.RcodeNotImplemented, true
	case len(p) > maxQuery, binary.BigEndian.Uint16(p[4:]) != 1,
		binary.BigEndian.Uint32(p[6:]) != 0, binary.BigEndian.Uint16(p[10:]) > maxRecord:
		return dns.RcodeFormatError, true
	}
	if q.msg.Unpack(p) != nil || len(q.msg.Question) != 1 {
		return dns.RcodeFormatError, true
	}
	q.opt = q.msg.IsEdns0()
	ask := q.question()
	q.name = strings.TrimSuffix(strings.ToLower(ask.Name), ".")
	if strings.Contains(q.name, `\`) {
		q.name = "" // not a host name: a dot in it may be part of a label
	}
	switch {
	case q.opt != nil && q.opt.Version() != 0:
		return dns.RcodeBadVers, true
	case ask.Qclass != dns.ClassINET || refusedType(ask.Qtype):
		return dns.RcodeRefused, true
	}
	return dns.RcodeSuccess, true
}

// refusedType reports whether a type requests more than one kind of record.
func refusedType(t uint16) bool {
	switch t {
	case dns.TypeANY, dns.TypeAXFR, dns.TypeIXFR, dns.TypeMAILA, dns.TypeMAILB:
		return true
	default:
		return false
	}
}

// appendHeader appends an answer, which is only a header, to a message that
// could not be parsed.
func appendHeader(dst, message []byte, code int) []byte {
	dst = append(dst, message[0], message[1], message[2]&0x79|0x80, byte(code)&0xF)
	return append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
}

// reply is an answer under construction. It can be reused.
type reply struct {
	msg    dns.Msg
	answer [1]dns.RR
	ns     [1]dns.RR
	extra  [1]dns.RR
	a      dns.A
	soa    dns.SOA
	ip     [4]byte
	opt    dns.OPT
}

// begin starts the answer to a question, without records. recursive: other
// names are resolved too.
func (r *reply) begin(q *query, code int, recursive bool) {
	r.msg = dns.Msg{
		MsgHdr: dns.MsgHdr{
			Id: q.msg.Id, Response: true, Opcode: q.msg.Opcode, RecursionDesired: q.msg.RecursionDesired,
			RecursionAvailable: recursive, CheckingDisabled: q.msg.CheckingDisabled, Rcode: code,
		},
		Compress: true, Question: q.msg.Question,
	}
	if q.opt == nil {
		return
	}
	r.opt = dns.OPT{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeOPT}}
	r.opt.SetUDPSize(maxAnswer)
	r.opt.SetDo(q.opt.Do())
	r.extra[0] = &r.opt
	r.msg.Extra = r.extra[:]
}

// own makes it the answer for the name of a service, which is a zone of its own: our address
// or its SOA, which is beside the answer for types that the name lacks.
func (r *reply) own(q *query, address netip.Addr) {
	r.msg.Authoritative = true
	ask := q.question()
	header := dns.RR_Header{Name: ask.Name, Rrtype: dns.TypeSOA, Class: dns.ClassINET, Ttl: ttl}
	if ask.Qtype == dns.TypeA {
		header.Rrtype = dns.TypeA
		r.ip = address.As4()
		r.a = dns.A{Hdr: header, A: r.ip[:]}
		r.answer[0], r.msg.Answer = &r.a, r.answer[:]
		return
	}
	r.soa = dns.SOA{Hdr: header, Ns: ask.Name, Mbox: ".", Serial: 1, Refresh: refresh, Retry: retry, Expire: expire, Minttl: ttl}
	if ask.Qtype == dns.TypeSOA {
		r.answer[0], r.msg.Answer = &r.soa, r.answer[:]
		return
	}
	r.ns[0], r.msg.Ns = &r.soa, r.ns[:]
}

// relay makes it the answer of an upstream. Its records are shared with other
// answers and not modified.
func (r *reply) relay(from *dns.Msg) {
	r.msg.Rcode, r.msg.AuthenticatedData, r.msg.Truncated = from.Rcode, from.AuthenticatedData, from.Truncated
	if from.Rcode > 0xF { // an EDNS error between the upstream and this server
		r.msg.Rcode = dns.RcodeServerFailure
		return
	}
	r.msg.Answer, r.msg.Ns = from.Answer, from.Ns
	var extra []dns.RR
	for _, rr := range from.Extra {
		if t := rr.Header().Rrtype; t != dns.TypeOPT && t != dns.TypeTSIG && t != dns.TypeSIG {
			extra = append(extra, rr)
		}
	}
	r.msg.Extra = append(extra, r.msg.Extra...)
}

// pack returns the answer, in buf if it has room. Records beyond limit bytes
// are left out and the answer is marked as truncated.
func (r *reply) pack(buf []byte, limit int) ([]byte, error) {
	if r.msg.Len() > limit {
		r.msg.Truncate(limit)
	}
	b, err := r.msg.PackBuffer(buf)
	if err == nil && len(b) <= limit {
		return b, nil
	}
	// Records that cannot be written, or are longer than their computed length.
	r.msg.Answer, r.msg.Ns, r.msg.Extra, r.msg.Truncated = nil, nil, nil, true
	if r.opt.Hdr.Rrtype == dns.TypeOPT {
		r.msg.Extra = r.extra[:]
	}
	return r.msg.PackBuffer(buf)
}
