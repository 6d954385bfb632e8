package cluster

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/peerchat"
	"github.com/respawnd/respawnd/test/rig"
)

// zeroHourBot is the nick of the program of Zero Hour.
const zeroHourBot = "ZeroHourQuickMatch"

// botAt waits until nodes agree that the only program of Zero Hour is on one of them.
// While a cluster forms each may have one.
func botAt(t *testing.T, owner string, nodes ...*chatNode) {
	t.Helper()
	rig.Eventually(t, "the program is on "+owner, func() bool {
		for _, n := range nodes {
			who, err := operator.ListChatMembers.Call(t.Context(), n.Client(n.dir), operator.ChannelRef{Channel: rig.QuickRoom})
			bots := slices.DeleteFunc(who, func(m operator.ChatMember) bool { return m.Nick != zeroHourBot })
			if err != nil || len(bots) != 1 || bots[0].Node != owner {
				return false
			}
		}
		return true
	})
}

// joinsBot lets a player join the room of the program, which is there or comes.
func (c *roomGuest) joinsBot() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), rig.Hang)
	defer cancel()
	j, err := c.Join(ctx, rig.QuickRoom, "")
	rig.Must(c.t, err)
	if !slices.ContainsFunc(j.Members, func(nick string) bool { return strings.TrimLeft(nick, "@+") == zeroHourBot }) {
		c.Hears("JOIN", zeroHourBot)
	}
}

// awaits reads until a message of the program with a text comes, and returns it.
func (c *roomGuest) awaits(text string) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), rig.Hang)
	defer cancel()
	l, err := c.Await(ctx, func(l peerchat.Line) bool {
		return l.Nick() == zeroHourBot && l.Is("PRIVMSG") && strings.HasPrefix(l.Param(-1), text)
	})
	if err != nil {
		c.t.Fatalf("%s does not get %q: %v", c.Nick, text, err)
	}
	return l.Param(-1)
}

// Players of two machines get a quick match with each other from one program. When its
// machine dies, it comes to the other one.
func TestClusterQuickMatch(t *testing.T) {
	t.Parallel()
	nodes := startChatNodes(t, "n1", "n2")
	names := slices.Sorted(maps.Keys(nodes))
	for _, n := range nodes {
		rig.Eventually(t, "a whole cluster", func() bool { return rig.Metric(t, &n.Running, "respawnd_cluster_nodes") == "2" })
	}
	owner := cluster.Rendezvous(strings.ToLower(rig.QuickRoom), names)
	other := names[1-slices.Index(names, owner)]
	botAt(t, owner, nodes[owner], nodes[other])
	const search = `\CINFO\NumPlayers\2\IP\2130706433\EXE\1\INI\1\Maps\11`
	ann, bob := nodes[owner].signOn(t, "Ann"), nodes[other].signOn(t, "Bob")
	for _, p := range []*roomGuest{ann, bob} {
		p.joinsBot()
		rig.Must(t, p.Say(zeroHourBot, search))
		p.awaits("MBOT:WORKING ")
	}
	for _, p := range []*roomGuest{ann, bob} {
		words := strings.Fields(p.awaits("MBOT:MATCHED "))
		// The addresses are those that the nodes see, also for the player on the other one.
		if len(words) != 13 || words[4] != "2130706433" || words[9] != "2130706433" || !slices.Contains(words, "Ann") || !slices.Contains(words, "Bob") {
			t.Errorf("%s got %q", p.Nick, words)
		}
	}
	nodes[owner].Kill()
	bob.Hears("QUIT", "Ann")
	bob.Hears("JOIN", zeroHourBot) // it takes the program longer to notice
	rig.Must(t, bob.Say(zeroHourBot, search))
	bob.awaits("MBOT:WORKING 1")
}
