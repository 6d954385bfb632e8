package rig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/miekg/dns"
	"golang.org/x/net/html"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netclient"
	wire "github.com/respawnd/respawnd/internal/ssq"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/ssq"
)

// A client that asks through this machine for another one, as a game does
// behind a relay, represents the players of other networks.
const (
	Outsider = "203.0.113.9"
	Adverted = "203.0.113.5"
)

// AskAs asks for the list on behalf of another address.
func (b *Browser) AskAs(address string) serverbrowse.Reply {
	b.t.Helper()
	r := serverbrowse.ListRequest{
		Protocol: 1, Encoding: 3, For: TestGame, From: TestGame, Challenge: b.Challenge, Fields: `\hostname`,
		Options: serverbrowse.AlternateIP, Source: netip.MustParseAddr(address),
	}
	msg, err := r.AppendTo(nil)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Write(msg)
	return b.MustReply(r.Options)
}

// WantOnly fails unless a list has one server, at the address.
func WantOnly(t *testing.T, who string, r serverbrowse.Reply, want netip.AddrPort) {
	t.Helper()
	if len(r.Entries) != 1 || r.Entries[0].Public != want {
		t.Errorf("list for %s: %+v, want one server at %v", who, r.Entries, want)
	}
}

// Texts returns the strings of a list that was read from JSON.
func Texts(list []any) []string {
	var out []string
	for _, v := range list {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// LookUp asks a DNS server for the address of a name and returns it, or the code
// of the answer.
func LookUp(t testing.TB, at netip.AddrPort, network, name string) string {
	t.Helper()
	client := dns.Client{Net: network, Timeout: Hang}
	m, _, err := client.ExchangeContext(t.Context(), new(dns.Msg).SetQuestion(dns.Fqdn(name), dns.TypeA), at.String())
	if err != nil {
		t.Fatalf("%s over %s: %v", name, network, err)
	}
	if len(m.Answer) == 1 {
		if a, ok := m.Answer[0].(*dns.A); ok {
			return a.A.String()
		}
	}
	return dns.RcodeToString[m.Rcode]
}

// Federated is a server of the public JSON with where it is known from.
type Federated struct {
	Address, Game, Origin, Name, Via, Query string
	Vouched                                 bool
}

// FederatedServers returns the servers of the public JSON by address.
func FederatedServers(t testing.TB, d *Running) map[string]Federated {
	t.Helper()
	code, body := Get(t, d, "web", http.MethodGet, "/api/v1/servers", "")
	var answer struct{ Servers []Federated }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || code != http.StatusOK {
		t.Fatalf("GET /api/v1/servers: status %d, %v:\n%.500s", code, err, body)
	}
	all := make(map[string]Federated)
	for _, s := range answer.Servers {
		all[s.Address] = s
	}
	return all
}

// OldList serves a list of GameSpy's first protocol, enctype 2.
func OldList(t *testing.T, secret string, servers ...netip.AddrPort) string {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte(`\basic\\secure\ABCDEF`))
			_, _ = c.Read(make([]byte, 2048))
			var list []byte
			for _, a := range servers {
				ip := a.Addr().As4()
				list = append(append(list, ip[:]...), byte(a.Port()>>8), byte(a.Port()))
			}
			list = append(list, gamespy.Final...)
			key := []byte("0123456789")
			tree := gamespy.NewTreeCipher(key)
			tree.XOR(list, list)
			_, _ = c.Write(append(gamespy.AppendEnctype2Header(nil, secret, key), list...))
			_ = c.Close()
		}
	}()
	return ln.Addr().String()
}

// AllRecords returns the servers of the public JSON by address.
func AllRecords(t testing.TB, d *Running) map[string]ZanRecord {
	t.Helper()
	code, body := Get(t, d, "web", http.MethodGet, "/api/v1/servers?full=1", "")
	var answer struct{ Servers []ZanRecord }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || code != http.StatusOK {
		t.Fatalf("GET /api/v1/servers: status %d, %v:\n%.500s", code, err, body)
	}
	records := make(map[string]ZanRecord)
	for _, r := range answer.Servers {
		records[r.Address] = r
	}
	return records
}

// Appears waits until the public JSON has a server.
func Appears(t testing.TB, d *Running, address string) ZanRecord {
	t.Helper()
	Eventually(t, address+" in the list", func() bool { _, ok := AllRecords(t, d)[address]; return ok })
	return AllRecords(t, d)[address]
}

// TextBeat sends a heartbeat of the older protocol.
func (h *Host) TextBeat(more string) {
	h.T.Helper()
	h.Raw(fmt.Appendf(nil, `\heartbeat\%d\gamename\%s%s`, h.Address().Port(), TestGame, more))
}

// TextQuery waits for a query of the older protocol and returns its challenge.
func (h *Host) TextQuery() (challenge string) {
	h.T.Helper()
	p, _ := h.Packet()
	for s := gamespy.ScanFields(p); s.Next(); {
		if ascii.EqualFold(s.Key(), "secure") {
			challenge = string(s.Value())
		}
	}
	if len(p) > 24 || challenge == "" {
		h.T.Fatalf("query %q of %d bytes, want one with a challenge in at most 24", p, len(p))
	}
	return challenge
}

// queryTool asks a daemon in Standard Server Queries.
type queryTool struct {
	ssq.Client
	T testing.TB
}

// NewQueryTool returns a tool that asks the daemon for its list.
func NewQueryTool(t testing.TB, d *Running) *queryTool {
	t.Helper()
	c, err := netclient.Dial(t.Context(), d.Address["ssq"].String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &queryTool{ssq.Client{Packets: c}, t}
}

// Exchange sends a datagram and returns the next one that comes back.
func (q *queryTool) Exchange(request []byte) (answer []byte) {
	q.T.Helper()
	err := q.Send(request)
	if err == nil {
		err = q.Await(Wait(q.T), func(p []byte, _ netip.AddrPort) (bool, error) {
			answer = bytes.Clone(p)
			return true, nil
		})
	}
	if err != nil {
		q.T.Fatal(err)
	}
	return answer
}

// Try sends a query, again with a token if the server requires it, and returns
// the answer.
func (q *queryTool) Try(text string) (wire.Table, error) {
	q.T.Helper()
	query, err := wire.ParseQuery([]byte(text))
	if err != nil {
		q.T.Fatal(err)
	}
	return q.Ask(Wait(q.T), query)
}

// MustAsk asks and returns the whole answer.
func (q *queryTool) MustAsk(text string) wire.Table {
	q.T.Helper()
	answer, err := q.Try(text)
	if err != nil {
		q.T.Fatalf("%s: %v", text, err)
	}
	return answer
}

// PageText returns the visible text of a page of the daemon.
func PageText(t testing.TB, d *Running, path string) string {
	t.Helper()
	code, body := Get(t, d, "web", http.MethodGet, path, "")
	if code != http.StatusOK {
		t.Fatalf("GET %s: status %d\n%s", path, code, body)
	}
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for n := range doc.Descendants() {
		if n.Type == html.TextNode {
			out.WriteString(n.Data)
		}
	}
	return out.String()
}

// WantVisit fails unless doctor shows a verdict on the players of the loopback
// address, at once or soon: an answer may be sent before its verdict is recorded.
func (d *Running) WantVisit(service, game string, v verdicts.Verdict) {
	d.T.Helper()
	x := verdicts.Entry{Service: service, Verdict: v}.Explain()
	Eventually(d.T, v.String(), func() bool {
		out := d.Cli("doctor", "127.0.0.1")
		return strings.Contains(out, x.What+" from 127.0.0.1"+game+": "+v.String()) && strings.Contains(out, x.Cause) && strings.Contains(out, x.Advice)
	})
}

// Beat sends a heartbeat of any game.
func (h *Host) Beat(game string) {
	h.T.Helper()
	b := gamespy.AppendPair(nil, "gamename", game)
	h.MustSend(qr2.KindHeartbeat, append(gamespy.AppendEnd(b), 0, 0, 0, 0, 0, 0))
}
