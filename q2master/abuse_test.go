package q2master

import (
	"bytes"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/quake2"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/internal/uplink"
)

// posts brings an attack to the posts: what they send has their number behind it, and an answer
// with it behind postMark is handed to that post.
type posts struct {
	*Server
	attack *nettest.Attack
}

const postMark = "\x00post"

// knock writes the questions of a post.
type knock struct {
	*posts
	number byte
}

func (k knock) WritePacket(data []byte, via netip.Addr, to netip.AddrPort) error {
	return k.attack.WritePacket(append(bytes.Clone(data), k.number), via, to)
}

func (d *posts) ServePacket(w netserve.PacketWriter, p netserve.Packet) {
	rest, ok := bytes.CutPrefix(p.Data, []byte(postMark))
	if !ok || len(rest) == 0 {
		d.Server.ServePacket(w, p)
		return
	}
	p.Data = rest[1:]
	post{d.Server, int(rest[0])}.ServePacket(w, p)
}

// TestFloodFromForgedAddresses lets an attacker send everything that clients send, and answer at
// posts that it can only guess. The lists, and in QuakeWorld's form the question, are all that is
// larger than its request.
func TestFloodFromForgedAddresses(t *testing.T) {
	racetest.Skip(t, "sends many packets")
	for name, d := range map[string]Dialect{"Quake 2": Two(nil), "QuakeWorld": worldDialect()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { flood(t, d) })
		})
	}
}

func flood(t *testing.T, d Dialect) {
	var late posts
	w := newWorld(t, func(o *Options) {
		o.Dialect, o.ListsPerNet, o.Game = d, 64, d.Game(new(quake2.Status), 0)
		list := make([]netserve.PacketWriter, uplink.PostCount)
		for i := range list {
			list[i] = knock{&late, byte(i)}
		}
		o.Posts = uplink.PostsOf(list)
	})
	form, status := d.Form, []byte(drunk)
	begin := time.Now()
	a := &nettest.Attack{
		Handler: &late, To: home, Count: 100_000, Memory: 64 << 20,
		Packets: [][]byte{
			form.AppendHeartbeat(nil, status), form.AppendPing(nil), form.AppendShutdown(nil), form.AppendQuery(nil), []byte(header + "getservers"), []byte("query\n"),
			append([]byte(postMark+"\x05"), form.AppendStatus(nil, status)...),
		},
		Reply: func(_ netip.AddrPort, b []byte) [][]byte {
			if !form.AsksStatus(b[:len(b)-1]) {
				return nil
			}
			return [][]byte{form.AppendStatus(append([]byte(postMark), b[len(b)-1]), status)}
		},
		Exceptions: []nettest.Exception{{
			Name: "lists", Is: func(b []byte) bool { _, ok, _ := form.ParseList(nil, b); return ok },
			More: func(nettest.Account) (packets, size int) {
				lists := w.opt.ListBurst + int(time.Since(begin)/w.opt.ListWindow) + 1
				return lists, lists * (20 + 6*quake2.MaxEntries)
			},
		}},
	}
	a.Exceptions = append(a.Exceptions, nettest.Exception{
		Name: "an ack beside a question, and questions that are repeated after a right guess",
		Is:   func([]byte) bool { return true },
		More: func(in nettest.Account) (packets, size int) {
			if form != quake2.Two {
				most := w.opt.UnprovedBurst + int(time.Since(begin).Seconds())*w.opt.UnprovedRate + 1
				size = most * len(form.AppendAskStatus(nil))
			}
			return 3 * in.PacketsIn, size
		},
	})
	late = posts{w.Server, a}
	a.Pass = func() { time.Sleep(50 * time.Millisecond); w.Expire(a, time.Now()) }
	a.Run(t)
	own := 0
	for _, srv := range w.list.All() {
		if a.Own(srv.Public.Addr()) {
			own++
		} else {
			t.Errorf("%v is listed and proved nothing", srv.Public)
		}
	}
	if own == 0 {
		t.Error("none of the attacker's own addresses is listed, although they proved themselves")
	}
	if n := w.Pending(); n > w.opt.MaxPending {
		t.Errorf("%d servers waited for", n)
	}
}

// FuzzPackets handles two packets that come to a port, and an answer at a post: without the
// right post nothing is listed, and no more bytes are sent than came.
func FuzzPackets(f *testing.F) {
	for _, text := range []string{header + "heartbeat\n" + inn, header + "ping", header + "shutdown", header + "ack", "query", header + "getservers", header + "print\n" + inn} {
		f.Add([]byte(text), []byte("query\n\x00"), []byte(header+"print\n"+inn))
	}
	f.Fuzz(func(t *testing.T, first, second, answer []byte) {
		w := newWorld(t, nil)
		in := 0
		for _, p := range [][]byte{first, second} {
			w.send(one, string(p))
			in += len(p)
		}
		for _, p := range w.out.Take() {
			if _, list, _ := quake2.Two.ParseList(nil, []byte(p.data)); !list {
				in -= len(p.data)
			}
		}
		if in < 0 {
			t.Errorf("%d bytes more were sent than came", -in)
		}
		w.answer(0, one, string(answer))
		if w.listed(one) != nil {
			t.Error("listed after one answer")
		}
	})
}
