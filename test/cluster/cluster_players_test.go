package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/test/rig"
)

// Players on two nodes are buddies, talk, and see each other; a login on the other node
// ends the earlier session; messages that a dead node did not deliver are delivered at
// the next login.
func TestPlayersOfTwoNodes(t *testing.T) {
	t.Parallel()
	w := rig.NewTown(t)
	for i, c := range []*rig.Child{w.A, w.B} {
		if id := rig.NewUser(t.Context(), c.Address["gpsp"], []string{"Ann", "Ben"}[i]); id != fmt.Sprint(i+1) {
			t.Fatalf("newuser made profile %q, want %d", id, i+1)
		}
	}
	ann, ben := rig.SignedIn(t, &w.A.Running, "uniquenick", "Ann"), rig.SignedIn(t, &w.B.Running, "uniquenick", "Ben")
	rig.Befriend(ann, ben)
	ben.Say(`\status\3\sesskey\$K\statstring\In a game\locstring\harbour`)
	ann.Hears(`\bm\100\f\2\msg\|s|3|ss|In a game|ls|harbour|`)
	ann.Say(`\bm\1\sesskey\$K\t\2\msg\hello Ben`)
	rig.WantIn(t, ben.Hears(`\bm\1\f\1\date\`), `\msg\hello Ben\final\`)
	for i := range 20 { // Ann is Ben's friend too, so Ben may write back
		ben.Say(`\bm\1\sesskey\$K\t\1\msg\hello %d`, i)
		rig.WantIn(t, ann.Hears(`\bm\1\f\2\date\`), fmt.Sprintf(`\msg\hello %d\final\`, i))
	}
	ann.HearsNothing()
	ben.HearsNothing()
	for i, c := range []*rig.Child{w.A, w.B} {
		page, err := operator.ListSessions.Call(t.Context(), c.Client(w.Dirs[i]), operator.SessionQuery{})
		if err != nil || len(page.Sessions) != 2 || page.Sessions[0].Node != "a" || page.Sessions[1].Node != "b" || page.Sessions[1].Text != "In a game" {
			t.Errorf("sessions seen by node %d: %+v, %v", i, page, err)
		}
	}

	second := rig.SignedIn(t, &w.B.Running, "uniquenick", "Ann") // on the other node
	ann.Hears(`\error\\err\6\fatal\`)
	ann.IsOut()
	second.Hears(`\bm\100\f\2\msg\|s|3|`)
	ann = rig.SignedIn(t, &w.A.Running, "uniquenick", "Ann")
	second.Hears(`\error\\err\6\fatal\`)
	second.IsOut()
	if err := rig.Greeted(t, &w.B.Running).Enter("lt", ann.Ticket, ann.Ticket); err != nil { // issued by the other node
		t.Errorf("login with a ticket of the other node: %v", err)
	}
	ann.Hears(`\bm\100\f\2\msg\|s|3|`)
	ann.Hears(`\error\\err\6\fatal\`)
	ann.IsOut()
	ann = rig.SignedIn(t, &w.A.Running, "uniquenick", "Ann")
	ann.Hears(`\bm\100\f\2\msg\|s|3|`)

	if n, err := operator.KickProfile.Call(t.Context(), w.B.Client(w.Dirs[1]), operator.ProfileRef{ID: 1}); n.Removed < 1 || n.Removed > 2 || err != nil { // 2: the session that was just displaced is still ending
		t.Errorf("Kick() of a player on the other node = %d, %v", n, err)
	}
	ann.Hears(`\error\\err\6\fatal\`)
	ann.IsOut()
	ann = rig.SignedIn(t, &w.A.Running, "uniquenick", "Ann")
	ann.Hears(`\bm\100\f\2\msg\|s|3|`)

	ann.Say(`\bm\1\sesskey\$K\t\2\msg\before the end`)
	ann.HearsNothing()
	w.B.Kill() // Ben's client has not read it
	ann.Hears(`\bm\100\f\2\msg\|s|0|`)
	ann.Say(`\bm\1\sesskey\$K\t\2\msg\after it`)
	ann.HearsNothing()
	ben = rig.SignedIn(t, &w.A.Running, "uniquenick", "Ben")
	var got []string // those of the last seconds may come once more
	for !slices.Contains(got, "after it") {
		_, text, _ := strings.Cut(ben.Hears(`\bm\1\f\1\date\`), `\msg\`)
		got = append(got, strings.TrimSuffix(text, gamespy.Final))
	}
	if want := []string{"before the end", "after it"}; !slices.Equal(got[max(0, len(got)-2):], want) || len(got) > 3 {
		t.Errorf("after the death of the node came %q, want %q at the end", got, want)
	}
	w.B = rig.StartChild(t, w.Dirs[1], w.Vars[1]...)
	rig.SignedIn(t, &w.B.Running, "uniquenick", "Ben")
	ben.Hears(`\error\\err\6\fatal\`)
	w.A.Stop()
	w.B.Stop()
}
