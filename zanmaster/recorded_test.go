package zanmaster

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/zandronum"
)

// recorded is a recording of the original master, of real servers and of their
// launchers.
type recorded struct {
	Registration []packet
	BanList      []packet
	Lists        []packet
	Scenarios    []scenario
}

type scenario struct {
	Name    string
	Files   map[string]string
	Args    []string
	Packets []packet

	Observed struct {
		Answers map[string]string `json:"first_byte_of_answer"`
	}
}

// packet is one datagram. One without content from the master is silence.
type packet struct {
	From, Frm, To     string
	Wire, Plain, Note string
}

func recordings(t testing.TB) (r recorded) {
	t.Helper()
	b, err := os.ReadFile("testdata/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r recorded) scenario(t testing.TB, name string) scenario {
	t.Helper()
	for _, s := range r.Scenarios {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no scenario %q", name)
	return scenario{}
}

func (p packet) fromMaster() bool { return p.From == "master" || p.Frm == "127.0.0.1:15300" }

func (p packet) peer() string {
	if p.fromMaster() {
		return p.To
	}
	return p.From + p.Frm
}

// stage is a master on a real socket and the peers that talk to it.
type stage struct {
	t       *testing.T
	s       *Server
	master  netip.AddrPort
	peers   map[string]*net.UDPConn
	asked   map[string]uint32 // verification numbers as recorded
	numbers map[string]uint32 // and as they are here
}

func newStage(t *testing.T, files map[string]string, change func(*Options)) *stage {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(t, dir, name, text)
	}
	z := newZan(t, func(o *Options) {
		o.Files = dir
		if change != nil {
			change(o)
		}
	})
	conn, err := netserve.ListenPackets(t.Context(), "udp4", "127.0.0.1:0", netserve.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- z.Serve(ctx, conn) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, conn.Close()); err != nil {
			t.Error(err)
		}
	})
	return &stage{t, z.Server, conn.LocalAddr(), make(map[string]*net.UDPConn), make(map[string]uint32), make(map[string]uint32)}
}

// peer returns the socket of a recorded address. Lists show the ports of game
// servers, so these must be the recorded ones; launchers may have any.
func (st *stage) peer(address string, port bool) *net.UDPConn {
	st.t.Helper()
	if c := st.peers[address]; c != nil {
		return c
	}
	at := net.UDPAddrFromAddrPort(netip.MustParseAddrPort(address))
	if !port {
		at.Port = 0
	}
	c, err := net.ListenUDP("udp4", at)
	if err != nil {
		st.t.Skipf("the recorded addresses cannot be used here: %v", err)
	}
	st.t.Cleanup(func() { _ = c.Close() })
	st.peers[address] = c
	return c
}

func (st *stage) write(c *net.UDPConn, wire []byte) {
	st.t.Helper()
	if _, err := c.WriteToUDPAddrPort(wire, st.master); err != nil {
		st.t.Fatal(err)
	}
}

// read returns the next datagram of the master to a peer.
func (st *stage) read(c *net.UDPConn) (wire, plain []byte) {
	st.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	buf := make([]byte, 1<<16)
	n, from, err := c.ReadFromUDPAddrPort(buf)
	if err != nil {
		st.t.Fatal(err)
	}
	if from != st.master {
		st.t.Errorf("datagram from %v, want it from the address that was asked, %v", from, st.master)
	}
	return buf[:n], zandronum.Decode(nil, buf[:n], 1<<16)
}

// silent checks that nothing more comes to a peer. Once the master has answered
// a later packet of another client, it has answered all before it.
func (st *stage) silent(c *net.UDPConn) bool {
	st.t.Helper()
	witness := st.peer("127.0.99.1:0", false)
	st.write(witness, zandronum.Encode(nil, zandronum.AppendListRequest(nil, 9)))
	st.read(witness)
	_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, _, err := c.ReadFromUDPAddrPort(make([]byte, 1<<16))
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// play goes through recorded packets. Our master deliberately differs from the original
// in some places; otherwise lists the notes of packets for which it answers instead of
// being silent.
func (st *stage) play(packets []packet, otherwise ...string) {
	st.t.Helper()
	for i, p := range packets {
		if p.fromMaster() {
			st.expect(fmt.Sprintf("packet %d to %s (%s)", i, p.To, p.Note), p, slices.Contains(otherwise, p.Note))
			continue
		}
		plain := nettest.Unhex(st.t, p.Plain)
		kind, _ := zandronum.ParseKind(plain)
		st.write(st.peer(p.peer(), kind == zandronum.KindChallenge), st.ours(p, kind, plain))
	}
}

// ours returns the datagram to send for a recorded one: the same, but with our
// verification number where the recorded one has the recorded number.
func (st *stage) ours(p packet, kind zandronum.Kind, plain []byte) []byte {
	peer := p.peer()
	if kind != zandronum.KindVerification || st.asked[peer] == 0 {
		if p.Wire == "" {
			return zandronum.Encode(nil, plain)
		}
		return nettest.Unhex(st.t, p.Wire)
	}
	at := plain[len(plain)-4:]
	off := binary.LittleEndian.Uint32(at) - st.asked[peer] // 0 for the right answer
	binary.LittleEndian.PutUint32(at, st.numbers[peer]+off)
	return zandronum.Encode(nil, plain)
}

// expect reads a packet of the master and compares it, byte for byte.
func (st *stage) expect(what string, p packet, requestInstead bool) {
	st.t.Helper()
	c := st.peer(p.peer(), false)
	if p.Wire == "" && p.Plain == "" {
		if requestInstead {
			_, got := st.read(c)
			if _, ok := zandronum.ParseVerificationRequest(got); !ok {
				st.t.Errorf("%s: got %x, want a verification request", what, got)
			}
		}
		if !st.silent(c) {
			st.t.Errorf("%s: it is answered", what)
		}
		return
	}
	wire, got := st.read(c)
	want := nettest.Unhex(st.t, p.Plain)
	if v, ok := zandronum.ParseVerificationRequest(want); ok {
		mine, ok := zandronum.ParseVerificationRequest(got)
		if !ok || string(mine.Verification) != string(v.Verification) {
			st.t.Fatalf("%s: got %x, want %x and any number", what, got, want)
		}
		st.asked[p.peer()], st.numbers[p.peer()] = v.Number, mine.Number
		return
	}
	if !bytes.Equal(got, want) {
		st.t.Fatalf("%s: got %x, want %x", what, got, want)
	}
	if p.Wire != "" && hex.EncodeToString(wire) != p.Wire {
		st.t.Errorf("%s: datagram %x, want %s", what, wire, p.Wire)
	}
}

func TestRecordedScenarios(t *testing.T) {
	tests := map[string]struct {
		change    func(*Options)
		otherwise []string
	}{
		"register_verify_banlist_list":        {},
		"enforce_zero_hidden_default":         {},
		"enforce_zero_shown_with_option":      {change: func(o *Options) { o.NotEnforcing = show }},
		"old_revisions_banlist_single_packet": {},
		"launcher_errors":                     {},
		"per_ip_limit_and_race":               {},
		// A lost request is repeated.
		"verification_errors": {otherwise: []string{"NO REPLY within 400ms (no second request)"}},
		// A launcher that asks too often does not mute the server beside it.
		"shared_ip_heartbeat_dropped": {otherwise: []string{"NO REPLY within 400ms (silence: the 3 s mute covers every packet of the IP)"}},
		// A server that was restarted is verified at once.
		"timeouts": {otherwise: []string{"NO REPLY within 400ms ()"}},
	}
	all := recordings(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := all.scenario(t, name)
			newStage(t, s.Files, tc.change).play(s.Packets, tc.otherwise...)
		})
	}
	other := []string{"300_servers_on_one_ip", "rate_windows", "banlist_2000_entries_no_receipt"}
	for _, s := range all.Scenarios {
		if _, ok := tests[s.Name]; !ok && !slices.Contains(other, s.Name) {
			t.Errorf("scenario %s is not replayed", s.Name)
		}
	}
}

// TestRecordedRegistration is a real server, twice, and the launchers that ask
// in between. The original ignored the second process until the first had timed
// out; its first two challenges are left out.
func TestRecordedRegistration(t *testing.T) {
	all := recordings(t)
	st := newStage(t, map[string]string{
		BanFile: "10.1.2.3\n10.20.*.*\n127.0.50.1\n", ExemptFile: "10.20.30.40\n",
	}, nil)
	restart := slices.IndexFunc(all.Registration, func(p packet) bool {
		return !p.fromMaster() && strings.HasPrefix(p.Plain, "745d5600") && p.Plain != all.Registration[0].Plain
	})
	first, second := all.Registration[:restart], all.Registration[restart+2:]
	st.play(first)
	st.play(all.Lists)
	st.play(second)
	if !st.silent(st.peers["127.0.0.1:10666"]) {
		t.Error("a heartbeat is answered")
	}
}

// TestRecordedBanList: parts are split elsewhere, as we count all their bytes, but
// their content and order are as recorded.
func TestRecordedBanList(t *testing.T) {
	all := recordings(t)
	var file strings.Builder
	var want zandronum.BanList
	for _, p := range all.BanList {
		part, err := zandronum.ParseBanPart(nettest.Unhex(t, p.Plain))
		if err != nil || !p.fromMaster() {
			continue
		}
		for _, b := range part.Bans {
			file.WriteString(b + "\n")
		}
		want.Bans, want.Exempt = append(want.Bans, part.Bans...), append(want.Exempt, part.Exempt...)
	}
	st := newStage(t, map[string]string{BanFile: file.String(), ExemptFile: "10.20.30.40\n"}, nil)
	st.play(all.BanList[:3])
	c := st.peers["127.0.0.1:10666"]
	var got zandronum.BanList
	for number := 0; ; number++ {
		wire, plain := st.read(c)
		part, err := zandronum.ParseBanPart(plain)
		if err != nil || int(part.Number) != number || len(wire) > zandronum.MaxBanPart+1 {
			t.Fatalf("part %d: number %d, %d bytes, %v", number, part.Number, len(wire), err)
		}
		got.Bans, got.Exempt = append(got.Bans, part.Bans...), append(got.Exempt, part.Exempt...)
		if part.Last {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got.Bans) != 2001 {
		t.Errorf("ban list of %d (-recorded +got):\n%s", len(got.Bans), diff)
	}
	st.play(all.BanList[len(all.BanList)-1:])
	if !st.silent(c) {
		t.Error("something comes after the receipt")
	}
	if hosts := st.s.Hosts(); len(hosts) != 1 || !hosts[0].BanList {
		t.Errorf("Hosts: got %+v, want one with the ban list", hosts)
	}
}

// TestThreeHundredServersOnOneAddress: the original wrote their number into one
// byte, and no launcher could read the list.
func TestThreeHundredServersOnOneAddress(t *testing.T) {
	s := recordings(t).scenario(t, "300_servers_on_one_ip")
	z := newZan(t, func(o *Options) {
		o.Files = t.TempDir()
		write(t, o.Files, MultiServerFile, s.Files[MultiServerFile])
	})
	for i := range 300 {
		z.server(fmt.Sprintf("127.0.9.9:%d", 11000+i)).register()
	}
	z.w.Take()
	z.send(netip.MustParseAddrPort("127.0.2.5:1"), nettest.Unhex(t, s.Packets[0].Plain))
	packets := z.w.Take()
	if len(packets) != 1 {
		t.Fatalf("%d packets, want 1", len(packets))
	}
	m := packets[0].message
	list, err := zandronum.ParseListPacket(m)
	if err != nil || len(list.Servers) != 300 || !list.Last {
		t.Fatalf("list: %d servers, last %t, %v", len(list.Servers), list.Last, err)
	}
	// Two blocks, of 255 and of 45 servers.
	if second := 6 + 5 + 2*255; m[6] != 255 || m[second] != 45 || !bytes.Equal(m[second+1:second+5], []byte{127, 0, 9, 9}) {
		t.Errorf("blocks of %d and %d servers, want 255 and 45", m[6], m[second])
	}
}

// TestRecordedRateWindows: the answers of the original to requests that were repeated
// after various times.
func TestRecordedRateWindows(t *testing.T) {
	observed := recordings(t).scenario(t, "rate_windows").Observed.Answers
	if len(observed) == 0 {
		t.Fatal("nothing recorded")
	}
	for what, want := range observed {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				z := newZan(t, nil)
				const launcher = "203.0.113.1:5000"
				wait := func(format string) bool {
					var seconds float64
					_, err := fmt.Sscanf(what, format, &seconds)
					time.Sleep(time.Duration(seconds * float64(time.Second)))
					return err == nil
				}
				switch {
				case strings.HasPrefix(what, "list request"):
					z.send(netip.MustParseAddrPort(launcher), nettest.Unhex(t, "765d5600"))
					if !wait("list request %f s after an unknown challenge") {
						t.Fatal("not understood")
					}
				case strings.HasPrefix(what, "second"):
					z.ask(launcher)
					if !wait("second list request after %f s") {
						t.Fatal("not understood")
					}
				default:
					z.ask(launcher)
					z.ask(launcher)
					if !wait("third request %f s after the second") {
						t.Fatal("not understood")
					}
				}
				got := "silence"
				if answer, _ := z.ask(launcher); answer != noAnswer {
					got = fmt.Sprint(answer)
				}
				if got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			})
		})
	}
}
