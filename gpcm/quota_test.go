package gpcm

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// TestQuotaOfAProfile has one player sign in again and again.
func TestQuotaOfAProfile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startPipe(t, nil)
		ann := f.register("Ann")
		passed := 0
		for range 3 {
			p := f.signIn(ann, 11)
			for range changeBurst {
				p.send(`\delbuddy\\sesskey\$K\delprofileid\77777\final\`)
				if strings.HasPrefix(p.recv(), `\error\\err\2817\`) {
					passed++
				}
			}
			_ = p.conn.Close()
		}
		if passed != changeBurst {
			t.Errorf("%d changes were carried out, want %d", passed, changeBurst)
		}
		if n := f.dropped.count(t, droppedRate); n != 2*changeBurst {
			t.Errorf("%d changes were counted as too many, want %d", n, 2*changeBurst)
		}
	})
}

// TestRepeatedRequestIsPushedOnceAMinute has a player that asks another again and
// again, with other words each time.
func TestRepeatedRequestIsPushedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startPipe(t, nil)
		ann, ben := f.pair()
		cid := f.signIn(f.register("Cid"), 11)
		ask := func(reason string) {
			t.Helper()
			cid.send(`\addbuddy\\sesskey\$K\newprofileid\%d\reason\%s\final\`, ann.id, reason)
			cid.wantNothing()
		}
		for n := range 5 {
			ask(fmt.Sprint("please ", n))
			if n == 0 {
				ann.want(`\bm\2\`)
			}
			ann.wantNothing()
		}
		first, err := f.store.Request(t.Context(), cid.id, ann.id)
		if err != nil || first.Reason != "please 0" {
			t.Errorf("the request that is stored is %+v, %v, want the one that was shown", first, err)
		}
		cid.send(`\addbuddy\\sesskey\$K\newprofileid\%d\reason\hi\final\`, ben.id) // another
		ben.want(`\bm\2\`)
		time.Sleep(requestPause - time.Millisecond)
		ask("early")
		ann.wantNothing()
		time.Sleep(time.Millisecond)
		ask("after a minute")
		second := ann.want(`\bm\2\`)
		if !strings.Contains(second, "after a minute|signed|") {
			t.Errorf("received %q", second)
		}
		_ = ann.conn.Close()
		synctest.Wait()
		ask("she is away")
		back := f.signIn(storage.Profile{ID: ann.id, UniqueNicks: []storage.UniqueNick{{Namespace: testNamespace, Nick: "Ann"}}}, 11)
		back.want(`\bm\2\`)
	})
}
