package gpcm

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/storage"
)

func TestQuotas(t *testing.T) {
	q, now := newQuotas(), time.Now()
	spend := func(id storage.ProfileID) (n int) {
		for q.take(id, now) {
			n++
		}
		return n
	}
	if n := spend(1); n != changeBurst {
		t.Errorf("%d changes at once, want %d", n, changeBurst)
	}
	now = now.Add(time.Second)
	if n := spend(1); n != changeRate {
		t.Errorf("%d changes after a second, want %d", n, changeRate)
	}
	for i := range quotaRowLen { // of the same row; the last makes the one that spent least go
		id := storage.ProfileID(1 + (i+1)*quotaRows)
		if n := spend(id); n != changeBurst {
			t.Errorf("profile %d: %d changes at once, want %d", id, n, changeBurst)
		}
		now = now.Add(50 * time.Millisecond)
	}
	now = now.Add(time.Hour)
	if n := spend(1); n != changeBurst {
		t.Errorf("%d changes after an hour, want %d", n, changeBurst)
	}
}

// TestQuotaOfAProfile has a player who comes again and again.
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

// TestRepeatedRequestIsPushedOnceAMinute has a player who asks another again and
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
