package probe

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/probe/probetest"
)

// A datagram is no answer to a question over TCP: its source may be forged.
func TestDatagramsAnswerNoStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		answers := probetest.Arena("plain").Speaks("battlefield")((&battlefieldTalk{}).question())
		w.says(there, func([]byte) [][]byte {
			for _, a := range answers {
				w.p.ServePacket(w, netserve.Packet{Data: a, From: there})
			}
			return nil
		})
		w.watch(there, Battlefield, master.Static)
		w.pass(2 * QuestionTime)
		if _, ok := w.listed(there); ok {
			t.Error("the server is listed")
		}
		w.says(there, func([]byte) [][]byte { return answers })
		w.pass(3 * time.Minute)
		if _, ok := w.listed(there); !ok {
			t.Error("the server is not listed after its answer")
		}
	})
}

// The info alone is enough, also of a server that refuses the other questions.
func TestBattlefieldAsk(t *testing.T) {
	g := probetest.Arena("plain")
	server := probetest.Listen(t, func(question []byte) [][]byte {
		if bytes.Contains(question, []byte("serverInfo")) {
			return g.Speaks("battlefield")(question)
		}
		return nil
	})
	st, err := Ask(t.Context(), nil, server.Address(), Battlefield)
	if name, _ := st.Get("hostname"); err != nil || name != g.Name || len(st.Players.Rows) != 0 {
		t.Errorf("the info alone: %+v, %v", st, err)
	}
	event := []byte("\x00\x00\x00\x80\x0c\x00\x00\x00\x00\x00\x00\x00")
	server.Say(func([]byte) [][]byte { return [][]byte{bytes.Repeat(event, maxPackets+1)} })
	if _, err := Ask(t.Context(), nil, server.Address(), Battlefield); !errors.Is(err, ErrTooMuch) {
		t.Errorf("a server that never ends: %v", err)
	}
}
