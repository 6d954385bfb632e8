package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/pgtest"
	"github.com/respawnd/respawnd/operator"
)

// town is a cluster of two nodes in processes of their own, with one database.
type town struct {
	a, b *child
	dirs [2]string
	vars [2][]string
}

// newTown starts nodes a and b.
func newTown(t *testing.T) *town {
	t.Helper()
	w := new(town)
	url, key := pgtest.Database(t), filepath.Join(t.TempDir(), "account.key")
	ports := freePorts(t, 2)
	for i, name := range []string{"a", "b"} {
		w.dirs[i] = t.TempDir()
		w.vars[i] = []string{
			"RESPAWND_STORAGE_ENGINE=postgres", "RESPAWND_STORAGE_POSTGRES_URL=" + url, "RESPAWND_ACCOUNTS_KEY_FILE=" + key,
			"RESPAWND_CLUSTER_NAME=test", "RESPAWND_CLUSTER_NODE=" + name, "RESPAWND_CLUSTER_LISTEN=" + ports[i], "RESPAWND_CLUSTER_PEERS=" + ports[1-i],
		}
	}
	w.a = startChild(t, w.dirs[0], w.vars[0]...)
	w.b = startChild(t, w.dirs[1], w.vars[1]...)
	w.meet()
	return w
}

// meet waits until both nodes see each other.
func (w *town) meet() {
	for node, c := range map[string]*child{"b": w.a, "a": w.b} {
		c.waitFor("node "+node, 0, func(e entry) bool { return e["message"] == "a node of the cluster appeared" && e["node"] == node })
	}
}

// Players on two nodes are buddies, talk, and see each other; a login on the other node
// ends the earlier session; messages that a dead node did not deliver are delivered at
// the next login.
func TestPlayersOfTwoNodes(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	for i, c := range []*child{w.a, w.b} {
		if id := newUser(t.Context(), c.address["gpsp"], []string{"Ann", "Ben"}[i]); id != fmt.Sprint(i+1) {
			t.Fatalf("newuser made profile %q, want %d", id, i+1)
		}
	}
	ann, ben := signedIn(t, &w.a.running, "uniquenick", "Ann"), signedIn(t, &w.b.running, "uniquenick", "Ben")
	befriend(ann, ben)
	ben.say(`\status\3\sesskey\$K\statstring\In a game\locstring\harbour`)
	ann.hears(`\bm\100\f\2\msg\|s|3|ss|In a game|ls|harbour|`)
	ann.say(`\bm\1\sesskey\$K\t\2\msg\hello Ben`)
	wantIn(t, ben.hears(`\bm\1\f\1\date\`), `\msg\hello Ben\final\`)
	for i := range 20 { // Ann is Ben's friend too, so Ben may write back
		ben.say(`\bm\1\sesskey\$K\t\1\msg\hello %d`, i)
		wantIn(t, ann.hears(`\bm\1\f\2\date\`), fmt.Sprintf(`\msg\hello %d\final\`, i))
	}
	ann.hearsNothing()
	ben.hearsNothing()
	for i, c := range []*child{w.a, w.b} {
		page, err := c.client(w.dirs[i]).SignedIn(t.Context(), operator.SessionQuery{})
		if err != nil || len(page.Sessions) != 2 || page.Sessions[0].Node != "a" || page.Sessions[1].Node != "b" || page.Sessions[1].Text != "In a game" {
			t.Errorf("sessions seen by node %d: %+v, %v", i, page, err)
		}
	}

	second := signedIn(t, &w.b.running, "uniquenick", "Ann") // on the other node
	ann.hears(`\error\\err\6\fatal\`)
	ann.isOut()
	second.hears(`\bm\100\f\2\msg\|s|3|`)
	ann = signedIn(t, &w.a.running, "uniquenick", "Ann")
	second.hears(`\error\\err\6\fatal\`)
	second.isOut()
	if err := greeted(t, &w.b.running).enter("lt", ann.Ticket, ann.Ticket); err != nil { // issued by the other node
		t.Errorf("login with a ticket of the other node: %v", err)
	}
	ann.hears(`\bm\100\f\2\msg\|s|3|`)
	ann.hears(`\error\\err\6\fatal\`)
	ann.isOut()
	ann = signedIn(t, &w.a.running, "uniquenick", "Ann")
	ann.hears(`\bm\100\f\2\msg\|s|3|`)

	if n, err := w.b.client(w.dirs[1]).Kick(t.Context(), 1); n < 1 || n > 2 || err != nil { // 2: the session that was just displaced is still ending
		t.Errorf("Kick() of a player on the other node = %d, %v", n, err)
	}
	ann.hears(`\error\\err\6\fatal\`)
	ann.isOut()
	ann = signedIn(t, &w.a.running, "uniquenick", "Ann")
	ann.hears(`\bm\100\f\2\msg\|s|3|`)

	ann.say(`\bm\1\sesskey\$K\t\2\msg\before the end`)
	ann.hearsNothing()
	w.b.kill() // Ben's client has not read it
	ann.hears(`\bm\100\f\2\msg\|s|0|`)
	ann.say(`\bm\1\sesskey\$K\t\2\msg\after it`)
	ann.hearsNothing()
	ben = signedIn(t, &w.a.running, "uniquenick", "Ben")
	var got []string // those of the last seconds may come once more
	for !slices.Contains(got, "after it") {
		_, text, _ := strings.Cut(ben.hears(`\bm\1\f\1\date\`), `\msg\`)
		got = append(got, strings.TrimSuffix(text, gamespy.Final))
	}
	if want := []string{"before the end", "after it"}; !slices.Equal(got[max(0, len(got)-2):], want) || len(got) > 3 {
		t.Errorf("after the death of the node came %q, want %q at the end", got, want)
	}
	w.b = startChild(t, w.dirs[1], w.vars[1]...)
	signedIn(t, &w.b.running, "uniquenick", "Ben")
	ben.hears(`\error\\err\6\fatal\`)
	w.a.stop()
	w.b.stop()
}
