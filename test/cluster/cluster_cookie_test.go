package cluster

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/test/rig"
)

// A cookie reaches a host that reports to another node than the one that the player's
// list came from.
func TestClusterCookie(t *testing.T) {
	t.Parallel()
	nodes := startQuietNodes(t, []string{"qr2", "serverbrowse"}, []string{"a", "b"})
	h := rig.Register(t, nodes[0].Running, "hostname", "hidden")
	b := rig.Browse(t, nodes[1].Running)
	var reply serverbrowse.Reply
	rig.Eventually(t, "node b lists the server of node a", func() bool {
		reply = b.MustAsk(serverbrowse.FieldsForAll, "hostname='hidden'", `\hostname`)
		return len(reply.Entries) == 1
	})
	sent := binary.BigEndian.AppendUint32(slices.Clone(rig.NatnegMagic), rand.Uint32())
	message, err := serverbrowse.AppendMessage(nil, reply.Entries[0].Public, sent)
	rig.Must(t, err)
	b.Write(message)
	if got := h.Expect(qr2.KindMessage); len(got) < 4 || !bytes.Equal(got[4:], sent) {
		t.Errorf("the host got %x, want the message %x", got, sent)
	}
	for _, d := range nodes {
		d.Stop()
	}
}

// A server comes once for the hooks, although all nodes list it, and does not come again
// when it reports to another node.
func TestClusterServerEvents(t *testing.T) {
	t.Parallel()
	in := rig.NewInbox(t, false)
	hooks := fmt.Sprintf(`[{name: bot, url: %q, format: discord, events: [up], allow: [127.0.0.1]}]`, in.Url)
	nodes := startQuietNodes(t, []string{"qr2", "serverbrowse"}, []string{"a", "b"}, rig.Variable("webhooks", hooks))
	first := rig.Register(t, nodes[0].Running, "hostname", "first guest")
	in.MustNext("first guest")
	listed := func(n int) func() bool {
		return func() bool {
			return len(rig.List(t, nodes[0].Running, "", `\hostname`)) == n && len(rig.List(t, nodes[1].Running, "", `\hostname`)) == n
		}
	}
	rig.Eventually(t, "the first guest is in both lists", listed(1))
	first.Moves(nodes[1].Running)
	rig.Register(t, nodes[0].Running, "hostname", "second guest")
	rig.Eventually(t, "both guests are in both lists", listed(2))
	for {
		body := <-in.Gots
		if strings.Contains(body, "first guest") {
			t.Errorf("the first guest came again: %s", body)
		}
		if strings.Contains(body, "second guest") {
			break
		}
	}
	for _, d := range nodes {
		d.Stop()
	}
}
