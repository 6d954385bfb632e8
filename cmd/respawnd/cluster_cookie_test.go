package main

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
)

// A cookie reaches a host that reports to another node than the one that the player's
// list came from.
func TestClusterCookie(t *testing.T) {
	t.Parallel()
	nodes := startQuietNodes(t, []string{"qr2", "serverbrowse"}, []string{"a", "b"})
	h := register(t, nodes[0].running, "hostname", "hidden")
	b := browse(t, nodes[1].running)
	var reply serverbrowse.Reply
	eventually(t, "node b lists the server of node a", func() bool {
		reply = b.ask(serverbrowse.FieldsForAll, "hostname='hidden'", `\hostname`)
		return len(reply.Entries) == 1
	})
	sent := binary.BigEndian.AppendUint32(slices.Clone(natnegMagic), rand.Uint32())
	message, err := serverbrowse.AppendMessage(nil, reply.Entries[0].Public, sent)
	must(t, err)
	b.write(message)
	if got := h.expect(qr2.KindMessage); len(got) < 4 || !bytes.Equal(got[4:], sent) {
		t.Errorf("the host got %x, want the message %x", got, sent)
	}
	for _, d := range nodes {
		d.stop()
	}
}

// A server comes once for the hooks, although all nodes list it, and does not come again
// when it reports to another node.
func TestClusterServerEvents(t *testing.T) {
	t.Parallel()
	in := newInbox(t, false)
	hooks := fmt.Sprintf(`[{name: bot, url: %q, format: discord, events: [up], allow: [127.0.0.1]}]`, in.url)
	nodes := startQuietNodes(t, []string{"qr2", "serverbrowse"}, []string{"a", "b"}, variable("webhooks", hooks))
	first := register(t, nodes[0].running, "hostname", "first guest")
	in.next("first guest")
	listed := func(n int) func() bool {
		return func() bool {
			return len(list(t, nodes[0].running, "", `\hostname`)) == n && len(list(t, nodes[1].running, "", `\hostname`)) == n
		}
	}
	eventually(t, "the first guest is in both lists", listed(1))
	first.moves(nodes[1].running)
	register(t, nodes[0].running, "hostname", "second guest")
	eventually(t, "both guests are in both lists", listed(2))
	for {
		body := <-in.gots
		if strings.Contains(body, "first guest") {
			t.Errorf("the first guest came again: %s", body)
		}
		if strings.Contains(body, "second guest") {
			break
		}
	}
	for _, d := range nodes {
		d.stop()
	}
}
