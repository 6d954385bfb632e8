package zanmaster

import (
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/internal/zandronum"
)

// serverPackets are packets of servers and launchers, not coded.
func serverPackets(t testing.TB) (packets [][]byte) {
	r := recordings(t)
	for _, s := range r.Scenarios {
		for _, p := range s.Packets[:min(len(s.Packets), 20)] {
			if !p.fromMaster() && p.Wire != "" {
				packets = append(packets, zandronum.Decode(nil, nettest.Unhex(t, p.Wire), maxMessage))
			}
		}
	}
	z := newZan(t, nil)
	for _, verification := range []string{hexString, another, "", "x"} {
		g := z.server("192.0.2.1:10666")
		g.verification = verification
		packets = append(packets, g.announcement(),
			zandronum.AppendVerification(nil, zandronum.Verification{Verification: []byte(verification), Number: 7}),
			zandronum.AppendReceipt(nil, []byte(verification)))
	}
	return append(packets, zandronum.AppendListRequest(nil, zandronum.ListVersion))
}

// serverReply is a server's reply to a packet of the master.
func serverReply(_ netip.AddrPort, b []byte) [][]byte {
	v, ok := zandronum.ParseVerificationRequest(zandronum.Decode(nil, b, maxMessage))
	if !ok {
		return nil
	}
	return [][]byte{zandronum.Encode(nil, zandronum.AppendVerification(nil, v))}
}

func TestFloodFromForgedAddresses(t *testing.T) {
	racetest.Skip(t, "sends many packets")
	for name, change := range map[string]func(*Options){
		"for everybody": func(o *Options) { o.ListsPerNet, o.ListsTotal = 0, 0 },
		"for ourselves": func(o *Options) {
			ours := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
			o.AllowServers, o.AllowLaunchers = ours, ours
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				z := newZan(t, change)
				const listed = 200
				for i := range listed {
					z.server(fmt.Sprintf("192.0.2.%d:10666", i)).register()
				}
				z.w.Take()
				begin, heard := time.Now(), time.Now()
				a := &nettest.Attack{
					Handler: z.Server, To: masterAddr, Packets: serverPackets(t), Reply: serverReply,
					Encode: func(p []byte) []byte { return zandronum.Encode(nil, p) },
					Honest: func(addr netip.Addr) bool { return addr.As4()[0] == 192 },
					Count:  10_000, Memory: 64 << 20,
				}
				a.Exceptions = []nettest.Exception{{
					Name: "lists", Is: isList,
					More: func(nettest.Account) (packets, size int) {
						windows := int(time.Since(begin)/z.opt.ListWindow) + 1
						list := z.lists()
						old, _ := list.oldForm()
						for _, p := range list.packets {
							size += len(p)
						}
						return windows * len(list.packets), windows * max(size, len(old))
					},
				}, {
					Name: "verification requests to servers of old builds", Is: isRequest,
					More: func(in nettest.Account) (packets, size int) { return 0, slackBytes * in.PacketsIn },
				}, {
					Name: "ban lists of who verified himself", Is: isBans,
					More: func(nettest.Account) (packets, size int) { return 0, 0 },
				}}
				a.Pass = func() {
					time.Sleep(50 * time.Millisecond)
					if now := time.Now(); now.Sub(heard) >= 30*time.Second {
						heard = now
						for i := range listed {
							z.server(fmt.Sprintf("192.0.2.%d:10666", i)).announce()
						}
					}
					z.step(a, &z.due, time.Now())
				}
				a.Run(t)
				own := 0
				for _, s := range z.list.All() {
					switch {
					case a.Own(s.Key.Source.Addr()):
						own++
					case s.Key.Source.Addr().As4()[0] == 20:
						t.Errorf("%v is listed and proved nothing", s.Key.Source)
					}
				}
				if others := z.list.Len() - own; others != listed || (own > 0) != (name != "for ourselves") {
					t.Errorf("listed are %d of the attacker's own and %d others, want %d others", own, others, listed)
				}
			})
		})
	}
}

func isList(b []byte) bool {
	message := zandronum.Decode(nil, b, 1<<16)
	if kind, _ := zandronum.ParseKind(message); kind == zandronum.Kind(zandronum.AnswerOldList) {
		return true
	}
	got, err := zandronum.ParseListPacket(message)
	return err == nil && got.Answer == zandronum.AnswerList
}

func isRequest(b []byte) bool {
	_, ok := zandronum.ParseVerificationRequest(zandronum.Decode(nil, b, maxMessage))
	return ok
}

func isBans(b []byte) bool {
	_, err := zandronum.ParseBanPart(zandronum.Decode(nil, b, 1<<16))
	return err == nil
}

// A banned address that sends everything back is not answered without end.
func TestAnswersOfBannedAreDropped(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, BanFile, "*.*.*.*\n")
	z := newZan(t, func(o *Options) { o.Files = dir })
	a := &nettest.Attack{
		Handler: z.Server, To: masterAddr, Packets: serverPackets(t), Count: 2000,
		Encode: func(p []byte) []byte { return zandronum.Encode(nil, p) },
	}
	a.Run(t)
}
