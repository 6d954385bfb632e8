package nettest

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"

	"github.com/respawnd/respawnd/internal/netserve"
)

// Bounds of an Attack.
const (
	// DefaultSources and DefaultPackets are the defaults of Attack.
	DefaultSources = 20_000
	DefaultPackets = 60_000

	victims     = 16    // addresses that are forged most of the time
	echoes      = 4     // victims that echo every packet at once
	accomplices = 16    // addresses that belong to the attacker
	ports       = 4     // of each address
	longestLoop = 8     // answers to answers, above which a loop counts as endless
	remembered  = 256   // answers, and proofs of accomplices, kept to be sent again
	longest     = 1500  // random packets, in bytes
	passEvery   = 64    // packets, until Pass is called
	firstPort   = 10666 // of each address
)

// Account counts the traffic of one address: sent by it or with it as forged
// source, and sent to it.
type Account struct {
	PacketsIn, BytesIn   int
	PacketsOut, BytesOut int
}

// Exception is a kind of answer that may be larger than its request.
type Exception struct {
	Name string
	// Is reports whether an answer is of this kind.
	Is func(answer []byte) bool
	// More returns by how many packets and bytes such answers may exceed the
	// traffic of an address. in counts the bytes that the address sent.
	More func(in Account) (packets, bytes int)
}

// Attack is a flood of valid, mutated, repeated and random packets on a
// service, from many unproved addresses. Handler and Packets are required. An
// Attack is a netserve.PacketWriter: packets that a service sends unasked must
// be written to it too. Run may be called once.
type Attack struct {
	// Handler is the service, and To its address.
	Handler netserve.PacketHandler
	To      netip.Addr
	// Packets are packets of clients. They are sent as they are, and mutated.
	Packets [][]byte
	// Encode returns the wire form of one of Packets; nil: they are sent as
	// they are. Half of the mutations are made before it, half after it.
	Encode func(packet []byte) []byte
	// Reply returns the packets with which a client replies to an answer; nil:
	// none. The attacker owns some addresses, from which it replies, and uses
	// the values received there for forged packets too.
	Reply func(to netip.AddrPort, answer []byte) [][]byte
	// Honest reports whether an address has proved itself before and is not
	// counted; nil: none has.
	Honest func(netip.Addr) bool
	// Pass advances the time a little; nil: time stands still.
	Pass func()
	// Exceptions are the answers that may be larger than their requests. All
	// other answers to an address never have more bytes or packets than it
	// sent, and all together no more than that and the exceptions.
	Exceptions []Exception

	// First is the lowest of the addresses; zero: 20.0.0.0. The attacker's own
	// come first.
	First netip.Addr
	// Sources is the number of addresses; 0: DefaultSources. Packets to be sent are
	// Count; 0: DefaultPackets.
	Sources, Count int
	// Memory is the number of additional bytes that may be in use after the
	// attack; 0: not checked.
	Memory int

	t        testing.TB
	random   *rand.Rand
	ordinary []Account   // by address; answers that no exception covers
	excepted [][]Account // by exception and address
	answers  []answer    // written since the packet that is being handled
	written  [][]byte    // answers, to be sent again
	proofs   [][]byte    // of accomplices, to be sent again
}

// answer is a packet that the service sent.
type answer struct {
	to   netip.AddrPort
	data []byte
}

// Result is the outcome of an attack.
type Result struct {
	// Total is that of all addresses that are not the attacker's own.
	Total Account
	// Bytes and Packets are the largest amplification of any such address:
	// bytes and packets sent to it per byte and packet that it sent, all
	// exceptions included. Plain is Bytes without them.
	Bytes, Packets, Plain float64
}

// Own reports whether the attacker owns an address and receives the packets
// sent to it: such an address may have proved itself.
func (a *Attack) Own(addr netip.Addr) bool {
	i := a.number(addr)
	return 0 <= i && i < accomplices
}

// Run attacks, fails the test if the traffic to an unproved address exceeds its
// bound, and logs the result.
func (a *Attack) Run(t testing.TB) Result {
	t.Helper()
	a.begin(t)
	before := inUse()
	for n := range a.Count {
		a.strike()
		if n%passEvery == 0 && a.Pass != nil {
			a.Pass()
			a.react()
		}
		if t.Failed() {
			t.Fatalf("stopped after %d packets", n+1)
		}
	}
	for i := accomplices; i < a.Sources; i++ {
		a.audit(i)
	}
	if grown := inUse() - before; a.Memory > 0 && grown > a.Memory {
		t.Errorf("%d bytes more in use than before, want at most %d", grown, a.Memory)
	}
	r := a.result()
	t.Logf("%d addresses, %d packets of %d bytes in, %d of %d bytes out; worst address: %.2f bytes for a byte, %.2f packets for a packet, %.2f without exceptions",
		a.Sources, r.Total.PacketsIn, r.Total.BytesIn, r.Total.PacketsOut, r.Total.BytesOut, r.Bytes, r.Packets, r.Plain)
	return r
}

func (a *Attack) begin(t testing.TB) {
	t.Helper()
	if a.Sources == 0 {
		a.Sources = DefaultSources
	}
	if a.Count == 0 {
		a.Count = DefaultPackets
	}
	if !a.First.IsValid() {
		a.First = netip.AddrFrom4([4]byte{20, 0, 0, 0})
	}
	if len(a.Packets) == 0 || a.Sources < accomplices+victims+1 {
		t.Fatal("an attack needs packets, and more addresses than it has roles for")
	}
	a.t = t
	a.random = rand.New(rand.NewPCG(1, 2))
	a.ordinary = make([]Account, a.Sources)
	for range a.Exceptions {
		a.excepted = append(a.excepted, make([]Account, a.Sources))
	}
}

// WritePacket implements netserve.PacketWriter.
func (a *Attack) WritePacket(data []byte, _ netip.Addr, to netip.AddrPort) error {
	i := a.number(to.Addr())
	if i < 0 || i >= a.Sources {
		if a.Honest != nil && a.Honest(to.Addr()) {
			return nil
		}
		a.t.Errorf("%x is sent to %v, which is no address of the attack", data, to)
		return nil
	}
	book := &a.ordinary[i]
	for n, e := range a.Exceptions {
		if e.Is(data) {
			book = &a.excepted[n][i]
			break
		}
	}
	book.PacketsOut++
	book.BytesOut += len(data)
	if i < accomplices+echoes || a.random.IntN(8) == 0 {
		a.answers = append(a.answers, answer{to, bytes.Clone(data)})
	}
	return nil
}

// number returns the index of an address.
func (a *Attack) number(addr netip.Addr) int {
	if !addr.Is4() {
		return -1
	}
	at, first := addr.As4(), a.First.As4()
	return int(int64(binary.BigEndian.Uint32(at[:])) - int64(binary.BigEndian.Uint32(first[:])))
}

// source returns a port of the i-th address.
func (a *Attack) source(i int) netip.AddrPort {
	first := a.First.As4()
	addr := binary.BigEndian.AppendUint32(nil, binary.BigEndian.Uint32(first[:])+uint32(i))
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(addr)), firstPort+uint16(a.random.IntN(ports)))
}

// strike sends one packet, and the packets that follow from it.
func (a *Attack) strike() {
	i := accomplices + a.random.IntN(a.Sources-accomplices)
	switch a.random.IntN(4) {
	case 0, 1:
		i = accomplices + a.random.IntN(victims)
	case 2:
		if a.Reply != nil && a.random.IntN(4) == 0 {
			i = a.random.IntN(accomplices)
		}
	}
	a.send(a.source(i), a.packet(i < accomplices))
	a.react()
	if i >= accomplices {
		a.audit(i)
	}
}

// send passes a packet to the service.
func (a *Attack) send(from netip.AddrPort, data []byte) {
	book := &a.ordinary[a.number(from.Addr())]
	book.PacketsIn++
	book.BytesIn += len(data)
	a.Handler.ServePacket(a, netserve.Packet{Data: data, From: from, To: a.To})
}

// react plays the addresses that answer: the attacker's own and the echoes.
func (a *Attack) react() {
	for depth := 0; len(a.answers) > 0; depth++ {
		if depth == longestLoop {
			a.t.Errorf("answers are answered without end: %x to %v", a.answers[0].data, a.answers[0].to)
			a.answers = a.answers[:0]
			return
		}
		came := a.answers
		a.answers = nil
		for _, w := range came {
			a.written = a.remember(a.written, w.data)
			switch i := a.number(w.to.Addr()); {
			case i < accomplices && a.Reply != nil:
				for _, p := range a.Reply(w.to, w.data) {
					a.proofs = a.remember(a.proofs, p)
					a.send(w.to, p)
				}
			case i >= accomplices && i < accomplices+echoes:
				a.send(w.to, w.data)
			}
		}
	}
}

func (a *Attack) remember(list [][]byte, data []byte) [][]byte {
	if len(list) < remembered {
		return append(list, data)
	}
	list[a.random.IntN(remembered)] = data
	return list
}

// audit compares the traffic to an address with its bound.
func (a *Attack) audit(i int) {
	book := a.ordinary[i]
	in := Account{PacketsIn: book.PacketsIn, BytesIn: book.BytesIn}
	all, mostPackets, mostBytes := book, in.PacketsIn, in.BytesIn
	a.compare("all but exceptions", i, book, mostPackets, mostBytes)
	for n, e := range a.Exceptions {
		one := a.excepted[n][i]
		packets, size := e.More(in)
		a.compare(e.Name, i, one, in.PacketsIn+packets, in.BytesIn+size)
		all.PacketsOut += one.PacketsOut
		all.BytesOut += one.BytesOut
		mostPackets += packets
		mostBytes += size
	}
	a.compare("all together", i, all, mostPackets, mostBytes)
}

func (a *Attack) compare(what string, i int, out Account, packets, size int) {
	if out.PacketsOut > packets || out.BytesOut > size {
		in := a.ordinary[i]
		a.t.Errorf("%s: %v proved nothing, sent %d packets of %d bytes, and was sent %d of %d, want at most %d of %d",
			what, a.source(i).Addr(), in.PacketsIn, in.BytesIn, out.PacketsOut, out.BytesOut, packets, size)
	}
}

func (a *Attack) result() (r Result) {
	for i := accomplices; i < a.Sources; i++ {
		all := a.ordinary[i]
		if all.PacketsIn == 0 {
			continue
		}
		r.Plain = max(r.Plain, float64(all.BytesOut)/float64(max(all.BytesIn, 1)))
		for n := range a.Exceptions {
			all.PacketsOut += a.excepted[n][i].PacketsOut
			all.BytesOut += a.excepted[n][i].BytesOut
		}
		r.Bytes = max(r.Bytes, float64(all.BytesOut)/float64(max(all.BytesIn, 1)))
		r.Packets = max(r.Packets, float64(all.PacketsOut)/float64(all.PacketsIn))
		r.Total.PacketsIn += all.PacketsIn
		r.Total.BytesIn += all.BytesIn
		r.Total.PacketsOut += all.PacketsOut
		r.Total.BytesOut += all.BytesOut
	}
	return r
}

// inUse returns how many bytes are in use.
func inUse() int {
	runtime.GC()
	runtime.GC() // frees the contents of pools at the first one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
