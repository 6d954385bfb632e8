//go:build linux && netns

package networks

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/fesl"
	"github.com/respawnd/respawnd/gpcm"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/natneg/natnegtest"
	"github.com/respawnd/respawnd/test/rig"
	"github.com/respawnd/respawnd/webservices"
	"github.com/respawnd/respawnd/webservices/auth"
	"github.com/respawnd/respawnd/webservices/competition"
)

// automatchPorts are the services that players of Red Alert 3 use, with their ports.
var automatchPorts = map[string]uint16{"fesl": 18840, "gpcm": 29900, "peerchat": 6667, "natneg": 27901, "webservices": 8080}

// TestAutomatchNetworks has two players of Red Alert 3, each behind a router of their own, sign in at EA's
// service, get a match with each other from the program in chat, negotiate, exchange data and report the match.
func TestAutomatchNetworks(t *testing.T) {
	for name, tc := range map[string]struct {
		routers [2]string
		relayed bool
	}{
		"direct":  {[2]string{nettest.RestrictedRouter, nettest.PortRestrictedRouter}, false},
		"relayed": {[2]string{nettest.SymmetricRouter, nettest.SymmetricRouter}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := nettest.NewWorld(t, "nft", "sysctl")
			w.Add("master")
			w.In("master", "ip", "address", "add", relayMaster+"/32", "dev", "lo")
			w.In("master", "sysctl", "-qw", "net.ipv4.ip_forward=1")
			dir := t.TempDir()
			startInNetwork(t, w.Child("master", "TestAutomatchChild", fmt.Sprint("serves ", dir, " ", tc.relayed)))
			var wg sync.WaitGroup
			for i, persona := range []string{"Tanya", "Natasha"} {
				home := w.Household("master", i, tc.routers[i])
				wg.Go(func() {
					runInNetwork(t, w.Child(home, "TestAutomatchChild", fmt.Sprint(persona, " ", dir, " ", tc.relayed)))
				})
			}
			wg.Wait()
		})
	}
}

// TestAutomatchChild runs in a copy of the test program inside its own network namespace.
func TestAutomatchChild(t *testing.T) {
	given := os.Getenv(nettest.WorldRole)
	if given == "" {
		t.Skip("it is part of the tests with networks")
	}
	var role, dir string
	var relayed bool
	if _, err := fmt.Sscan(given, &role, &dir, &relayed); err != nil {
		t.Fatal(err)
	}
	if role == "serves" {
		serveAutomatch(t, dir, relayed)
		return
	}
	d := &rig.Running{T: t, Address: make(map[string]netip.AddrPort)}
	for name, port := range automatchPorts {
		d.Address[name] = netip.AddrPortFrom(netip.MustParseAddr(relayMaster), port)
	}
	p := &automatched{t: t, d: d, persona: role}
	p.signIn()
	p.meet(relayed)
	p.report(dir)
}

// serveAutomatch runs a daemon until standard input ends. By then the match must be reported by both
// players, and relayed or not.
func serveAutomatch(t *testing.T, dir string, relayed bool) {
	vars := []string{rig.Variable("quickmatch.interval", "100ms")}
	for name, port := range automatchPorts {
		vars = append(vars, rig.Variable(name+".listen", fmt.Sprintf("0.0.0.0:%d", port)))
	}
	d := rig.Start(t, dir, vars...)
	_, _ = fmt.Fprintln(os.Stdout, "ready")
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	rig.WantIn(t, d.Cli("matches", "list", "redalert3pc"), "agreed", "Tanya win", "Natasha loss")
	want := map[bool]string{true: "1", false: "0"}[relayed]
	if got := rig.Metric(t, d, "respawnd_relay_opened_total"); got != want {
		t.Errorf("%s pairs were relayed, want %s", got, want)
	}
}

// automatched is a player of Red Alert 3.
type automatched struct {
	t       *testing.T
	d       *rig.Running
	persona string
	seat    rig.Seat
	chat    *rig.Chatter
	other   string // nick of the other one
	index   int    // place in the match
}

// signIn makes an account and signs in at EA's service, at presence with its ticket, and at chat.
func (p *automatched) signIn() {
	t := p.t
	conn, err := netclient.DialTCP(rig.Wait(t), p.d.Address["fesl"].String())
	rig.Must(t, err)
	c := fesl.NewClient(conn)
	t.Cleanup(func() { _ = c.Close() })
	_, err = c.Hello(rig.Wait(t), "cncra3-pc")
	rig.Must(t, err)
	email := p.persona + "@example.com"
	rig.Must(t, c.Register(rig.Wait(t), email, rig.StormPassword, p.persona))
	ticket, err := c.Play(rig.Wait(t), email, rig.StormPassword, p.persona)
	rig.Must(t, err)
	p.seat = rig.Greeted(t, p.d)
	rig.Must(t, p.seat.Login(rig.Wait(t), gpcm.Login{By: "authtoken", Name: ticket.Value, Password: ticket.Challenge, Game: "redalert3pc"}))
	p.chat = rig.ChatConn(t, p.d)
	p.chat.Profile = p.seat.Profile
	p.chat.Must(p.chat.SignOn(rig.Wait(t), p.persona))
}

// meet gets a match with the other player, who is behind another router, and exchanges data.
func (p *automatched) meet(relayed bool) {
	t := p.t
	p.chat.SearchMatch("#GSP!redalert3pc", "anpwcjnybr2008")
	_, match, _ := strings.Cut(p.chat.Expect("MBOT:MATCHED "), "MBOT:MATCHED ")
	var id uint32
	var nicks [2]string
	var ips [2]uint32
	_, err := fmt.Sscanf(match, "1 %d 1 %s %d 4 -1 0 -1 1000 0 %s %d 4 -1 0 -1 1000 1", &id, &nicks[0], &ips[0], &nicks[1], &ips[1])
	p.index = slices.Index(nicks[:], p.persona)
	if err != nil || p.index < 0 {
		t.Fatalf("match %q: %v", match, err)
	}
	p.other = nicks[1-p.index]
	at := netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, ips[1-p.index])))
	home, master := netip.MustParseAddr(nettest.HomeAddr), p.d.Address["natneg"]
	r, err := (&natnegtest.Player{
		Net: natnegtest.System{}, Local: netip.AddrPortFrom(home, 5000), Game: netip.AddrPortFrom(home, 6500),
		Servers: [3]netip.AddrPort{master, master, master}, Cookie: id, Index: byte(p.index), Version: 3,
		Name: "redalert3pc", Linger: time.Second, Says: "I am " + p.persona,
	}).Run(t.Context())
	rig.Must(t, err)
	want := at
	if relayed {
		want = master.Addr()
	}
	if r.End != natnegtest.Connected || !r.Confirmed || r.Heard != "I am "+p.other || r.Remote.Addr() != want || at.As4()[0] != 203 {
		t.Fatalf("%v, report confirmed %v, heard %q from %v; want connected, and %s at %v", r.End, r.Confirmed, r.Heard, r.Remote, p.other, want)
	}
}

// report reports that Tanya won. The players tell each other in chat which session and connections it is.
func (p *automatched) report(dir string) {
	t := p.t
	key, err := auth.ReadKey(filepath.Join(dir, auth.KeyName))
	rig.Must(t, err)
	client := func(service string) webservices.Client {
		return webservices.Client{Address: p.d.Address["webservices"].String(), Host: "redalert3pc." + service + ".pubsvs.gamespy.com"}
	}
	var me webservices.Player
	c := client("auth")
	me.Certificate, me.Proof, err = c.SignIn(rig.Wait(t), key.Public(), p.persona, rig.StormPassword)
	rig.Must(t, err)
	c = client("comp")
	csid := ""
	if p.index == 0 {
		session, err := c.Match(rig.Wait(t), me, "CreateSession", nil, "gameid", "2128")
		rig.Must(t, err)
		csid = session.Text("csid")
		p.chat.Must(p.chat.Say(p.other, "session "+csid))
	} else {
		csid = p.told("session ")
	}
	joined, err := c.Match(rig.Wait(t), me, "SetReportIntention", nil, "csid", csid, "ccid", "", "gameid", "2128", "authoritative", "0")
	rig.Must(t, err)
	own := joined.Text("ccid")
	p.chat.Must(p.chat.Say(p.other, "connection "+own))
	conns := [2]string{own, own}
	conns[1-p.index] = p.told("connection ")

	report := competition.Report{Values: []competition.Value{{Key: 74, Type: competition.TypeByte, Int: 1}}}
	for i, text := range conns {
		conn, _ := competition.ParseGUID(text)
		result := competition.Loss
		if (i == p.index) == (p.persona == "Tanya") {
			result = competition.Win
		}
		report.Players = append(report.Players, competition.Player{Conn: conn, Team: uint32(i), Result: result})
	}
	_, err = c.Match(rig.Wait(t), me, "SubmitReport", report.Append(nil), "csid", csid, "ccid", own, "gameid", "2128", "authoritative", "0")
	rig.Must(t, err)
}

// told returns the rest of what the other player says that begins so.
func (p *automatched) told(head string) string {
	_, rest, _ := strings.Cut(p.chat.Expect(" PRIVMSG "+p.persona+" "+head), head)
	return rest
}
