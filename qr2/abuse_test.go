package qr2

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/master"
)

// The bytes that an unproved address may receive for one packet beyond those it sent: a
// challenge and a text query are longer than the shortest heartbeats, of 18 bytes, and
// both are repeated while the address paid for it; a text query goes to two ports.
var exceptions = []nettest.Exception{
	{
		Name: "challenges", Is: func(b []byte) bool { return sent{data: b}.kind() == KindChallenge },
		More: func(in nettest.Account) (packets, size int) {
			return (maxChallenges - 1) * in.PacketsIn, (challengeSize - 18) * in.PacketsIn
		},
	},
	{
		Name: "text queries", Is: func(b []byte) bool {
			return bytes.HasPrefix(b, []byte(askStatus)) || bytes.HasPrefix(b, []byte(askEcho))
		},
		More: func(in nettest.Account) (packets, size int) {
			return (2*maxAsks - 1) * in.PacketsIn, textQuerySize * in.PacketsIn
		},
	},
}

// clientPackets are packets of hosts, in both protocols.
func clientPackets(t testing.TB) (packets [][]byte) {
	for _, c := range captures(t) {
		for _, r := range c.Packets {
			if r.From == "host" {
				packets = append(packets, r.bytes(t))
			}
		}
	}
	for _, p := range scripted {
		packets = append(packets, []byte(p))
	}
	for _, p := range textScript {
		packets = append(packets, []byte(strings.ReplaceAll(p, "PORT", "10666")))
	}
	return append(packets, []byte(sampleStatus))
}

// hostReply is a host's reply to a packet of ours.
func hostReply(_ netip.AddrPort, b []byte) [][]byte {
	switch s := (sent{data: b}); {
	case s.kind() == KindChallenge:
		text := string(b[replyHeader : len(b)-1])
		proof := append([]byte{byte(KindChallenge)}, b[3:replyHeader]...)
		return [][]byte{append(append(proof, gamespy.Response(secret, text)...), 0)}
	case bytes.HasPrefix(b, []byte(askStatus+askSecure)):
		token := string(b[len(askStatus+askSecure):])
		return [][]byte{[]byte(sampleStatus + `\validate\` + gamespy.Response(secret, token) + `\final\\queryid\3.1`)}
	default:
		return nil
	}
}

func TestFloodFromForgedAddresses(t *testing.T) {
	racetest.Skip(t, "sends many packets")
	for name, change := range map[string]func(*Options){
		"as it is": nil,
		"refusing, and some banned": func(o *Options) {
			o.AddError = true
			o.Banned = func(a netip.Addr) bool { return a.As4()[3]%4 == 0 }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := newIntake(t, change)
				a := &nettest.Attack{
					Handler: in.Server, To: masterAddr, Packets: clientPackets(t), Reply: hostReply, Exceptions: exceptions,
					Count: 10_000, Memory: 64 << 20,
				}
				a.Pass = func() {
					time.Sleep(tickEvery)
					in.repeatChallenges(a, time.Now())
					in.repeatMessages(a, time.Now())
					in.Server.probe(a, time.Now())
					in.text.tick(a, a, time.Now())
				}
				a.Run(t)
				own := 0
				for _, s := range in.list.All() {
					if a.Own(s.Key.Source.Addr()) {
						own++
					} else {
						t.Errorf("%v of %s is listed and proved nothing", s.Key.Source, s.Game)
					}
				}
				if own == 0 {
					t.Error("none of the attacker's own addresses is listed, although they proved themselves")
				}
				in.list.RemoveFunc(func(*master.Server) bool { return true })
			})
		})
	}
}

// Nothing but the answer of a host that is being probed means anything to the
// second socket.
func TestFloodOfTheProbeSocketIsNotAnswered(t *testing.T) {
	in := newIntake(t, nil)
	a := &nettest.Attack{Handler: probeHandler{s: in.Server}, To: masterAddr, Packets: clientPackets(t), Count: 8_000}
	if r := a.Run(t); r.Total.PacketsOut != 0 || in.list.Len() != 0 {
		t.Errorf("%d packets sent, %d servers listed", r.Total.PacketsOut, in.list.Len())
	}
}
