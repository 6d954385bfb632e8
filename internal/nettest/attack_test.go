package nettest

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/netserve"
)

// service answers packets with n times their bytes, in parts.
type service func(p []byte) [][]byte

func (s service) ServePacket(w netserve.PacketWriter, p netserve.Packet) {
	for _, b := range s(p.Data) {
		_ = w.WritePacket(b, p.To, p.From)
	}
}

// judge records the failures that an attack reports.
type judge struct {
	testing.TB
	complaints []string
}

func (j *judge) Errorf(format string, args ...any) {
	j.complaints = append(j.complaints, fmt.Sprintf(format, args...))
}

func (j *judge) Failed() bool { return false }

func TestAttackFindsViolations(t *testing.T) {
	question := []byte("question")
	hoard := [][]byte{}
	for name, tc := range map[string]struct {
		service service
		want    string // part of the first failure; empty: none expected
	}{
		"silent":      {func([]byte) [][]byte { return nil }, ""},
		"short":       {func(p []byte) [][]byte { return [][]byte{p[:min(len(p), 1)]} }, "without end"},
		"honest":      {func(p []byte) [][]byte { return shorter(p, question) }, ""},
		"long":        {func(p []byte) [][]byte { return append(shorter(p, question), shorter(p, question)...) }, "proved nothing"},
		"endless":     {func(p []byte) [][]byte { return [][]byte{p} }, "without end"},
		"remembering": {func(p []byte) [][]byte { hoard = append(hoard, make([]byte, 2000)); return nil }, "more in use"},
	} {
		j := &judge{TB: t}
		a := &Attack{Handler: tc.service, To: netip.MustParseAddr("198.51.100.1"), Packets: [][]byte{question}, Count: 5000, Memory: 4 << 20}
		a.Run(j)
		got := strings.Join(j.complaints, "\n")
		if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: complaints %.300q, want %q", name, got, tc.want)
		}
	}
	_ = hoard
}

// shorter answers a request with one byte less than it has.
func shorter(p, question []byte) [][]byte {
	if !bytes.Equal(p, question) {
		return nil
	}
	return [][]byte{p[:len(p)-1]}
}

func TestExceptionsAreCountedAlone(t *testing.T) {
	question := []byte("list")
	list := bytes.Repeat([]byte("x"), 100)
	serve := service(func(p []byte) [][]byte {
		if bytes.Equal(p, question) {
			return [][]byte{list}
		}
		return nil
	})
	for more, want := range map[int]bool{1: true, 1 << 30: false} {
		j := &judge{TB: t}
		a := &Attack{
			Handler: serve, Packets: [][]byte{question}, Count: 2000,
			Exceptions: []Exception{{
				Name: "lists", Is: func(b []byte) bool { return len(b) == 100 },
				More: func(Account) (packets, bytes int) { return more, more },
			}},
		}
		r := a.Run(j)
		if (len(j.complaints) > 0) != want {
			t.Errorf("%d bytes more: complaints %.300q", more, j.complaints)
		}
		if r.Plain != 0 || r.Bytes < 1 {
			t.Errorf("worst %.2f bytes for a byte, %.2f without lists, want more than 1 and none", r.Bytes, r.Plain)
		}
	}
}

func TestAttackersProofsAreForgedToo(t *testing.T) {
	var own, forged bool
	a := &Attack{Packets: [][]byte{[]byte("hello")}, Count: 5000}
	a.Reply = func(to netip.AddrPort, _ []byte) [][]byte { return [][]byte{[]byte("proof of " + to.String())} }
	a.Handler = handler(func(w netserve.PacketWriter, p netserve.Packet) {
		switch proof, found := bytes.CutPrefix(p.Data, []byte("proof of ")); {
		case found && a.Own(p.From.Addr()):
			own = own || string(proof) == p.From.String()
		case found:
			forged = true
		case string(p.Data) == "hello":
			_ = w.WritePacket([]byte("who?"), p.To, p.From)
		}
	})
	a.Run(t)
	if !own || !forged {
		t.Errorf("the attacker proved his own address: %v, tried the proof elsewhere: %v, want both", own, forged)
	}
}

type handler func(netserve.PacketWriter, netserve.Packet)

func (h handler) ServePacket(w netserve.PacketWriter, p netserve.Packet) { h(w, p) }
